"""The steps by which the tables of toolsets came to be."""

from __future__ import annotations
