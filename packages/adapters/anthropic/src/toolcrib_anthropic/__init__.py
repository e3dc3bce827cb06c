"""Formats tools for the Anthropic API, and reads its calls back."""

from __future__ import annotations

__all__: list[str] = []
