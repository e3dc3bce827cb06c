"""Knowledge of words: which ones mean nearly the same, and what people say for what tools call otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from toolcrib_core.search.spelling import Lexicon
from toolcrib_core.search.text import stem, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DATA = "data"
_SCALE = 255
_RARITY_COST = 0.5


@dataclass(frozen=True, kw_only=True)
class RelatedWords:
    """A table from stems to the stems nearest in meaning, made offline (`data/ORIGIN.md`)."""

    position: Mapping[str, int]
    stems: tuple[str, ...]
    neighbours: NDArray[np.uint16]
    closeness: NDArray[np.uint8]
    stem_of: Mapping[str, str]
    """The stem of each word of the table in its most usual form."""
    rarity_of: Mapping[str, float]
    """From 0 for the most frequent of those forms to 1 for the rarest."""
    lexicon: Lexicon
    """Those usual forms."""

    def of(self, word: str) -> list[tuple[str, float]]:
        """The stems related to this one with their closeness, the closest first."""
        at = self.position.get(word)
        if at is None:
            return []
        near = zip(self.neighbours[at].tolist(), self.closeness[at].tolist(), strict=True)
        return [(self.stems[other], close / _SCALE) for other, close in near if close]

    def __contains__(self, word: str) -> bool:
        return word in self.position


@dataclass(frozen=True, kw_only=True)
class ToolWords:
    """Words that stand for each other in the names and descriptions of tools, by hand."""

    synonyms: Mapping[str, tuple[str, ...]]
    phrases: Mapping[tuple[str, ...], tuple[str, ...]]
    longest_phrase: int


@cache
def related_words() -> RelatedWords:
    """The shipped table; read at the first call."""
    with (
        (files(__package__) / _DATA / "related_words.npz").open("rb") as file,
        np.load(file, allow_pickle=False) as table,
    ):
        stems, usual = (tuple(table[name].tobytes().decode().split("\n")) for name in ("stems", "words"))
        neighbours, closeness, rarity = table["neighbours"], table["closeness"], table["rarity"]
    return RelatedWords(
        position={word: at for at, word in enumerate(stems)},
        stems=stems,
        neighbours=neighbours,
        closeness=closeness,
        stem_of=dict(zip(usual, stems, strict=True)),
        rarity_of=dict(zip(usual, (rarity / _SCALE).tolist(), strict=True)),
        lexicon=Lexicon.of(usual),
    )


@lru_cache(maxsize=4_096)
def english_alike(word: str) -> tuple[tuple[str, float], ...]:
    """English words that the given one may be a slip for with their closeness, the likeliest first.

    A frequent word goes before a rare one that is a little closer: people mistype the words they use.
    """
    english = related_words()
    return tuple(
        sorted(
            english.lexicon.alike(word),
            key=lambda pair: (_RARITY_COST * english.rarity_of[pair[0]] - pair[1], pair[0]),
        )
    )


@cache
def tool_words() -> ToolWords:
    """The shipped groups and phrases; read at the first call."""
    synonyms: dict[str, dict[str, None]] = {}
    phrases: dict[tuple[str, ...], tuple[str, ...]] = {}
    for said, meant in _lines("tool_words.txt"):
        if meant:
            phrases[said] = meant
            continue
        for word in said:
            synonyms.setdefault(word, {}).update(dict.fromkeys(other for other in said if other != word))
    return ToolWords(
        synonyms={word: tuple(others) for word, others in synonyms.items()},
        phrases=phrases,
        longest_phrase=max(map(len, phrases)),
    )


def _lines(name: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for line in (files(__package__) / _DATA / name).read_text(encoding="utf-8").splitlines():
        said, _, meant = line.partition("=>")
        if said.strip() and not line.startswith("#"):
            yield _stems(said), _stems(meant)


def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(words(word)[0]) for word in text.split())
