"""Definitions as they were when they were trusted: a tool that has changed since is withheld."""
