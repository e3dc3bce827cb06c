"""Text of others inside our own Markdown: it can neither start a line of ours nor end a fence."""

from __future__ import annotations

import re
from typing import Final

from toolcrib_core.truncation import truncate_description

# Joins the parts of one visible character, as a family of emoji; all else that cannot be seen is written out.
_JOINER: Final = "\u200d"
_LANGUAGES: Final = {
    "rs": "rust", "ts": "typescript", "tsx": "tsx", "js": "javascript", "jsx": "jsx", "py": "python", "go": "go",
    "java": "java", "kt": "kotlin", "c": "c", "h": "c", "cpp": "cpp", "cc": "cpp", "hpp": "cpp", "cs": "csharp",
    "rb": "ruby", "php": "php", "swift": "swift", "sh": "bash", "toml": "toml", "yaml": "yaml", "yml": "yaml",
    "json": "json", "sql": "sql", "md": "markdown", "html": "html", "css": "css", "proto": "protobuf",
}  # fmt: skip
_MAX_CODE_LINE: Final = 500


def one_line(text: str, *, tokens: int = 60) -> str:
    """Text on one line, with nothing in it that cannot be seen, and no longer than so many tokens."""
    return _cut(_visible(" ".join(text.split())), tokens)


def quoted_block(text: str, *, tokens: int) -> list[str]:
    """Text as a block quote: whatever its lines begin with, they begin with our `>`."""
    kept = _cut(text.strip(), tokens)
    lines = [f"> {_visible(each.expandtabs(4))}".rstrip() for each in kept.splitlines()]
    if kept != text.strip():
        lines.append("> [… cut; profile=reviewer shows more]")
    return lines


def fenced(lines: list[str], language: str = "") -> list[str]:
    """Lines in a fence that none of them can end."""
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    return [f"{fence}{language}", *lines, fence]


def numbered(lines: tuple[str, ...], first: int) -> list[str]:
    """Lines of code with their numbers in front."""
    return [f"{number:>4}: {_code(line)}".rstrip() for number, line in enumerate(lines, first)]


def language_of(path: str) -> str:
    """What a fence says the code in this file is; nothing where nobody knows."""
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "")


def _code(line: str) -> str:
    shown = line if len(line) <= _MAX_CODE_LINE else f"{line[:_MAX_CODE_LINE]} [… {len(line) - _MAX_CODE_LINE:,} more]"
    return _visible(shown.expandtabs(4))


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == _JOINER else each.encode("unicode_escape").decode() for each in text
    )


def _cut(text: str, tokens: int) -> str:
    # Every token has at least one character, so a short text needs no counting.
    return text if len(text) <= tokens else truncate_description(text, tokens)
