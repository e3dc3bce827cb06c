"""JSON as editors write it: with comments and trailing commas, and with a way back from a place to its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from toolcrib_core import parse_json
from toolcrib_core.schema.limits import JsonLimits
from toolcrib_core.schema.pointers import pointer_from

# Each branch takes all it can and gives nothing back: an unclosed string or comment costs one look, not one per start.
_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+(?:"|\Z)|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|[{}\[\],:]|[^\s"/{}\[\],:]++|/', re.DOTALL
)
_NOT_A_LINE_END: Final = re.compile(r"[^\n]")


def parse_jsonc(text: str, *, limits: JsonLimits) -> Any:
    """The value of a JSON text that may have comments and a comma before a closing bracket.

    Everything else is as strict as JSON can be; a key that comes twice in one object is refused.

    Raises:
        MalformedJson: The text is not JSON even without its comments; `details` has line and column.
        ArgumentsTooLarge: The text is over a limit.
    """
    return parse_json(_plain_json(text), limits=limits)


def lines_of(text: str) -> dict[str, int]:
    """The line that each place of a JSON text begins on, by JSON pointer: a member at its key, an item at its value."""
    lines: dict[str, int] = {}
    path: list[str | int] = []
    before, line_before = "", 1
    for lexeme, line in _lexemes(text):
        match lexeme:
            case "{" | "[":
                lines.setdefault(pointer_from(path), line)
                path.append(0 if lexeme == "[" else "")
            case "}" | "]":
                del path[-1:]
            case "," if path and isinstance(path[-1], int):
                path[-1] += 1
            case ":" if path:
                path[-1] = _text_of(before)
                lines[pointer_from(path)] = line_before
            case _ if path and isinstance(path[-1], int):
                lines.setdefault(pointer_from(path), line)
        before, line_before = lexeme, line
    return lines


def line_of(place: str, lines: Mapping[str, int]) -> int:
    """The line of a place, or of the nearest one around it when the place is something that is missing."""
    while place and place not in lines:
        place = place.rpartition("/")[0]
    return lines.get(place, 1)


def _plain_json(text: str) -> str:
    """The text with blanks for comments and trailing commas, so that every offset still holds."""
    pieces, end = [], 0
    for start, stop in _not_json(text):
        pieces += [text[end:start], _NOT_A_LINE_END.sub(" ", text[start:stop])]
        end = stop
    return "".join([*pieces, text[end:]])


def _not_json(text: str) -> Iterator[tuple[int, int]]:
    before, comma = "", None
    held: list[tuple[int, int]] = []
    for token in _TOKEN.finditer(text):
        if _is_comment(token[0]):
            held.append(token.span())
            continue
        if comma is not None and token[0] in {"]", "}"}:
            yield comma
        yield from held
        held.clear()
        # A comma that follows nothing is a mistake, and is left for the parser to find.
        comma = token.span() if token[0] == "," and before not in {"", "[", "{", ",", ":"} else None
        before = token[0]
    yield from held


def _lexemes(text: str) -> Iterator[tuple[str, int]]:
    line, end = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", end, token.start())
        end = token.start()
        if not _is_comment(token[0]):
            yield token[0], line


def _is_comment(lexeme: str) -> bool:
    # A comment without an end is not one: the parser then says where it begins.
    return lexeme.startswith("//") or (lexeme.startswith("/*") and lexeme.endswith("*/") and len(lexeme) > len("/*/"))


def _text_of(lexeme: str) -> str:
    try:
        return str(orjson.loads(lexeme))
    except orjson.JSONDecodeError:
        return lexeme
