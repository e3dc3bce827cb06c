"""`toolcrib audit`: what was called, by whom, and whether the record is whole."""

from __future__ import annotations
