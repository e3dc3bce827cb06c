"""Requests in other languages: a small hand-made dictionary into the words of tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from toolcrib_core.search.text import is_unspaced, runs, stem, words

_CLEAR_GRAMMAR = frozenset(
    """
    der und ist ein eine einen einem von zu dem wie wer welche welchen welcher welches ich meine meiner meinen bitte
    nicht auf auch noch zum zur bei
    le les une dans avec pour quel quelle quels quelles quelques je moi sont vers qui cette
    el una unos que cual cuales cuando cuantos cuantas donde esta este tengo tiene para por
    gli della delle dei quali quale sono nel nella
    uma meu minha meus quais qual nao
    """.split()
)
"""Little words that give a language away: none is a word, a name or an abbreviation that an English request holds."""
_UNCLEAR_GRAMMAR = frozenset(
    """
    das den mit fur aus im mir alle es est et des du mon ma mes sur ou ces la los las y con mi mis yo il lo che per mio
    mia os um uns e com sao da dos na em de en di
    """.split()
)
"""Little words that English has in another meaning (`mit`, `los`, `com`): they count beside a letter with an accent."""
FOREIGN_GRAMMAR = _CLEAR_GRAMMAR | _UNCLEAR_GRAMMAR

_MIN_INFLECTED = 6
_MIN_STUBS = 5
_ENDING = 2
_LONGEST_ENDING = 4
_LONGEST_UNSPACED = 8


@dataclass(frozen=True, kw_only=True)
class Dictionary:
    """Words of other languages with the stems that tools use for them."""

    exact: Mapping[str, tuple[str, ...]]
    stubs: Mapping[str, tuple[str, ...]]
    """Long words without their last letters, where inflection happens."""
    unspaced: Mapping[str, tuple[str, ...]]

    def of(self, word: str) -> tuple[str, ...]:
        """The English stems for one folded word; none where it is not known."""
        if word in self.exact:
            return self.exact[word]
        for ending in range(_LONGEST_ENDING + 1):
            stub = word[: len(word) - ending]
            if len(stub) >= _MIN_STUBS and stub in self.stubs:
                return self.stubs[stub]
        return ()

    def within(self, text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The known words inside a text of a script without spaces, the longest first at each place."""
        at = 0
        while at < len(text):
            for size in range(min(_LONGEST_UNSPACED, len(text) - at), 0, -1):
                meant = self.unspaced.get(text[at : at + size])
                if meant:
                    yield text[at : at + size], meant
                    break
            else:
                size = 1
            at += size


@cache
def dictionary() -> Dictionary:
    """The shipped dictionary; read at the first call."""
    exact: dict[str, tuple[str, ...]] = {}
    stubs: dict[str, tuple[str, ...]] = {}
    unspaced: dict[str, tuple[str, ...]] = {}
    for line in (files(__package__) / "data" / "translations.txt").read_text(encoding="utf-8").splitlines():
        english, _, others = line.partition("=")
        if line.startswith("#") or not others:
            continue
        meant = tuple(stem(word) for word in english.split())
        for other in others.split():
            if is_unspaced(other):
                unspaced[other] = _united(unspaced.get(other), meant)
                continue
            word = words(other)[0]
            exact[word] = _united(exact.get(word), meant)
            if len(word) >= _MIN_INFLECTED:
                stub = word[: max(_MIN_STUBS, len(word) - _ENDING)]
                stubs[stub] = _united(stubs.get(stub), meant)
    return Dictionary(exact=exact, stubs=stubs, unspaced=unspaced)


def is_foreign(text: str) -> bool:
    """Whether a request is written in another language than English, as far as its little words and letters tell."""
    if any(is_unspaced(char) or "\u0400" <= char <= "\u04ff" for char in text):
        return True
    found = {word for run in runs(text) for word in words(run)[:1]}
    return bool(found & (_CLEAR_GRAMMAR if text.isascii() else FOREIGN_GRAMMAR))


def _united(known: tuple[str, ...] | None, more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(known or ()), *more)))
