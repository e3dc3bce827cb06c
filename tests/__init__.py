"""Tests and tables that cross packages."""
