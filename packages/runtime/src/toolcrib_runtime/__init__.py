"""Runs tools, and guards what they may reach: network, paths, processes, secrets."""

from __future__ import annotations

__all__: list[str] = []
