"""The command line: the one place where all parts are wired together."""

from __future__ import annotations

__all__: list[str] = []
