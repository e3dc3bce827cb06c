"""A pack in chunks, the units that pages are made of: heads of sections, references, diagrams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from toolcrib_contextpacks.document import Diagram, Document, Section
from toolcrib_contextpacks.profiles import REVIEWER, Profile
from toolcrib_contextpacks.quoting import fenced, language_of, numbered, one_line, quoted_block
from toolcrib_contextpacks.refs import RefState

PIECE_LINES: Final = 200
"""So many lines of code make a chunk; a longer reference is several of them."""

UNGROUPED: Final = "ungrouped"


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """One unit of a page."""

    id: str
    section: Section
    kind: Literal["section", "ref", "diagram"]
    lines: tuple[str, ...]
    searched: str
    """All that the chunk says in its longest form, with case folded."""
    group: str | None = None


def chunks_of(document: Document, states: Sequence[RefState], profile: Profile) -> list[Chunk]:
    """All chunks of a document, in the order they are read in."""
    by_place = {(each.section_key, each.ref.key): each for each in states}
    return [chunk for section in document.sections for chunk in _of_section(section, by_place, profile)]


def matching(chunks: Sequence[Chunk], contains: str | None) -> list[Chunk]:
    """The chunks that have the text in them, whatever the case."""
    wanted = (contains or "").strip().casefold()
    return [each for each in chunks if wanted in each.searched]


def with_headings(chunk: Chunk, before: Chunk | None) -> list[str]:
    """The lines of a chunk, below the headings that the chunk before it on the page has not brought already."""
    lines: list[str] = []
    new_section = before is None or before.section.key != chunk.section.key
    if new_section and chunk.kind != "section":
        lines += [section_heading(chunk.section), ""]
    if chunk.kind == "ref" and (new_section or before is None or before.group != chunk.group):
        lines += [f"### group: {one_line(chunk.group or UNGROUPED)}", ""]
    if chunk.kind == "diagram" and (new_section or before is None or before.kind != "diagram"):
        lines += ["### Diagrams", ""]
    return [*lines, *chunk.lines, ""]


def section_heading(section: Section) -> str:
    """The heading that a section is shown under."""
    return f"## {one_line(section.title)} [{section.key}]"


def _of_section(section: Section, states: Mapping[tuple[str, str], RefState], profile: Profile) -> Iterator[Chunk]:
    if (section.description or "").strip() or not section.has_substance:
        yield _head(section, profile)
    ordered = sorted(section.refs, key=lambda ref: ref.group or UNGROUPED)
    for ref in ordered:
        yield from _of_ref(section, states[section.key, ref.key], profile)
    for diagram in section.diagrams:
        yield _of_diagram(section, diagram, profile)


def _head(section: Section, profile: Profile) -> Chunk:
    def lines(tokens: int) -> list[str]:
        return [section_heading(section), "", *(quoted_block(section.description or "", tokens=tokens) or ["_empty_"])]

    return Chunk(
        id=f"{section.key}#section",
        section=section,
        kind="section",
        lines=tuple(lines(profile.description_tokens)),
        searched=_searched(lines(REVIEWER.description_tokens)),
    )


def _of_ref(section: Section, state: RefState, profile: Profile) -> Iterator[Chunk]:
    ref, lines = state.ref, state.lines or ()
    about = [f"#### {ref.key} [{section.key}]"]
    if ref.title:
        about.append(f"- title: {one_line(ref.title)}")
    about += [f"- path: {one_line(ref.path, tokens=300)}", f"- lines: {ref.line_start}-{ref.line_end}"]
    if ref.why:
        about.append(f"- why: {one_line(ref.why, tokens=200)}")
    if state.marker:
        about.append(f"- {one_line(state.marker, tokens=100)}")
    code = numbered(lines, ref.line_start)
    group = ref.group or UNGROUPED
    pieces = [code[start : start + PIECE_LINES] for start in range(0, len(code), PIECE_LINES)] or [[]]
    if profile.is_compact:
        searched = _searched([*about, *code])
        yield Chunk(
            id=f"{section.key}#ref#{ref.key}",
            section=section,
            kind="ref",
            group=group,
            lines=tuple(about),
            searched=searched,
        )
        return
    for number, piece in enumerate(pieces):
        part = [f"- part: {number + 1} of {len(pieces)}"] if len(pieces) > 1 else []
        shown = [*about, *part, *(["", *fenced(piece, language_of(ref.path))] if piece else [])]
        yield Chunk(
            id=f"{section.key}#ref#{ref.key}#{number}",
            section=section,
            kind="ref",
            group=group,
            lines=tuple(shown),
            searched=_searched(shown),
        )


def _of_diagram(section: Section, diagram: Diagram, profile: Profile) -> Chunk:
    about = [f"#### {diagram.key} [{section.key}]", f"- title: {one_line(diagram.title)}"]
    if diagram.why:
        about.append(f"- why: {one_line(diagram.why, tokens=200)}")
    # Two spaces: no line of a diagram begins where ours do.
    source = [f"  {one}" for one in _plain(diagram.mermaid)]
    whole = [*about, "", *fenced(source, "mermaid")]
    return Chunk(
        id=f"{section.key}#diagram#{diagram.key}",
        section=section,
        kind="diagram",
        lines=tuple(about if profile.is_compact else whole),
        searched=_searched(whole),
    )


def _plain(text: str) -> list[str]:
    return [line.expandtabs(4).rstrip() for line in text.strip().splitlines()]


def _searched(lines: list[str]) -> str:
    return "\n".join(lines).casefold()
