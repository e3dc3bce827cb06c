"""Finds the links of Markdown files that lead nowhere; links to other hosts are not followed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def broken_links(file: Path) -> list[str]:
    """The targets in a file that are not there, or have no such heading."""
    return [target for target in _targets(file) if not _leads_somewhere(file, target)]


def heading_anchors(markdown: str) -> set[str]:
    """The anchors of a document's headings, as the site and the hosts of repositories make them."""
    tokens = MarkdownIt().parse(markdown)
    texts = [
        "".join(part.content for part in after.children or ())
        for token, after in pairwise(tokens)
        if token.type == "heading_open"
    ]
    return {re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in texts}


def _targets(file: Path) -> Iterator[str]:
    for token in _walk(MarkdownIt().enable("table").parse(_text(file))):
        for attribute in ("href", "src"):
            target = token.attrGet(attribute)
            if target is not None and not _ELSEWHERE.match(str(target)):
                yield str(target)


def _walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _walk(token.children or [])


def _leads_somewhere(file: Path, target: str) -> bool:
    path, _, anchor = unquote(target).partition("#")
    other = (file.parent / path).resolve() if path else file
    if not other.exists():
        return False
    return not anchor or (other.suffix == ".md" and anchor in heading_anchors(_text(other)))


@cache
def _text(file: Path) -> str:
    return file.read_text("utf-8")
