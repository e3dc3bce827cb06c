"""References into the source tree: read beneath one root, hashed, and never the reason that a whole read fails."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolcrib_contextpacks.document import Document, Ref, ref_place
from toolcrib_core import ToolError
from toolcrib_core.wording import count
from toolcrib_runtime.guards.paths import Root

MAX_SOURCE_BYTES: Final = 2 * 1024 * 1024
"""How large a file may be that is referred to, unless somebody says otherwise."""


@dataclass(frozen=True, kw_only=True)
class RefState:
    """A reference as the source tree has it now."""

    section_key: str
    ref: Ref
    lines: tuple[str, ...] | None
    """The lines, or None where they cannot be had; then `problem` says why."""
    problem: str | None = None
    drifted: bool = False
    """Whether the lines are there, but are not those that were written about."""
    digest: str | None = None

    @property
    def marker(self) -> str | None:
        """What a reader must know before believing the reference, if anything."""
        if self.lines is None:
            return f"stale ref: {self.problem}"
        return "drifted ref: these lines have changed since the pack was written" if self.drifted else None


class SourceTree:
    """The files that packs may refer to, beneath one directory; without one, no reference can be resolved."""

    def __init__(self, root: Path | None, *, max_bytes: int = MAX_SOURCE_BYTES) -> None:
        self._root = root
        self._max_bytes = max_bytes

    def look(self, document: Document, known: Mapping[str, str] | None = None) -> tuple[RefState, ...]:
        """Every reference of a document as it is now; `known` are the digests of when it was written."""
        pairs = list(document.refs())
        if not pairs:
            return ()
        try:
            root = None if self._root is None else Root.open(self._root)
        except ToolError:
            root = None
        files: dict[str, tuple[str, ...] | str] = {}
        try:
            return tuple(
                self._state(root, section.key, ref, (known or {}).get(ref_place(section, ref)), files)
                for section, ref in pairs
            )
        finally:
            if root is not None:
                root.close()

    def _state(
        self,
        root: Root | None,
        section_key: str,
        ref: Ref,
        known: str | None,
        files: dict[str, tuple[str, ...] | str],
    ) -> RefState:
        if root is None:
            return RefState(section_key=section_key, ref=ref, lines=None, problem="the source root cannot be opened")
        if ref.path not in files:
            files[ref.path] = self._read(root, ref.path)
        content = files[ref.path]
        problem = content if isinstance(content, str) else _beyond(ref, len(content))
        if problem is not None or isinstance(content, str):
            return RefState(section_key=section_key, ref=ref, lines=None, problem=problem)
        lines = content[ref.line_start - 1 : ref.line_end]
        digest = digest_of(lines)
        return RefState(
            section_key=section_key,
            ref=ref,
            lines=lines,
            digest=digest,
            drifted=known is not None and known != digest,
        )

    def _read(self, root: Root, path: str) -> tuple[str, ...] | str:
        """The lines of a file, or why they cannot be had."""
        try:
            text = root.read_text(path, max_bytes=self._max_bytes)
        except ToolError as refused:
            return f"the file cannot be read ({refused.details.get('reason', 'unknown reason')})"
        return tuple(text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")) if text else ()


def digest_of(lines: tuple[str, ...]) -> str:
    """What lines are known by; how a file ends its lines does not count."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def hashes_of(states: tuple[RefState, ...]) -> dict[str, str]:
    """By `section/ref`: what to keep, so that drift can be told later."""
    return {f"{each.section_key}/{each.ref.key}": each.digest for each in states if each.digest is not None}


def _beyond(ref: Ref, lines: int) -> str | None:
    if ref.line_start > lines or ref.line_end > lines:
        last = ref.line_start if ref.line_start > lines else ref.line_end
        return f"the file has {count(lines, 'line')}, and the reference goes to line {last:,}"
    return None
