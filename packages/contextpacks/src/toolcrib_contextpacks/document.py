"""A pack and its document as frozen data: read strictly, written back as they were."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_contextpacks.freshness import whole_microseconds
from toolcrib_contextpacks.schemas import DOCUMENT_SCHEMA, ID_PATTERN, MAX_SPAN, MIN_NAME
from toolcrib_contextpacks.violations import invalid_data
from toolcrib_core import InvalidArguments, JsonObject, ToolError
from toolcrib_core.json_text import parse_json
from toolcrib_core.schema.canonical import canonical_json
from toolcrib_core.schema.validate import validate_value
from toolcrib_core.wording import count, quoted

Status: TypeAlias = Literal["draft", "finalized"]

MAX_PACK_BYTES: Final = 512 * 1024
"""How large a document may be as JSON, unless somebody says otherwise."""

_ID = re.compile(ID_PATTERN[1:-1])
# What no database and no terminal should be given: controls but line ends and tabs, and halves of characters.
_UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, kw_only=True)
class Ref:
    """One place in the code."""

    key: str
    path: str
    line_start: int
    line_end: int
    title: str | None = None
    why: str | None = None
    group: str | None = None


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """One diagram."""

    key: str
    title: str
    mermaid: str
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of a document."""

    key: str
    title: str
    description: str | None = None
    refs: tuple[Ref, ...] = ()
    diagrams: tuple[Diagram, ...] = ()

    @property
    def has_substance(self) -> bool:
        """Whether it says anything beside its title."""
        return bool((self.description or "").strip() or self.refs or self.diagrams)


@dataclass(frozen=True, kw_only=True)
class Document:
    """All that an author says; `status` and `ttl_minutes` are None where nothing was said."""

    name: str | None = None
    title: str | None = None
    brief: str | None = None
    tags: tuple[str, ...] = ()
    status: Status | None = None
    ttl_minutes: int | None = None
    sections: tuple[Section, ...] = ()

    def refs(self) -> Iterator[tuple[Section, Ref]]:
        """Every reference, with the section it is in."""
        for section in self.sections:
            for ref in section.refs:
                yield section, ref


LOCAL_OWNER: Final = "local"
"""The owner of packs that no principal has written: the user of this machine."""


@dataclass(frozen=True, kw_only=True)
class Pack:
    """One stored pack; times are in seconds since the epoch, in whole microseconds."""

    id: str
    document: Document
    revision: int
    created_at: float
    updated_at: float
    expires_at: float
    ref_hashes: Mapping[str, str] = field(default_factory=dict)
    """By `section/ref`: the SHA-256 of the lines when they were written; nothing for those that could not be read."""
    owner: str = LOCAL_OWNER
    """The principal whose pack it is."""

    def __post_init__(self) -> None:
        for name in ("created_at", "updated_at", "expires_at"):
            object.__setattr__(self, name, whole_microseconds(getattr(self, name)))

    @property
    def status(self) -> Status:
        """`draft` or `finalized`."""
        return self.document.status or "draft"

    @property
    def name(self) -> str | None:
        """What it is called, if anything."""
        return self.document.name

    @property
    def heading(self) -> str:
        """Its title, else its name."""
        return self.document.title or self.document.name or "Untitled"


def is_pack_id(text: str) -> bool:
    """Whether the text has the form of an id."""
    return _ID.fullmatch(text) is not None


def ref_place(section: Section, ref: Ref) -> str:
    """What a reference is called within a pack."""
    return f"{section.key}/{ref.key}"


def read_document(given: Mapping[str, Any] | str | bytes, *, max_bytes: int = MAX_PACK_BYTES) -> Document:
    """Read a document strictly: nothing is dropped, mended or guessed.

    Raises:
        InvalidPack: It is not a document; `details["violations"]` lists every place.
    """
    value = _parsed(given)
    try:
        validate_value(DOCUMENT_SCHEMA, value, what="document")
    except InvalidArguments as refused:
        raise invalid_data(refused, value, prefix="document") from None
    except ToolError as refused:
        raise InvalidPack(refused.message, hint=refused.hint, details=refused.details) from None
    document = _document(value)
    _check(document)
    _check_size(document, max_bytes)
    return document


def stored_document(value: Mapping[str, Any]) -> Document:
    """A document that `document_json` wrote; limits that were lowered since do not count.

    Raises:
        ValueError: It is none; so do KeyError, TypeError and AttributeError.
    """
    return _document(value)


def document_json(document: Document) -> JsonObject:
    """The document as JSON, with nothing in it that was not said."""
    known: dict[str, Any] = {
        "name": document.name,
        "title": document.title,
        "brief": document.brief,
        "tags": list(document.tags),
        "status": document.status,
        "ttl_minutes": document.ttl_minutes,
        "sections": [section_json(each) for each in document.sections],
    }
    return _said(known)


def section_json(section: Section) -> JsonObject:
    """One section as JSON."""
    refs = [_said(vars(each)) for each in section.refs]
    diagrams = [_said(vars(each)) for each in section.diagrams]
    known = {"key": section.key, "title": section.title, "description": section.description}
    return _said({**known, "refs": refs, "diagrams": diagrams})


