"""The steps by which the table of waiting calls came to be."""

from __future__ import annotations
