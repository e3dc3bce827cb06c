"""Formats tools for the OpenAI APIs, and reads their calls back."""

from __future__ import annotations

__all__: list[str] = []
