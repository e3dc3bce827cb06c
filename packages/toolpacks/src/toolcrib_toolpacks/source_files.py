"""The files beneath one root, each read once per load and never through a link."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import unquote

from toolcrib_core import ArgumentsTooLarge, MalformedJson, ToolErrorCategory, parse_json
from toolcrib_core.schema.limits import SCHEMA_LIMITS
from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import OutsideRoot, PathError
from toolcrib_runtime.guards.paths import Root
from toolcrib_toolpacks.errors import ToolpackViolation
from toolcrib_toolpacks.yaml_reading import MAX_FILE_BYTES, KeyPath, Place, YamlDocument, YamlFault, read_yaml

MAX_FILES: Final = 5_000
"""How many files one load reads."""

MAX_SCRIPT_BYTES: Final = 16 * 1024 * 1024

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_$-]+")


class Unreadable(Exception):
    """A file cannot be had; `code` and the message become a violation of whoever named it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Source(NamedTuple):
    """A document and the file it stands in."""

    file: str
    document: YamlDocument

    def violation(self, path: KeyPath, code: str, message: str) -> ToolpackViolation:
        """What is wrong at a place of the document."""
        return self.violation_at(self.document.place(path), path, code, message)

    def violation_at(self, place: Place, path: KeyPath, code: str, message: str) -> ToolpackViolation:
        """What is wrong in a line that is known."""
        return ToolpackViolation(self.file, place.line, place.column, shown_path(path), code, message)

    def faults(self) -> list[ToolpackViolation]:
        """What is wrong with the document itself."""
        return [self.violation_at(each.place, each.path, each.code, each.message) for each in self.document.faults]


class SourceFiles:
    """The documents beneath a root; each file is read at most once, so that one load sees one content of it."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._sources: dict[str, Source | Unreadable] = {}
        self._digests: dict[str, str] = {}

    def source(self, file: str) -> Source:
        """The document in a file: JSON where its name ends with `.json`, else YAML.

        Raises:
            Unreadable: There is no such file, or it may not be read. A document with faults is not an error.
        """
        if file not in self._sources:
            try:
                # One byte more than a document may have: the reader then says that it is too large.
                data = self._read(file, max_bytes=MAX_FILE_BYTES + 1)
                self._sources[file] = Source(file, _document(file, data))
            except Unreadable as failure:
                self._sources[file] = failure
        found = self._sources[file]
        if isinstance(found, Unreadable):
            raise found
        return found

    def digest(self, file: str) -> str:
        """SHA-256 of a file that is run, not read.

        Raises:
            Unreadable: There is no such file, or it may not be read.
        """
        if file not in self._digests:
            self._digests[file] = hashlib.sha256(self._read(file, max_bytes=MAX_SCRIPT_BYTES)).hexdigest()
        return self._digests[file]

    def digests(self, files: Iterable[str]) -> dict[str, str]:
        """As `digest`, for those of the files that are there and may be read."""
        found = {}
        for file in files:
            with suppress(Unreadable):
                found[file] = self.digest(file)
        return found

    def _read(self, file: str, *, max_bytes: int) -> bytes:
        if len(self._sources) + len(self._digests) >= MAX_FILES:
            raise Unreadable("too-many-files", f"One load reads at most {MAX_FILES:,} files.")
        try:
            return self._root.read_bytes(file, max_bytes=max_bytes)
        except OutsideRoot as failure:
            raise Unreadable("outside-root", failure.message) from None
        except PathError as failure:
            code = "too-large" if failure.category is ToolErrorCategory.LIMIT else "no-file"
            raise Unreadable(code, failure.message) from None


def file_beside(base: str, named: str) -> str:
    """The file that a text names, seen from the file it stands in; the answer starts at the root.

    Raises:
        Unreadable: It is a URL, is absolute, or leads out of the root.
    """
    if _SCHEME.match(named):
        raise Unreadable("ref-url", f"{quoted(named)} is a URL, and nothing is ever fetched. Name a file of the pack.")
    path = unquote(named)
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(base), path))
    if path.startswith("/") or "\\" in path or "\x00" in path or joined.split("/")[0] == "..":
        raise Unreadable("outside-root", f"{quoted(named)} leads out of the pack's root.")
    return joined


def shown_path(path: KeyPath) -> str:
    """A path in a document as people write it: `execution.cmd[1]`."""
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        elif _PLAIN_KEY.fullmatch(key):
            text += f".{key}" if text else key
        else:
            text += f"[{quoted(key)}]"
    return text


def _document(file: str, data: bytes) -> YamlDocument:
    if not file.endswith(".json"):
        return read_yaml(data)
    try:
        value = parse_json(data, limits=SCHEMA_LIMITS)
        # JSON is YAML, so the places are those of the YAML.
        return YamlDocument(value=value, places=read_yaml(data).places)
    except MalformedJson as failure:
        line, column = int(str(failure.details["line"])), int(str(failure.details["column"]))
        fault = YamlFault(Place(line, column), (), "not-json", failure.message)
    except ArgumentsTooLarge as failure:
        fault = YamlFault(Place(1, 1), (), "too-large", failure.message)
    return YamlDocument(value=None, faults=(fault,), is_whole=False)
