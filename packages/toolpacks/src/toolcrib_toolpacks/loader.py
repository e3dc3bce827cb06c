"""The strict gatekeeper: folders of `*.tool.yaml` files become packs, all of them or none."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from toolcrib_core import canonical_json
from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import PathError
from toolcrib_runtime.guards.paths import FileInfo, Root
from toolcrib_toolpacks.errors import ToolpackValidationError, ToolpackViolation, file_in_words
from toolcrib_toolpacks.model import Toolpack
from toolcrib_toolpacks.pack_reading import PackReading, read_pack
from toolcrib_toolpacks.source_files import SourceFiles, Unreadable
from toolcrib_toolpacks.yaml_reading import Place

SUFFIX: Final = ".tool.yaml"
SNAPSHOT_VERSION: Final = 1

_MAX_FOLDER_DEPTH: Final = 32
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})

__all__ = ["SNAPSHOT_VERSION", "SUFFIX", "ToolpackLoader", "ToolpackValidationError", "is_skipped"]


class ToolpackLoader:
    """Loads the packs of folders and files into one catalogue, and keeps the last state that was good.

    With `pins`, a content hash by id, a pack that is pinned and has changed is refused.
    """

    def __init__(self, *, pins: Mapping[str, str] | None = None) -> None:
        self._pins = dict(pins or {})
        self._sources: Mapping[Path, _Loaded] = MappingProxyType({})
        self._packs: Mapping[str, Toolpack] = MappingProxyType({})

    def load_dir(self, path: Path | str) -> tuple[Toolpack, ...]:
        """Load every `*.tool.yaml` beneath a folder, beside what is loaded already; gives the packs of the folder.

        A folder that is loaded again is read anew. Links are never followed and nothing outside the folder is read.
        Folders whose name starts with a dot, `node_modules` and `__pycache__` are left out.

        Raises:
            ToolpackValidationError: Something is wrong, or an id is loaded from another file; `violations` has every
                place of every file, and what was loaded before is untouched.
        """
        return self._add(Path(path).expanduser(), _load_folder)

    def load_file(self, path: Path | str) -> tuple[Toolpack, ...]:
        """Load one file, beside what is loaded already; its folder is its root.

        Raises:
            ToolpackValidationError: As for `load_dir`.
        """
        return self._add(Path(path).expanduser(), _load_file)

    def reload(self) -> tuple[Toolpack, ...]:
        """Read every folder and file anew, in place of all that is loaded; gives all packs, by id.

        Raises:
            ToolpackValidationError: Something is wrong in one of them; what was loaded before is untouched.
        """
        self._replace({place: each.load(each.path) for place, each in self._sources.items()})
        return self.list()

    def list(self) -> tuple[Toolpack, ...]:
        """The packs that are loaded, by id."""
        return tuple(self._packs.values())

    def get(self, tool_id: str) -> Toolpack:
        """The pack with an id; its other spellings are taken, too, as `weather:forecast` and `weather:forecast@1.0.0`.

        Raises:
            KeyError: None of the packs that are loaded has it.
        """
        found = self._packs.get(tool_id) or next((each for each in self.list() if each.is_called(tool_id)), None)
        if found is None:
            raise KeyError(tool_id)
        return found

    def snapshot(self) -> bytes:
        """All that is loaded as canonical JSON: the same bytes on every machine, whatever order files were found in."""
        packs = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in self.list()]
        return canonical_json({"snapshotVersion": SNAPSHOT_VERSION, "toolpacks": packs})

    def _add(self, path: Path, load: Callable[[Path], _Loaded]) -> tuple[Toolpack, ...]:
        loaded = load(path)
        self._replace({**self._sources, path.resolve(): loaded})
        return tuple(sorted((each.pack for each in loaded.entries), key=lambda each: each.id))

    def _replace(self, sources: Mapping[Path, _Loaded]) -> None:
        violations = [each for source in sources.values() for each in source.violations]
        # A folder within another one that is loaded, too, gives the same files: the later reading counts.
        entries = {each.path: each for source in sources.values() for each in source.entries}
        several = len(sources) > 1
        violations += [*_duplicates(entries.values(), several=several), *_drifted(entries.values(), self._pins)]
        if violations:
            raise ToolpackValidationError(violations)
        packs = sorted((each.pack for each in entries.values()), key=lambda each: each.id)
        self._sources = MappingProxyType(dict(sources))
        # One assignment: a reader sees the old packs or the new ones.
        self._packs = MappingProxyType({each.id: each for each in packs})


class _Entry(NamedTuple):
    """A pack, and where its file says the id."""

    pack: Toolpack
    place: Place

    @property
    def path(self) -> Path:
        return self.pack.root / self.pack.file

    def violation(self, file: str, path: str, code: str, message: str) -> ToolpackViolation:
        return ToolpackViolation(
            file, self.place.line if path else 1, self.place.column if path else 1, path, code, message
        )


class _Loaded(NamedTuple):
    """What came of one folder or file."""

    path: Path
    load: Callable[[Path], _Loaded]
    entries: Sequence[_Entry]
    violations: Sequence[ToolpackViolation]


def _load_folder(folder: Path) -> _Loaded:
    with _opened(folder) as root:
        files, violations = _walked(root)
        entries, more = _read_files(root, folder.resolve(), files)
    return _Loaded(folder, _load_folder, entries, [*violations, *more])


def _load_file(file: Path) -> _Loaded:
    with _opened(file.parent) as root:
        return _Loaded(file, _load_file, *_read_files(root, file.parent.resolve(), [file.name]))


def _read_files(root: Root, folder: Path, files: Sequence[str]) -> tuple[list[_Entry], list[ToolpackViolation]]:
    sources = SourceFiles(root)
    entries: list[_Entry] = []
    violations: list[ToolpackViolation] = []
    for file in files:
        reading = _read(file, folder, sources)
        violations += reading.violations
        if reading.pack is not None:
            entries.append(_Entry(reading.pack, sources.source(file).document.place(("id",))))
    return entries, violations


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


def _read(file: str, root: Path, sources: SourceFiles) -> PackReading:
    try:
        return read_pack(sources.source(file), root=root, files=sources)
    except Unreadable as failure:
        return PackReading(None, (ToolpackViolation(file, 0, 0, "", failure.code, failure.message),))


def _duplicates(entries: Iterable[_Entry], *, several: bool) -> Iterator[ToolpackViolation]:
    by_id: dict[str, dict[str, _Entry]] = {}
    for each in entries:
        # Beneath one folder a file is named from there, as every other violation names it.
        file = str(each.path) if several else each.pack.file
        by_id.setdefault(each.pack.id, {})[file] = each
    for tool_id, same in by_id.items():
        for file, each in same.items() if len(same) > 1 else ():
            others = [other for other in same if other != file]
            problem = (
                f"{quoted(tool_id)} is also the id of {', '.join(map(file_in_words, others))}; an id has one file."
            )
            yield each.violation(file, "id", "duplicate-id", problem)


def _drifted(entries: Iterable[_Entry], pins: Mapping[str, str]) -> Iterator[ToolpackViolation]:
    for each in entries:
        pack = each.pack
        if pins.get(pack.id, pack.content_hash) != pack.content_hash:
            problem = f"{quoted(pack.id)} is pinned, and is not what it was then. Look at it, and pin it anew."
            yield each.violation(pack.file, "", "definition-drift", problem)
