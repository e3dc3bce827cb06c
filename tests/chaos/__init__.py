"""Servers and loads that misbehave on purpose."""
