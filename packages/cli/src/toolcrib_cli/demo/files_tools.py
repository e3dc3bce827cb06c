"""The demo's `files` server: one folder, read-only, and nothing outside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatch
from typing import Annotated, Any, Final

from pydantic import Field

from toolcrib_core import ToolError
from toolcrib_runtime import RunnableTool, tool
from toolcrib_runtime.guards.paths import FileInfo, Root

_Path = Annotated[str, Field(description="A path inside the folder, as in `docs/index.md`.", max_length=1000)]
_Pattern = Annotated[str, Field(description="A pattern over names, as in `*.md`.", max_length=200)]
_MAX_LOOKED_AT: Final = 20_000
_MAX_SEARCHED_BYTES: Final = 1024 * 1024
_MAX_LINE: Final = 300
_SKIPPED: Final = frozenset({".git", ".venv", "node_modules", "__pycache__"})


def files_tools(root: Root) -> tuple[RunnableTool, ...]:
    """Tools over a folder that was opened; whoever opened it closes it."""

    @tool(effects="read", tags=["files"])
    def list_directory(path: _Path = ".") -> list[dict[str, Any]]:
        """List the files and directories in a directory, with kind, size and time of change."""
        return [_described(each.name, each) for each in root.list(path)]

    @tool(effects="read", tags=["files"])
    def read_file(path: _Path) -> str:
        """Read a text file."""
        return root.read_text(path)

    @tool(effects="read", tags=["files"])
    def file_info(path: _Path) -> dict[str, Any]:
        """Tell the kind, size and time of change of a file or directory."""
        return _described(path, root.stat(path))

    @tool(effects="read", tags=["files"])
    def find_files(pattern: _Pattern, limit: Annotated[int, Field(ge=1, le=5000)] = 500) -> list[dict[str, Any]]:
        """Find files by a pattern over their names, in all directories below the folder."""
        found = (_described(path, info) for path, info in _files(root) if fnmatch(info.name, pattern))
        return [each for each, _ in zip(found, range(limit), strict=False)]

    @tool(effects="read", tags=["files"])
    def search_files(
        text: Annotated[str, Field(min_length=1, max_length=200)],
        pattern: _Pattern = "*",
        limit: Annotated[int, Field(ge=1, le=2000)] = 200,
    ) -> list[dict[str, Any]]:
        """Search the text files of the folder for words, and give each line that has them with its place."""
        found = (
            line for path, info in _files(root) if fnmatch(info.name, pattern) for line in _lines(root, path, text)
        )
        return [each for each, _ in zip(found, range(limit), strict=False)]

    return list_directory, read_file, file_info, find_files, search_files


def _described(path: str, info: FileInfo) -> dict[str, Any]:
    modified = datetime.fromtimestamp(info.modified, UTC).isoformat(timespec="seconds")
    return {"path": path, "kind": info.kind, "bytes": info.size, "modified": modified}


def _files(root: Root) -> Iterator[tuple[str, FileInfo]]:
    """Every file below the folder with its path, up to a number; what may not be read is passed over."""
    waiting, seen = [""], 0
    while waiting and seen < _MAX_LOOKED_AT:
        folder = waiting.pop()
        try:
            entries = root.list(folder or ".")
        except ToolError:
            continue
        for each in entries:
            seen += 1
            path = f"{folder}/{each.name}" if folder else each.name
            if each.kind == "file":
                yield path, each
        below = (each.name for each in reversed(entries) if each.kind == "directory" and each.name not in _SKIPPED)
        waiting += [f"{folder}/{name}" if folder else name for name in below]


def _lines(root: Root, path: str, text: str) -> Iterator[dict[str, Any]]:
    try:
        content = root.read_text(path, max_bytes=_MAX_SEARCHED_BYTES)
    except ToolError:
        return
    wanted = re.compile(re.escape(text), re.IGNORECASE)
    for number, line in enumerate(content.splitlines(), 1):
        if wanted.search(line):
            yield {"path": path, "line": number, "text": line.strip()[:_MAX_LINE]}
