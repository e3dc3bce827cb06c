"""Text of authors inside the Markdown of a page: it cannot start a line of the page, and it cannot end a fence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from toolcrib_core.tokens import count_tokens, split_tokens

CUT: Final = "[… cut]"
"""Follows a text that was shortened to fit its profile."""

MAX_ROW_BYTES: Final = 8_000
"""A longer line of text or code continues on the next row of the page."""

CODE_GOES_ON: Final = "   +: "
"""Begins a row that continues the line of code above it; a row that begins a line has its number there."""

_MARK_TOKENS: Final = 4
# A shorter beginning of a line says nothing.
_LEAST_TOKENS: Final = 10
_REST: Final = "> [… cut; profile=reviewer shows all of it]"
# Joins the parts of one visible character, such as a family of emoji.
_JOINER: Final = "\u200d"
_LANGUAGES: Final = {
    "rs": "rust", "ts": "typescript", "tsx": "tsx", "js": "javascript", "jsx": "jsx", "py": "python", "go": "go",
    "java": "java", "kt": "kotlin", "c": "c", "h": "c", "cpp": "cpp", "cc": "cpp", "hpp": "cpp", "cs": "csharp",
    "rb": "ruby", "php": "php", "swift": "swift", "sh": "bash", "toml": "toml", "yaml": "yaml", "yml": "yaml",
    "json": "json", "sql": "sql", "md": "markdown", "html": "html", "css": "css", "proto": "protobuf",
}  # fmt: skip


def one_line(text: str, *, tokens: int | None = 60) -> str:
    """Text on one line, with invisible characters written out.

    It is cut to so many tokens, with `CUT` behind it, or whole where that is None.
    """
    if tokens is None:
        return _visible(" ".join(text.strip().splitlines()))
    return _cut(_visible(" ".join(text.split())), tokens)


def quoted_block(text: str, *, tokens: int | None = None) -> list[str]:
    """Text as a block quote, in rows that begin with `>`; `>…` continues the line above.

    It is cut to about so many tokens, with a last row that says so, or whole where that is None.
    """
    rows = [row for line in _lines(text) for row in _wrapped("> " if line else ">", ">… ", line)]
    return rows if tokens is None else _cut_rows(rows, tokens)


def is_one_line(text: str) -> bool:
    """Whether a text has no line end between its first and its last word."""
    return len(text.strip().splitlines()) <= 1


def fenced(rows: list[str], language: str = "") -> list[str]:
    """Rows in a fence that none of them can end."""
    fence = "`" * max(3, 1 + max((len(run) for row in rows for run in re.findall("`+", row)), default=0))
    return [f"{fence}{language}", *rows, fence]


def code_rows(line: str, number: int) -> list[str]:
    """A line of code with its number in front, in as many rows as it takes."""
    return _wrapped(f"{number:>4}: " if line else f"{number:>4}:", CODE_GOES_ON, line)


def diagram_rows(text: str) -> list[str]:
    """The source of a diagram, indented, so that no row begins where lines of the page do; `+` continues a line."""
    return [row for line in _lines(text) for row in _wrapped("  " if line else "", "+ ", line)] or [""]


def language_of(path: str) -> str:
    """The language that the fence of a file names; empty if the suffix is unknown."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "")


def _lines(text: str) -> list[str]:
    """The lines of a text, without empty ones at its ends."""
    lines = [line if line.strip() else "" for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return lines


def _wrapped(first: str, others: str, line: str) -> list[str]:
    """A line as rows of bounded length, which together are the line."""
    pieces = _pieces(_visible(line))
    return [f"{others if number else first}{piece}" for number, piece in enumerate(pieces)]


def _pieces(line: str) -> Iterator[str]:
    if len(line) * 4 <= MAX_ROW_BYTES:
        yield line
        return
    data = line.encode()
    start = 0
    while len(data) - start > MAX_ROW_BYTES:
        end = start + MAX_ROW_BYTES
        while data[end] & 0xC0 == 0x80:  # noqa: PLR2004  # inside a character of UTF-8
            end -= 1
        yield data[start:end].decode()
        start = end
    yield data[start:].decode()


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if _is_visible(each) else each.encode("unicode_escape").decode() for each in text)


def _is_visible(char: str) -> bool:
    # Spaces of every width are harmless, and French and Japanese texts are full of them.
    return char.isprintable() or char in {_JOINER, "\t"} or unicodedata.category(char) == "Zs"


def _cut(text: str, tokens: int) -> str:
    # A character has at most four bytes and a token at least one: a short text needs no counting.
    if len(text) * 4 <= tokens or count_tokens(text) <= tokens:
        return text
    return f"{_beginning(text, tokens - _MARK_TOKENS)} {CUT}".lstrip()


def _cut_rows(rows: list[str], tokens: int) -> list[str]:
    kept: list[str] = []
    for row in rows:
        cost = count_tokens(row) + 1
        if cost > tokens:
            return [*kept, *([_beginning(row, tokens)] if tokens >= _LEAST_TOKENS else []), _REST]
        kept.append(row)
        tokens -= cost
    return kept


def _beginning(text: str, tokens: int) -> str:
    """The first words of a text, or of its first word as much as fits."""
    begun = b"".join(split_tokens(text)[:tokens]).decode(errors="ignore")
    words = begun.rpartition(" ")[0]
    return (words if len(words) * 2 > len(begun) else begun).rstrip(f" {_JOINER}")
