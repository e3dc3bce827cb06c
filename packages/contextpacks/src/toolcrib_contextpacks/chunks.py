"""A pack in chunks, the units of its pages: descriptions, references and diagrams, in parts where they are long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from toolcrib_contextpacks.document import Diagram, Document, Section
from toolcrib_contextpacks.profiles import Profile
from toolcrib_contextpacks.quoting import (
    CODE_GOES_ON,
    MAX_ROW_BYTES,
    code_rows,
    diagram_rows,
    fenced,
    is_one_line,
    language_of,
    one_line,
    quoted_block,
)
from toolcrib_contextpacks.refs import RefState

ABOUT_HEADING: Final = "## About this pack"
"""Stands above what the LEGEND of a reviewer has no room for; headings of sections end in their key."""

BRIEF_TOKENS: Final = 120
"""The most tokens of the brief in a LEGEND."""
TAGS_TOKENS: Final = 60
"""The most tokens of the tags in a LEGEND."""

UNGROUPED: Final = "ungrouped"

_LONG_LINES: Final = f"- long lines: a row that begins with `{CODE_GOES_ON.strip()}` continues the line above it"
# A longer text stands in a quote of its own, where it has line ends.
_MAX_FIELD_BYTES: Final = 2_000


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """One unit of a page: a description, a reference, a diagram, or a part of a long one."""

    id: str
    unit: str
    """The id of the first part."""
    part: int
    parts: int
    section_heading: str
    group_heading: str | None = None
    heading: str | None = None
    """The heading of its own, if it has one."""
    lines: tuple[str, ...]


class _Row(NamedTuple):
    text: str
    place: str
    """Where in the unit the row begins; a part is named by its first row."""
    is_code: bool = False


@dataclass(frozen=True, kw_only=True)
class _Unit:
    """What becomes one chunk, or the parts of one."""

    id: str
    section_heading: str
    group_heading: str | None = None
    heading: str | None = None
    rows: Sequence[_Row]
    language: str = ""


def chunks_of(document: Document, states: Sequence[RefState], profile: Profile) -> list[Chunk]:
    """All chunks of a document, in the order they are read in. One for a reviewer fits any page; it is never cut."""
    by_place = {(each.section_key, each.ref.key): each for each in states}
    units = [] if profile.is_compact else [*_about(document)]
    units += [unit for section in document.sections for unit in _units_of(section, by_place, profile)]
    return [chunk for unit in units for chunk in _parts_of(unit, profile)]


def matching(chunks: Sequence[Chunk], contains: str | None) -> list[Chunk]:
    """The chunks whose text on the page has this text in it, whatever the case."""
    wanted = (contains or "").strip().casefold()
    if not wanted:
        return list(chunks)
    before = [None, *chunks]
    return [
        chunk
        for chunk, last in zip(chunks, before, strict=False)
        if wanted in "\n".join(with_headings(chunk, last)).casefold()
    ]


def with_headings(chunk: Chunk, before: Chunk | None) -> list[str]:
    """The lines of a chunk, below those headings that do not stand on the page since the chunk before it."""
    lines: list[str] = []
    same_section = before is not None and before.section_heading == chunk.section_heading
    same_group = same_section and before is not None and before.group_heading == chunk.group_heading
    if not same_section:
        lines += [chunk.section_heading, ""]
    if chunk.group_heading and not same_group:
        lines += [chunk.group_heading, ""]
    if chunk.heading and (before is None or before.unit != chunk.unit):
        lines.append(chunk.heading)
    if chunk.parts > 1:
        lines += [f"- part: {chunk.part} of {chunk.parts}", *([] if chunk.heading else [""])]
    return [*lines, *chunk.lines, ""]


def _about(document: Document) -> Iterator[_Unit]:
    rows = []
    if document.brief and not fits_legend(document.brief, BRIEF_TOKENS):
        rows += _quoted_field("brief", document.brief)
    tags = ", ".join(document.tags)
    if not fits_legend(tags, TAGS_TOKENS):
        rows += _quoted_field("tags", tags)
    if rows:
        yield _Unit(id="#about", section_heading=ABOUT_HEADING, rows=_placed(rows))


def fits_legend(text: str, tokens: int) -> bool:
    """Whether a text stands in a LEGEND as it is."""
    return is_one_line(text) and one_line(text, tokens=tokens) == one_line(text, tokens=None)


def _units_of(section: Section, states: Mapping[tuple[str, str], RefState], profile: Profile) -> Iterator[_Unit]:
    heading = f"## {one_line(section.title, tokens=profile.title_tokens)} [{section.key}]"
    description = (section.description or "").strip()
    if description or not section.has_substance:
        quote = quoted_block(section.description or "", tokens=profile.description_tokens) or ["_empty_"]
        yield _Unit(id=f"{section.key}#section", section_heading=heading, rows=_placed(quote))
    for ref in sorted(section.refs, key=lambda ref: ref.group or UNGROUPED):
        yield _of_ref(section, heading, states[section.key, ref.key], profile)
    for diagram in section.diagrams:
        yield _of_diagram(section, heading, diagram, profile)


def _of_ref(section: Section, heading: str, state: RefState, profile: Profile) -> _Unit:
    ref = state.ref
    about = _field("title", ref.title, profile.title_tokens)
    about += _field("path", ref.path, profile.field_tokens)
    about.append(f"- lines: {ref.line_start}-{ref.line_end}")
    about += _field("why", ref.why, profile.field_tokens)
    if state.marker:
        about.append(f"- {one_line(state.marker, tokens=profile.field_tokens)}")
    code: list[_Row] = []
    if not profile.is_compact:
        for number, line in enumerate(state.lines or (), ref.line_start):
            rows = enumerate(code_rows(line, number))
            code += [_Row(row, f"{number}+{each}" if each else str(number), is_code=True) for each, row in rows]
        if any(row.text.startswith(CODE_GOES_ON) for row in code):
            about.append(_LONG_LINES)
    return _Unit(
        id=f"{section.key}#ref#{ref.key}",
        section_heading=heading,
        group_heading=f"### group: {one_line(ref.group or UNGROUPED, tokens=profile.title_tokens)}",
        heading=f"#### {ref.key} [{section.key}]",
        rows=[*_placed(about), *code],
        language=language_of(ref.path),
    )


def _of_diagram(section: Section, heading: str, diagram: Diagram, profile: Profile) -> _Unit:
    about = _field("title", diagram.title, profile.title_tokens)
    about += _field("why", diagram.why, profile.field_tokens)
    source = [] if profile.is_compact else diagram_rows(diagram.mermaid)
    return _Unit(
        id=f"{section.key}#diagram#{diagram.key}",
        section_heading=heading,
        group_heading="### Diagrams",
        heading=f"#### {diagram.key} [{section.key}]",
        rows=[*_placed(about), *(_Row(row, f"source-{number}", is_code=True) for number, row in enumerate(source))],
        language="mermaid",
    )


def _field(name: str, text: str | None, tokens: int | None) -> list[str]:
    """A field as one line; as a quote where that would lose its line ends, or would be too long."""
    if not text or not text.strip():
        return []
    shown = one_line(text, tokens=tokens)
    if tokens is None and not (is_one_line(text) and len(shown.encode()) <= _MAX_FIELD_BYTES):
        return _quoted_field(name, text)
    return [f"- {name}: {shown}"]


def _quoted_field(name: str, text: str) -> list[str]:
    return [f"- {name}:", *(f"  {row}" for row in quoted_block(text))]


def _placed(rows: Sequence[str]) -> list[_Row]:
    return [_Row(row, f"row-{number}") for number, row in enumerate(rows)]


def _parts_of(unit: _Unit, profile: Profile) -> Iterator[Chunk]:
    parts = [[*unit.rows]] if profile.is_compact else [*_bounded(unit.rows)]
    for number, rows in enumerate(parts):
        yield Chunk(
            id=f"{unit.id}#{rows[0].place}" if number else unit.id,
            unit=unit.id,
            part=number + 1,
            parts=len(parts),
            section_heading=unit.section_heading,
            group_heading=unit.group_heading,
            heading=unit.heading,
            lines=tuple(_laid_out(rows, unit.language)),
        )


def _bounded(rows: Sequence[_Row]) -> Iterator[list[_Row]]:
    """The rows in parts of bounded length, each with at least one row."""
    part: list[_Row] = []
    size = 0
    for row in rows:
        cost = len(row.text.encode()) + 1
        if part and size + cost > MAX_ROW_BYTES:
            yield part
            part, size = [], 0
        part.append(row)
        size += cost
    yield part


def _laid_out(rows: Sequence[_Row], language: str) -> Iterator[str]:
    for is_code, some in groupby(rows, key=lambda row: row.is_code):
        texts = [row.text for row in some]
        if is_code:
            yield ""
            yield from fenced(texts, language)
        else:
            yield from texts
