"""YAML as a pack may use it: the part that reads the same everywhere, with the place of every value.

One pass over the parser's events, in C where PyYAML has it. Nothing is built that the text does not spell out: no
anchors, aliases, tags, merge keys, duplicate keys or second documents, and bounds on size, depth and number are kept
on the way, so a bomb is refused before it goes off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import yaml
from yaml import events

from toolcrib_core import ToolError, parse_json
from toolcrib_core.schema.limits import SCHEMA_LIMITS
from toolcrib_core.wording import count, quoted
from toolcrib_toolpacks.yaml_scalars import meaning_of

KeyPath: TypeAlias = tuple[str | int, ...]

MAX_FILE_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 48
MAX_VALUES: Final = 20_000
MAX_FAULTS: Final = 100

# PyYAML lacks its C half where it was built without libyaml; the events are the same.
_PARSER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# JSON writes a character beyond 16 bits as two escapes, which libyaml refuses and the parser in Python takes.
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
# What may stand as it is in a text of JSON, and ends a line or is refused in YAML.
_JSON_ONLY: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
# Stands in the key of a duplicate, which is read on but not kept.
_SECOND: Final = "\x00"


class Place(NamedTuple):
    """Where something stands in a text, counted from 1."""

    line: int
    column: int


class YamlFault(NamedTuple):
    """One thing that a pack may not use, or that no reader could."""

    place: Place
    path: KeyPath
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class YamlDocument:
    """What a text says: its value, the place of every part of it, and what is wrong.

    The place of a mapping's entry is that of its key. With faults the value is what could be read; `is_whole` tells
    whether that is all of it.
    """

    value: Any
    places: Mapping[KeyPath, Place] = field(default_factory=dict)
    faults: tuple[YamlFault, ...] = ()
    is_whole: bool = True

    def place(self, path: KeyPath) -> Place:
        """The place of a part, or of the nearest one around it that is there."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))


def read_yaml(data: bytes) -> YamlDocument:
    """Read a document; what is wrong with it is in `faults`, and nothing is raised."""
    reader = _Reader()
    try:
        reader.read(_as_yaml(_decoded(data)))
    except _Stopped as stopped:
        faults = (*reader.faults, stopped.fault)
        return YamlDocument(value=reader.value, places=reader.places, faults=faults, is_whole=False)
    return YamlDocument(value=reader.value, places=reader.places, faults=tuple(reader.faults))


class _Stopped(Exception):
    """Reading cannot go on."""

    def __init__(self, place: Place, code: str, message: str, *, path: KeyPath = ()) -> None:
        super().__init__(message)
        self.fault = YamlFault(place, path, code, message)


class _Open:
    """A mapping or list that is being read; `key` waits for its value."""

    __slots__ = ("container", "key", "path", "seen")

    def __init__(self, container: dict[str, Any] | list[Any], path: KeyPath) -> None:
        self.container = container
        self.path = path
        self.key: str | None = None
        self.seen: dict[str, int] = {}


