"""The steps by which the table of signed heads came to be."""

from __future__ import annotations
