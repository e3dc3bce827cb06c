"""The demo's `text` server: count, compare, convert and search texts."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from typing import Annotated, Final, Literal

from pydantic import Field

from toolcrib_core import count_tokens
from toolcrib_runtime import tool

_MAX: Final = 200_000
_Text = Annotated[str, Field(max_length=_MAX)]
_WORD: Final = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_LINK: Final = re.compile(r"https?://[^\s<>\"')\]]{1,2000}")
_ADDRESS: Final = re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}\b")


@tool(effects="none", tags=["text"])
def count_text(text: _Text) -> dict[str, int]:
    """Count the characters, words, lines and model tokens (cl100k_base) of a text."""
    return {
        "characters": len(text),
        "words": len(_WORD.findall(text)),
        "lines": len(text.splitlines()),
        "tokens": count_tokens(text),
    }


@tool(effects="none", tags=["text"])
def frequent_words(text: _Text, limit: Annotated[int, Field(ge=1, le=1000)] = 20) -> list[dict[str, str | int]]:
    """List the most frequent words of a text with how often each occurs."""
    counted = Counter(word.casefold() for word in _WORD.findall(text))
    return [{"word": word, "count": number} for word, number in counted.most_common(limit)]


@tool(effects="none", tags=["text"])
def compare_texts(before: _Text, after: _Text) -> str:
    """Show the difference between two texts line by line, as a unified diff."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
    return "\n".join(lines) or "There is no difference."


@tool(effects="none", tags=["text"])
def find_links(text: _Text) -> dict[str, list[str]]:
    """Extract the web links and e-mail addresses of a text, each once."""
    return {"links": _once(_LINK.findall(text)), "addresses": _once(_ADDRESS.findall(text))}


@tool(effects="none", tags=["text"])
def change_case(text: _Text, to: Literal["upper", "lower", "title", "snake", "kebab", "camel"]) -> str:
    """Write a text in another case: upper, lower, title, snake_case, kebab-case or camelCase."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])|[^\W\dA-Za-z_]+", text)]
    match to:
        case "upper" | "lower" | "title":
            return str(getattr(text, to)())
        case "snake" | "kebab":
            return ("_" if to == "snake" else "-").join(words)
        case "camel":
            return "".join(word if first else word.capitalize() for first, word in _first(words))


@tool(effects="none", tags=["text"])
def sort_lines(text: _Text, *, unique: bool = False, descending: bool = False) -> str:
    """Sort the lines of a text, on request each only once."""
    lines = text.splitlines()
    return "\n".join(sorted(set(lines) if unique else lines, reverse=descending))


TOOLS = (count_text, frequent_words, compare_texts, find_links, change_case, sort_lines)


def _once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _first(words: list[str]) -> list[tuple[bool, str]]:
    return [(index == 0, word) for index, word in enumerate(words)]