class _Reader:
    """One pass over the events of one text."""

    def __init__(self) -> None:
        self.value: Any = None
        self.places: dict[KeyPath, Place] = {}
        self.faults: list[YamlFault] = []
        self._open: list[_Open] = []
        self._scalars: list[tuple[int, int]] | None = None
        self._values = 0
        self._documents = 0

    def read(self, text: str) -> None:
        if "\t" in text:
            self._scalars = []
        try:
            parser = yaml.SafeLoader(text) if _SURROGATE.search(text) else _PARSER(text)
            try:
                while parser.check_event():
                    self._take(parser.get_event())
            finally:
                parser.dispose()
        except yaml.MarkedYAMLError as failure:
            raise _broken(failure, text) from None
        except yaml.reader.ReaderError as failure:
            place = _place_in(text[: failure.position])
            raise _Stopped(place, "not-text", "The file holds a character that YAML does not allow.") from None
        if self._scalars is not None:
            _check_tabs(text, sorted(self._scalars))

    def _take(self, event: Any) -> None:
        kind = type(event)
        if kind is events.ScalarEvent:
            self._scalar(event)
        elif kind is events.MappingStartEvent:
            self._start(event, {})
        elif kind is events.SequenceStartEvent:
            self._start(event, [])
        elif kind is events.MappingEndEvent or kind is events.SequenceEndEvent:
            self._open.pop()
        elif kind is events.AliasEvent:
            self._alias(event)
        elif kind is events.DocumentStartEvent:
            self._document(event)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _Stopped(_place(event), "second-document", "A file holds one document; `---` starts a second one.")
        if event.version or event.tags:
            self._fault(event, "directive", "A directive (`%…`) is not allowed.")

    def _alias(self, event: Any) -> None:
        self._fault(event, "alias", "An alias (`*name`) is not allowed; write the value out.")
        if self._waits_for_key():
            self._open[-1].key = _SECOND
        else:
            self._put(event, None)

    def _start(self, event: Any, container: dict[str, Any] | list[Any]) -> None:
        self._check_extras(event)
        if len(self._open) >= MAX_DEPTH:
            raise _Stopped(_place(event), "too-deep", f"Values may be nested {MAX_DEPTH} deep.", path=self._path()[:8])
        if self._waits_for_key():
            problem = "A key must be text, not a mapping or a list."
            if self._open[-1].container == {} and getattr(event, "flow_style", False) and isinstance(container, dict):
                problem = 'A text that begins with `{{` must be in quotes, as in `"{{ input.name }}"`.'
            raise _Stopped(_place(event), "key-not-text", problem, path=self._path())
        self._open.append(_Open(container, self._put(event, container)))

    def _scalar(self, event: Any) -> None:
        self._check_extras(event)
        if self._scalars is not None:
            self._scalars.append((event.start_mark.index, event.end_mark.index))
        text: str = event.value
        if not (text.isascii() and text.isprintable()):
            text = self._carriable(event, text)
        is_plain = not event.style and event.tag is None
        if self._waits_for_key():
            self._key(event, text, is_plain=is_plain)
            return
        if not is_plain:
            self._put(event, text)
            return
        value, code, problem = meaning_of(text)
        if code is not None:
            self._fault(event, code, problem)
        self._put(event, value)

    def _key(self, event: Any, text: str, *, is_plain: bool) -> None:
        top = self._open[-1]
        path = (*top.path, text)
        if is_plain and text == "<<":
            self._fault(event, "merge-key", "A merge key (`<<`) is not allowed; write the keys out.", path=path)
        elif is_plain and _is_not_text(text):
            self._fault(event, "key-not-text", f"The key {quoted(text)} must be in quotes to be text.", path=path)
        if text in top.seen:
            problem = f"The key {quoted(text)} stands here twice; the first is on line {top.seen[text]}."
            self._fault(event, "duplicate-key", problem, path=path)
            top.key = _SECOND
            return
        self.places[path] = _place(event)
        top.seen[text] = event.start_mark.line + 1
        top.key = text

    def _put(self, event: Any, value: Any) -> KeyPath:
        """Put a value where it belongs; the answer is its path."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise _Stopped(_place(event), "too-many-values", f"A file may hold {count(MAX_VALUES, 'value')}.")
        path = self._path()
        if not self._open:
            self.value = value
            self.places[()] = _place(event)
            return path
        top = self._open[-1]
        if isinstance(top.container, list):
            self.places[path] = _place(event)
            top.container.append(value)
            return path
        if top.key is not None and top.key != _SECOND:
            top.container[top.key] = value
        top.key = None
        return path

    def _waits_for_key(self) -> bool:
        return bool(self._open) and self._open[-1].key is None and isinstance(self._open[-1].container, dict)

    def _path(self) -> KeyPath:
        """The path of what is read next."""
        if not self._open:
            return ()
        top = self._open[-1]
        if isinstance(top.container, list):
            return (*top.path, len(top.container))
        return top.path if top.key is None else (*top.path, top.key)

    def _check_extras(self, event: Any) -> None:
        if event.anchor is not None:
            self._fault(event, "anchor", "An anchor (`&name`) is not allowed.")
        if event.tag is not None:
            self._fault(event, "tag", f"The tag {quoted(event.tag)} is not allowed; a value is what it looks like.")

    def _carriable(self, event: Any, text: str) -> str:
        if "\x00" in text:
            self._fault(event, "not-text", "The text holds a NUL character, which many readers cut it at.")
            return text.replace("\x00", "")
        # The two halves of a character that were written as two escapes become one.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        try:
            text.encode()
        except UnicodeEncodeError:
            self._fault(event, "not-text", "The text holds a lone surrogate, which JSON cannot carry.")
            return text.encode("utf-8", "replace").decode()
        return text

    def _fault(self, event: Any, code: str, message: str, *, path: KeyPath | None = None) -> None:
        where = self._path() if path is None else path
        self.faults.append(YamlFault(_place(event), where, code, message))
        if len(self.faults) >= MAX_FAULTS:
            raise _Stopped(_place(event), "too-many-faults", "There may be more; reading stopped here.")


def _decoded(data: bytes) -> str:
    if len(data) > MAX_FILE_BYTES:
        raise _Stopped(Place(1, 1), "too-large", f"A file may have {count(MAX_FILE_BYTES, 'byte')}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        place = _place_in(data[: failure.start].decode("utf-8", "replace"))
        problem = f"The file is not UTF-8 text: byte {failure.start:,} does not fit."
        raise _Stopped(place, "not-utf-8", problem) from None


def _as_yaml(text: str) -> str:
    """JSON in the part of it that is YAML; other text as it is."""
    if not (text.lstrip()[:1] == "{" and ("\t" in text or _JSON_ONLY.search(text))):
        return text
    try:
        parse_json(text, limits=SCHEMA_LIMITS)
    except ToolError:
        return text
    # In JSON a tab stands only between values.
    return _JSON_ONLY.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\t", " "))


def _is_not_text(word: str) -> bool:
    meaning = meaning_of(word)
    return meaning.code is not None or meaning.value != word


def _place(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


def _place_in(before: str) -> Place:
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def _check_tabs(text: str, scalars: list[tuple[int, int]]) -> None:
    """Refuse a tab between values, which some readers take for indentation; in texts and comments it may stand."""
    waiting = iter(scalars)
    start, end = next(waiting, (len(text), len(text)))
    at = text.find("\t")
    while at >= 0:
        while at >= end and end < len(text):
            start, end = next(waiting, (len(text), len(text)))
        if at < start and "#" not in text[text.rfind("\n", 0, at) + 1 : at]:
            raise _Stopped(_place_in(text[:at]), "tab", "A tab stands between values; use spaces.")
        at = text.find("\t", at + 1)


def _broken(failure: yaml.MarkedYAMLError, text: str) -> _Stopped:
    mark = failure.problem_mark or failure.context_mark
    place = Place(1, 1) if mark is None else Place(mark.line + 1, mark.column + 1)
    line = next(iter(text.splitlines()[place.line - 1 : place.line]), "")
    if line[place.column - 1 : place.column] == "\t":
        return _Stopped(place, "tab", f"A tab stands where spaces indent, at column {place.column}.")
    problem = failure.problem or failure.context or "it is malformed"
    advice = next((advice for words, advice in _ADVICE.items() if words in problem), "")
    began = failure.context_mark
    if failure.context and began is not None and began.line + 1 != place.line:
        advice += f" It happened {failure.context} that begins on line {began.line + 1}."
    return _Stopped(place, "not-yaml", f"The YAML cannot be read: {problem}, at column {place.column}.{advice}")


_ADVICE: Final = {
    "mapping values are not allowed": " A text that holds `: ` must be in quotes.",
    "cannot start any token": " A text that begins with this character must be in quotes.",
}
