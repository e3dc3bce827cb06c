"""Text that reads like orders to a model, found by rules that each take linear time."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.scan.look_alikes import LOOK_ALIKES
from toolcrib_mcp.scan.rules import RULES, Rule, linear_search

_MAX_EXCERPT: Final = 48
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{80,}")
_ESCAPES: Final = re.compile(
    r"(?:\\x[0-9a-fA-F]{2}){8}|(?:\\u[0-9a-fA-F]{4}){8}|(?:%[0-9a-fA-F]{2}){12}|(?:&#x?[0-9a-fA-F]{2,5};){8}"
)
_WORD_EDGES: Final = re.compile(r"(?=[A-Z])(?<=[a-z0-9])")
_ACCENTS: Final = range(0x300, 0x370)
_AS_IT_LOOKS: Final = str.maketrans(LOOK_ALIKES) | dict.fromkeys(_ACCENTS)
# A picture, as icons of tools are given.
_DATA_URL: Final = re.compile(r"data:[a-z]{1,20}/[a-z0-9.+-]{1,40}[;,][^\s\"')]*+")


def broken_rules(text: str, rules: Iterable[Rule] = RULES) -> Iterator[tuple[str, str]]:
    """The id of each rule that a text breaks, with what was seen in words."""
    plain = folded(text)
    for rule in rules:
        looked_at = text if rule.raw else plain
        if rule.may_match(looked_at) and (found := rule.pattern.search(looked_at)):
            yield rule.id, f"{rule.seen}: {_excerpt(found[0])}"


def suspected_rules(texts: Collection[str]) -> tuple[Rule, ...]:
    """The rules that any of these texts may break: a quick question about a lot of text."""
    raw = "\n".join(texts)
    prose = _plain("\n".join(text for text in texts if " " in text))
    names = _apart(_plain("\n".join(text for text in texts if " " not in text)))
    plain = _words(f"{prose}\n{names}")
    return tuple(rule for rule in RULES if rule.may_match(raw if rule.raw else plain))


def has_encoded_text(text: str) -> bool:
    """Whether a text holds a long run of base64, or of escaped characters."""
    if not _may_be_encoded()(text):
        return False
    return _ESCAPES.search(text) is not None or any(map(_is_encoded, _RUN.findall(_DATA_URL.sub(" ", text))))


def folded(text: str) -> str:
    """A text in small letters and plain forms; in a name, the words of `camelCase` and `snake_case` stand apart."""
    return _words(_plain(text) if " " in text else _apart(_plain(text)))


@cache
def _may_be_encoded() -> Callable[[str], bool]:
    return linear_search(f"{_RUN.pattern}|{_ESCAPES.pattern}")


def _plain(text: str) -> str:
    # As it looks: `ignore` with an accent or with a Cyrillic letter is read as the word that it looks like.
    return text if text.isascii() else unicodedata.normalize("NFKD", text).translate(_AS_IT_LOOKS)


def _apart(name: str) -> str:
    return _WORD_EDGES.sub(" ", name)


def _words(text: str) -> str:
    return text.lower().replace("_", " ")


def _is_encoded(run: str) -> bool:
    # A path, a name or a number has letters of one case, or no digits.
    return any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))


def _excerpt(found: str) -> str:
    words = " ".join(found.split())
    return quoted(words if len(words) <= _MAX_EXCERPT else f"{words[: _MAX_EXCERPT - 1]}…")
