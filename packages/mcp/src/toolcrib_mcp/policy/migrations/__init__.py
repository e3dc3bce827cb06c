"""The steps by which the table of what was spent came to be."""

from __future__ import annotations
