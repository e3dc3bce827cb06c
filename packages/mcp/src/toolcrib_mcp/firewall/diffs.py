"""Unified diffs: recognising them, and summarising them by the files that change."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.fitting import MAX_LINES, Outline, Section
from toolcrib_mcp.firewall.shown import clipped_bytes

_PATH_CHARS = 100
# A commit message (`git show`) or a line of the server may come first.
_BEGINS_WITHIN = 4_096
_BEGINNING = re.compile(
    rb"(?m)^(?:diff --git |Index: )[^\n]{1,1000}\n"
    rb"|^--- [^\n]{1,1000}\n\+\+\+ [^\n]{1,1000}\n@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}"
)


@dataclass
class _File:
    number: int
    path: str
    added: int = 0
    removed: int = 0

    def __str__(self) -> str:
        return f"{self.number} {self.path} +{self.added:,} -{self.removed:,}"


def looks_like_diff(content: bytes) -> bool:
    """Whether a unified diff begins within the first lines."""
    return _BEGINNING.search(content, 0, _BEGINS_WITHIN) is not None


def summarised_diff(content: bytes, *, size: int) -> Outline:
    """The outline of a unified diff of `size` bytes."""
    files: list[_File] = []
    total = lines = added = removed = 0
    current = _File(0, "")
    before = b""
    for lines, line in enumerate(io.BytesIO(content), 1):
        if line.startswith(b"+++ ") and before.startswith(b"--- "):
            current.removed -= 1
            removed -= 1
            current = _File(lines, _path(before, line))
            total += 1
            if total <= MAX_LINES:
                files.append(current)
        elif line.startswith(b"+"):
            current.added += 1
            added += 1
        elif line.startswith(b"-"):
            current.removed += 1
            removed += 1
        before = line
    head = f"Diff of {count(total, 'file')}, +{added:,} -{removed:,}, {count(lines, 'line')}, {size:,} bytes."
    facts: JsonObject = {"language": "diff", "files": total, "added": added, "removed": removed}
    paths = [each.path for each in files]
    section = Section("Files:", list(map(str, files)), total, "files", paths)
    return Outline(head, [section], facts | {"lines": lines, "bytes": size})


def _path(old: bytes, new: bytes) -> str:
    """The name of the file behind the change; the old one of a file that is gone."""
    named = old if new.startswith(b"+++ /dev/null") else new
    return clipped_bytes(named[4:].partition(b"\t")[0].strip().removeprefix(b"a/").removeprefix(b"b/"), _PATH_CHARS)
