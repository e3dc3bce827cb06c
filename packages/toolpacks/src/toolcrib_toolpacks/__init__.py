"""Turns `*.tool.yaml` files into runnable tools."""

from __future__ import annotations

__all__: list[str] = []
