"""Files beneath one directory, without a way out."""

from __future__ import annotations

from toolcrib_runtime.guards.paths.root import FileInfo, Root

__all__ = ["FileInfo", "Root"]
