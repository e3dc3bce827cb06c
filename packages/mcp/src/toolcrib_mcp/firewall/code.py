"""Summaries of source text: the language, and what is defined where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolcrib_core import JsonObject
from toolcrib_core.wording import count
from toolcrib_mcp.firewall.diffs import summarised_diff
from toolcrib_mcp.firewall.fitting import MAX_LINES, Outline, Section
from toolcrib_mcp.firewall.json_reading import JsonFault, UnreadableJson, first_records, read_json
from toolcrib_mcp.firewall.languages import JSON_TEXT, OTHER, Language, language_of, language_of_media
from toolcrib_mcp.firewall.lines import LineNumbers, first_lines, line_count
from toolcrib_mcp.firewall.prose import edge_sections
from toolcrib_mcp.firewall.records import described_fields, fields_section
from toolcrib_mcp.firewall.shown import clipped_bytes

# Not `[tool]`, `[[bin]]` or `[1] See above`, with which TOML and footnotes begin.
_JSON_BEGINNING = re.compile(
    rb"\s{0,1000}(?:\{\s{0,1000}\"|\[[\s\[]{0,100}(?:[\"{\[]|(?:-?\d{1,40}(?:\.\d{1,40})?|true|false|null)\s{0,100},))"
)
_MAX_FOUND = 5_000
_LINE_CHARS = 100
_NAMES_CHARS = 40
_FIRST_LINES = 6
_NAME = re.compile(rb"(?:def|class|function|fn|func|struct|enum|interface|trait|type|module) +([\w.]{1,60})")


@dataclass(frozen=True)
class _Definition:
    number: int
    indent: int
    raw: bytes

    def __str__(self) -> str:
        return f"{self.number} {'  ' if self.indent else ''}{clipped_bytes(self.raw.rstrip(b' {'), _LINE_CHARS)}"

    @property
    def name(self) -> str:
        named = _NAME.search(self.raw)
        return clipped_bytes(named[1] if named is not None else self.raw, _NAMES_CHARS)


def json_fault(content: bytes) -> JsonFault | None:
    """Why content that begins like JSON is not read as JSON; None when it does not begin so, or is."""
    if not _JSON_BEGINNING.match(content):
        return None
    try:
        read_json(content)
    except UnreadableJson as error:
        return error.fault
    return None


def summarised_code(content: bytes, *, size: int, media_type: str | None) -> Outline:
    """The outline of a source text of `size` bytes."""
    fault = json_fault(content)
    if fault is not None:
        return _unread_json(content, fault, size)
    language = _language(content, media_type)
    if language.name == "diff":
        return summarised_diff(content, size=size)
    found, total = _definitions(content, language)
    lines = line_count(content)
    head = f"{language.title}, {count(lines, 'line')}, {size:,} bytes."
    things = language.things.rpartition(" ")[2]
    facts: JsonObject = {"language": language.name, "lines": lines, things: total, "bytes": size}
    return Outline(head, _sections(content, language, found, total), facts)


def _unread_json(content: bytes, fault: JsonFault, size: int) -> Outline:
    """JSON that is cut off, too deep or too much: what its beginning shows."""
    lines = line_count(content)
    head = f"JSON text, {fault.value}, {count(lines, 'line')}, {size:,} bytes."
    facts: JsonObject = {"language": "json", "unread": fault.value, "lines": lines, "bytes": size}
    rows = first_records(content)
    if not rows:
        found, total = _definitions(content, JSON_TEXT)
        return Outline(head, _sections(content, JSON_TEXT, found, total), facts)
    columns, total, _ = described_fields(rows)
    title = f"A list of objects; fields of the first {len(rows):,}:"
    return Outline(head, [fields_section(title, columns, total), *edge_sections(content)], facts)


def _language(content: bytes, media_type: str | None) -> Language:
    return (language_of_media(media_type) if media_type else None) or language_of(content) or OTHER


def _sections(content: bytes, language: Language, found: Sequence[_Definition], total: int) -> list[Section]:
    if not found:
        return edge_sections(content)
    names = [each.name for each in found]
    title = f"{language.things[0].upper()}{language.things[1:]}:"
    first = [str(each) for each in first_lines(content, _FIRST_LINES, limit=_LINE_CHARS)]
    outline = Section(title, list(map(str, found)), total, language.things, names, share=0.8)
    return [outline, Section("First lines:", first)]


def _definitions(content: bytes, language: Language) -> tuple[list[_Definition], int]:
    """The definitions to show, outer ones rather than inner ones, in the order of the text; and how many there are."""
    numbers = LineNumbers(content)
    found: list[_Definition] = []
    total = 0
    for total, match in enumerate(language.outline.finditer(content), 1):
        if total <= _MAX_FOUND:
            found.append(_definition(content, match, numbers))
    if len(found) > MAX_LINES:
        outer = sorted(found, key=lambda each: (each.indent, each.number))[:MAX_LINES]
        found = sorted(outer, key=lambda each: each.number)
    return found, total


def _definition(content: bytes, match: re.Match[bytes], numbers: LineNumbers) -> _Definition:
    end = content.find(b"\n", match.start(), match.start() + 8 * _LINE_CHARS)
    line = content[match.start() : end if end >= 0 else match.start() + 8 * _LINE_CHARS]
    indent = len(line) - len(line.lstrip())
    return _Definition(numbers.at(match.start()), indent, line.strip())
