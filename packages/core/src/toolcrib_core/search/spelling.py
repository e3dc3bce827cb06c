"""Words spelt alike: which words of a vocabulary a mistyped word may mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_LENGTH = 4
"""Shorter words are one slip away from too many others."""
_TWO_SLIPS_LENGTH = 6
_MAX_LENGTH = 32
_ONE_CHANGED_LETTER = 2  # letters that only one of the two words has


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """Words with the set of letters in each, so that most can be ruled out without looking at them."""

    words: Sequence[str]
    lengths: NDArray[np.int32]
    firsts: NDArray[np.int32]
    letters: NDArray[np.uint64]

    @classmethod
    def of(cls, words: Sequence[str]) -> Lexicon:
        """A lexicon of words in any script; their order is kept."""
        size = len(words)
        return cls(
            words=words,
            lengths=np.fromiter(map(len, words), np.int32, size),
            firsts=np.fromiter((ord(word[0]) for word in words), np.int32, size),
            letters=np.fromiter(map(_letters, words), np.uint64, size),
        )

    def alike(self, word: str) -> list[tuple[str, float]]:
        """The words that this one may be a slip for, with their closeness (1 is equal)."""
        if not MIN_LENGTH <= len(word) <= _MAX_LENGTH:
            return []
        slips = 1 if len(word) < _TWO_SLIPS_LENGTH else 2
        return [
            (other, 1 - 1.5 * distance / len(word))
            for other in self._candidates(word, slips)
            if (distance := slips_between(word, other, slips)) <= slips
        ]

    def _candidates(self, word: str, slips: int) -> Iterator[str]:
        unlike = np.bitwise_count(self.letters ^ np.uint64(_letters(word)))
        longer = np.abs(self.lengths - len(word))
        # People rarely get the first letter wrong, and then nothing else.
        near = (self.firsts == ord(word[0])) & (longer <= slips) & (unlike <= 2 * slips)
        if len(word) > MIN_LENGTH:
            near |= (longer == 0) & (unlike <= _ONE_CHANGED_LETTER)
        for at in np.flatnonzero(near).tolist():
            yield self.words[at]


def slips_between(one: str, other: str, most: int) -> int:
    """How many letters were missed, added, changed or swapped with the next; `most + 1` stands for any more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row = row, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = above
    return row[-1]


def _letters(word: str) -> int:
    found = 0
    for char in word:
        found |= 1 << (ord(char) % 61)
    return found