def with_status(document: Document, status: Status) -> Document:
    """The document with this status, and with no word about how long it lives."""
    return replace(document, status=status, ttl_minutes=None)


def _parsed(given: Mapping[str, Any] | str | bytes) -> Any:
    if isinstance(given, Mapping):
        return dict(given)
    try:
        return parse_json(given)
    except ToolError as refused:
        raise InvalidPack(refused.message, hint=refused.hint, details=refused.details) from None


def _document(value: Mapping[str, Any]) -> Document:
    sections = tuple(_section(each) for each in value["sections"])
    name = value.get("name")
    return Document(
        **{
            **value,
            "name": None if name is None else name.strip(),
            "tags": tuple(dict.fromkeys(value.get("tags", ()))),
            "sections": sections,
        }
    )


def _section(value: Mapping[str, Any]) -> Section:
    refs = tuple(_ref(each) for each in value.get("refs", ()))
    diagrams = tuple(Diagram(**each) for each in value.get("diagrams", ()))
    return Section(**{**value, "refs": refs, "diagrams": diagrams})


def _ref(value: Mapping[str, Any]) -> Ref:
    # JSON Schema takes 5.0 for an integer.
    lines = {name: int(value[name]) for name in ("line_start", "line_end")}
    return Ref(**{**value, **lines, "path": value["path"].strip().replace("\\", "/")})


def _check(document: Document) -> None:
    if document.name is not None:
        _check_name(document.name)
    _check_unique("section_key", (each.key for each in document.sections), "document.sections")
    for number, section in enumerate(document.sections):
        where = f"document.sections[{number}]"
        _check_unique("ref_key", (each.key for each in section.refs), f"{where}.refs")
        _check_unique("diagram_key", (each.key for each in section.diagrams), f"{where}.diagrams")
        for each, ref in enumerate(section.refs):
            _check_ref(ref, f"{where}.refs[{each}]")
    for field_name, text in _texts(document):
        if _UNFIT.search(text):
            raise InvalidPack(
                f"`{field_name}` has a control character or half a character in it.",
                hint="Leave it out; line ends and tabs are fine.",
                details={"requested_field": field_name},
            )


def _check_name(name: str) -> None:
    problem = None
    if len(name) < MIN_NAME:
        problem = f"is too short: at least {MIN_NAME} characters"
    elif is_pack_id(name):
        problem = "looks like an id"
    elif not name.isprintable():
        problem = "has a line end or a control character in it"
    if problem:
        raise InvalidPack(
            f"`document.name` {problem}.", hint="Choose another name.", details={"requested_field": "document.name"}
        )


def _check_unique(what: str, keys: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise InvalidPack(
                f"duplicate {what} {quoted(key)} in `{where}`.",
                hint="Give every entry of a list a key of its own.",
                details={"requested_field": where, "duplicate_key": key},
            )
        seen.add(key)


def _check_ref(ref: Ref, where: str) -> None:
    problem = None
    if not ref.path:
        problem = ("path", "is empty")
    elif ref.path.startswith("/") or _DRIVE.match(ref.path):
        problem = ("path", "is absolute: only paths relative to the source root are allowed")
    elif ".." in ref.path.split("/"):
        problem = ("path", "has a `..` in it: it must not lead out of the source root")
    elif not ref.path.isprintable():
        problem = ("path", "has a line end or a control character in it")
    elif ref.line_end < ref.line_start:
        problem = ("line_end", "is before `line_start`")
    elif ref.line_end - ref.line_start >= MAX_SPAN:
        problem = ("line_end", f"makes the reference longer than {count(MAX_SPAN, 'line')}")
    if problem:
        raise InvalidPack(
            f"`{where}.{problem[0]}` {problem[1]}.",
            hint="Name a file below the source root, and lines counted from 1.",
            details={"requested_field": f"{where}.{problem[0]}", "ref_key": ref.key},
        )


def _texts(document: Document) -> Iterator[tuple[str, str]]:
    """Every text that may have several lines or come from anywhere, with the field it is in."""
    for name in ("title", "brief"):
        yield f"document.{name}", getattr(document, name) or ""
    for number, tag in enumerate(document.tags):
        yield f"document.tags[{number}]", tag
    for number, section in enumerate(document.sections):
        where = f"document.sections[{number}]"
        parts: list[tuple[str, Section | Ref | Diagram, tuple[str, ...]]] = [(where, section, ("title", "description"))]
        parts += [(f"{where}.refs[{n}]", ref, ("title", "why", "group")) for n, ref in enumerate(section.refs)]
        parts += [(f"{where}.diagrams[{n}]", d, ("title", "mermaid", "why")) for n, d in enumerate(section.diagrams)]
        for place, part, names in parts:
            for name in names:
                yield f"{place}.{name}", getattr(part, name) or ""


def _check_size(document: Document, max_bytes: int) -> None:
    size = len(canonical_json(document_json(document)))
    if size > max_bytes:
        raise InvalidPack(
            f"The document is too large: {size:,} of at most {max_bytes:,} bytes.",
            hint="Point to code by references instead of copying it, or split the pack.",
            details={"requested_bytes": size, "allowed_bytes": max_bytes},
        )


def _said(known: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in known.items() if value is not None}
