"""The strict gatekeeper: a folder of `*.tool.yaml` files becomes packs, all of them or none."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from toolcrib_core import canonical_json
from toolcrib_core.wording import listed, quoted
from toolcrib_runtime.errors import PathError
from toolcrib_runtime.guards.paths import FileInfo, Root
from toolcrib_toolpacks.errors import ToolpackValidationError, ToolpackViolation
from toolcrib_toolpacks.model import Toolpack
from toolcrib_toolpacks.pack_reading import PackReading, read_pack
from toolcrib_toolpacks.source_files import SourceFiles, Unreadable

SUFFIX: Final = ".tool.yaml"
SNAPSHOT_VERSION: Final = 1

_MAX_FOLDER_DEPTH: Final = 32
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})

__all__ = ["SNAPSHOT_VERSION", "SUFFIX", "ToolpackLoader", "ToolpackValidationError", "is_skipped"]


class ToolpackLoader:
    """Loads the packs of a folder and keeps the last ones that were good.

    With `pins`, a content hash by id, a pack that is pinned and has changed is refused.
    """

    def __init__(self, *, pins: Mapping[str, str] | None = None) -> None:
        self._pins = dict(pins or {})
        self._packs: Mapping[str, Toolpack] = MappingProxyType({})

    def load_dir(self, path: Path | str) -> tuple[Toolpack, ...]:
        """Load every `*.tool.yaml` beneath a folder, in place of what was loaded before.

        Links are never followed and nothing outside the folder is read. Folders whose name starts with a dot,
        `node_modules` and `__pycache__` are left out.

        Raises:
            ToolpackValidationError: Something is wrong; `violations` has every place of every file, and what was loaded
                before is untouched.
        """
        folder = Path(path).expanduser()
        with _opened(folder) as root:
            files, violations = _walked(root)
            return self._load(root, folder, files, violations)

    def load_file(self, path: Path | str) -> tuple[Toolpack, ...]:
        """Load one file, in place of what was loaded before; its folder is its root.

        Raises:
            ToolpackValidationError: As for `load_dir`.
        """
        file = Path(path).expanduser()
        with _opened(file.parent) as root:
            return self._load(root, file.parent, [file.name])

    def list(self) -> tuple[Toolpack, ...]:
        """The packs that are loaded, by id."""
        return tuple(self._packs.values())

    def get(self, tool_id: str) -> Toolpack:
        """The pack with an id.

        Raises:
            KeyError: None of the packs that are loaded has it.
        """
        return self._packs[tool_id]

    def snapshot(self) -> bytes:
        """All that is loaded as canonical JSON: the same bytes on every machine, whatever order files were found in."""
        packs = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in self.list()]
        return canonical_json({"snapshotVersion": SNAPSHOT_VERSION, "toolpacks": packs})

    def _load(
        self, root: Root, folder: Path, files: Sequence[str], violations: Sequence[ToolpackViolation] = ()
    ) -> tuple[Toolpack, ...]:
        packs = _loaded(SourceFiles(root), folder.resolve(), files, [*violations], self._pins)
        # One assignment: whoever reads meanwhile sees the old packs or the new ones.
        self._packs = MappingProxyType({each.id: each for each in sorted(packs, key=lambda each: each.id)})
        return self.list()


def _opened(folder: Path) -> Root:
    try:
        return Root.open(folder)
    except PathError as failure:
        problem = f"The folder cannot be loaded: {failure.details['reason']}."
        raise ToolpackValidationError([ToolpackViolation(str(folder), 0, 0, "", "no-folder", problem)]) from None


def _walked(root: Root) -> tuple[list[str], list[ToolpackViolation]]:
    """Every file of a pack beneath the root, by path, and what cannot be looked into."""
    found: list[str] = []
    violations: list[ToolpackViolation] = []
    waiting = ["."]
    while waiting:
        folder = waiting.pop()
        try:
            entries = root.list(folder)
        except PathError as failure:
            violations.append(ToolpackViolation(folder, 0, 0, "", "no-folder", failure.message))
            continue
        if folder != "." and any(each.name == "pyvenv.cfg" for each in entries):
            continue
        for entry in entries:
            path = posixpath.normpath(posixpath.join(folder, entry.name))
            if entry.kind == "directory" and not is_skipped(entry):
                if path.count("/") >= _MAX_FOLDER_DEPTH:
                    problem = f"Folders are looked into {_MAX_FOLDER_DEPTH} deep."
                    violations.append(ToolpackViolation(path, 0, 0, "", "too-deep", problem))
                else:
                    waiting.append(path)
            elif entry.kind == "link" and not is_skipped(entry):
                violations += _link_violation(path)
            elif entry.name.endswith(SUFFIX):
                found.append(path)
    return sorted(found), violations


def is_skipped(entry: FileInfo) -> bool:
    """Whether an entry of a folder is left out: its name starts with a dot, or it is what package tools put there."""
    return entry.name.startswith(".") or entry.name in _SKIPPED


def _link_violation(path: str) -> list[ToolpackViolation]:
    # A link to another file cannot hide a pack, so only those that could are told.
    name = path.rpartition("/")[2]
    if name.endswith(SUFFIX) or "." not in name:
        problem = "A symbolic link stands here, and links are never followed. Put the files themselves here."
        return [ToolpackViolation(path, 0, 0, "", "outside-root", problem)]
    return []


def _loaded(
    sources: SourceFiles,
    root: Path,
    files: Sequence[str],
    violations: list[ToolpackViolation],
    pins: Mapping[str, str],
) -> list[Toolpack]:
    packs = []
    for file in files:
        reading = _read(file, root, sources)
        violations += reading.violations
        if reading.pack is not None:
            packs.append(reading.pack)
    violations += [*_duplicates(packs, sources), *_drifted(packs, sources, pins)]
    if violations:
        raise ToolpackValidationError(violations)
    return packs


def _read(file: str, root: Path, sources: SourceFiles) -> PackReading:
    try:
        return read_pack(sources.source(file), root=root, files=sources)
    except Unreadable as failure:
        return PackReading(None, (ToolpackViolation(file, 0, 0, "", failure.code, failure.message),))


def _duplicates(packs: Sequence[Toolpack], sources: SourceFiles) -> Iterator[ToolpackViolation]:
    by_id: dict[str, list[Toolpack]] = {}
    for each in packs:
        by_id.setdefault(each.id, []).append(each)
    for tool_id, same in by_id.items():
        for each in same if len(same) > 1 else ():
            others = [other.file for other in same if other is not each]
            problem = f"{quoted(tool_id)} is also the id of {listed(others)}; an id has one file."
            yield sources.source(each.file).violation(("id",), "duplicate-id", problem)


def _drifted(packs: Sequence[Toolpack], sources: SourceFiles, pins: Mapping[str, str]) -> Iterator[ToolpackViolation]:
    for each in packs:
        if pins.get(each.id, each.content_hash) != each.content_hash:
            problem = f"{quoted(each.id)} is pinned, and is not what it was then. Look at it, and pin it anew."
            yield sources.source(each.file).violation((), "definition-drift", problem)
