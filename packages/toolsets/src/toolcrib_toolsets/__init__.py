"""Gives each user configured copies of tools that need a credential, with the key encrypted."""

from __future__ import annotations

__all__: list[str] = []
