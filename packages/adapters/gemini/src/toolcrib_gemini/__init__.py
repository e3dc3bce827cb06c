"""Formats tools for the Gemini API, and reads its calls back."""

from __future__ import annotations

__all__: list[str] = []
