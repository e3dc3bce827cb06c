"""The steps by which the table of what replicas share came to be."""

from __future__ import annotations
