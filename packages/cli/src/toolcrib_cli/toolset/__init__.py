"""Toolsets on the command line: instances of toolset types, with keys of their own."""

from __future__ import annotations
