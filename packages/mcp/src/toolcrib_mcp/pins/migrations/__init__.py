"""The steps by which the tables of pins came to be."""

from __future__ import annotations
