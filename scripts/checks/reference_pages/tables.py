"""Tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

_CODE_WITH_BAR: Final = re.compile(r"`([^`]*\|[^`]*)`")


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; a cell is one line, whatever it held."""
    return [_row(heading), "|" + "---|" * len(heading), *map(_row, rows)]


def code(text: str) -> str:
    """A text as code, or nothing for nothing."""
    return f"`{text}`" if text else ""


def paragraph(docstring: str | None) -> str:
    """The first paragraph of a docstring in one line, without the full stop."""
    return " ".join((docstring or "").strip().partition("\n\n")[0].split()).removesuffix(".")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    # A bar within code cannot be escaped in a way that every reader of Markdown takes alike, but for this one.
    line = _CODE_WITH_BAR.sub(lambda found: f"<code>{escape(found[1], quote=False)}</code>", " ".join(text.split()))
    return line.replace("|", "&#124;")
