"""Keeps what must outlive a process: SQL engine, migrations, artifacts, ledgers."""

from __future__ import annotations

__all__: list[str] = []
