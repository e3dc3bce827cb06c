"""Whether any of many secrets is in some data, by looking at few of its bytes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from toolcrib_runtime.guards.secrets.secret import Secret
from toolcrib_runtime.guards.secrets.spellings import spellings

# The search holds the interpreter's lock for so many bytes at a time: about half a millisecond.
_CHUNK: Final = 128 * 1024


class _Grain(NamedTuple):
    """A way to look: at one word of `width` bytes in every `step`; `shortest` is what is sure to hold a whole one."""

    code: Literal["I", "Q"]
    width: int
    step: int

    @property
    def shortest(self) -> int:
        return self.step + self.width - 1


_LONG: Final = (_Grain("Q", 8, 32), _Grain("Q", 8, 16), _Grain("Q", 8, 8))
_SHORT: Final = _Grain("I", 4, 4)


class Needles:
    """Secrets in their usual spellings, to be found in bytes: JSON, or plain text in UTF-8.

    Twenty secrets have some 120 spellings. To replace each takes a 2 KB text 33 µs, and to see that none is there takes
    this 5; what is found is replaced by whoever asked.
    """

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        self._spellings = spellings(secrets)
        written = [(index, each) for index, spelling in enumerate(self._spellings) for each in _written(spelling)]
        long = [(index, each) for index, each in written if len(each) >= _LONG[-1].shortest]
        short = [(index, each) for index, each in written if _SHORT.shortest <= len(each) < _LONG[-1].shortest]
        coarsest = next(grain for grain in _LONG if all(len(each) >= grain.shortest for _, each in long))
        self._words = tuple(_Words(grain, some) for grain, some in ((coarsest, long), (_SHORT, short)) if some)
        self._shortest = frozenset(index for index, each in written if len(each) < _SHORT.shortest)

    def __len__(self) -> int:
        return len(self._spellings)

    def within(self, data: bytes) -> tuple[Secret, ...]:
        """The spellings that are in the data, the longest first."""
        possible = self._shortest.union(*(words.possible(data) for words in self._words))
        return tuple(self._spellings[each] for each in sorted(possible) if self._is_in(data, each))

    def every(self) -> tuple[Secret, ...]:
        """Every spelling, the longest first."""
        return self._spellings

    def _is_in(self, data: bytes, index: int) -> bool:
        return any(written in data for written in _written(self._spellings[index]))


class _Words:
    """The words of some spellings, one of which stands in whatever holds one of them."""

    def __init__(self, grain: _Grain, written: Iterable[tuple[int, bytes]]) -> None:
        found: dict[int, set[int]] = defaultdict(set)
        for index, each in written:
            for start in range(grain.step):
                word = memoryview(each[start : start + grain.width]).cast(grain.code)[0]
                found[word].add(index)
        self._grain = grain
        self._spellings = dict(found)
        # A set is asked in half the time that the keys of a dictionary take.
        self._known = frozenset(found)

    def possible(self, data: bytes) -> set[int]:
        """The spellings that may be in the data, because one of their words is."""
        grain, known = self._grain, self._known
        view = memoryview(data)[: len(data) // grain.width * grain.width]
        possible: set[int] = set()
        for start in range(0, len(view), _CHUNK):
            chunk = view[start : start + _CHUNK].cast(grain.code)[:: grain.step // grain.width]
            if not known.isdisjoint(chunk):
                possible.update(*(self._spellings[word] for word in known.intersection(chunk)))
        return possible


def _written(spelling: Secret) -> set[bytes]:
    """As it stands in plain text, and as it stands in JSON, where quotes and backslashes are escaped once more."""
    text = spelling.reveal()
    return {text.encode(), json.dumps(text, ensure_ascii=False)[1:-1].encode()}
