"""Keeps the small, revisioned, expiring documents that one agent hands to another."""

from __future__ import annotations

__all__: list[str] = []
