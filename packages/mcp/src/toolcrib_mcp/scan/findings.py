"""What a scan found: what makes an item unusable, and what a person should look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from toolcrib_core.wording import quoted

MAX_FINDINGS: Final = 20
"""Of an item with more findings of one sort, so many are told: the first ones, by place."""


@dataclass(frozen=True, order=True)
class TextFinding:
    """One thing that was seen in one text."""

    pointer: str
    """Where the text stands, as a JSON pointer; a property's name stands where the property does."""
    rule: str
    """What was looked for: `hidden-character`, `confusable-name`, the id of a rule about instructions."""
    seen: str
    """What was seen, in words that can be printed and hold no more than a short excerpt of the text."""

    def __str__(self) -> str:
        return f"{self.seen} at {quoted(self.pointer) if self.pointer else 'the top'}"


@dataclass(frozen=True, kw_only=True)
class ScanReport:
    """All findings about one item, each once, by place: the same for every order of its keys."""

    refused: tuple[TextFinding, ...] = ()
    """Why the item must not be served: a person who reads it does not see what a model sees."""
    flagged: tuple[TextFinding, ...] = ()
    """What reads like orders to a model. It may be meant well, so the item is served, and marked."""

    @classmethod
    def of(cls, *, refused: Iterable[TextFinding], flagged: Iterable[TextFinding]) -> ScanReport:
        """The report of these findings, the first twenty of each sort."""
        return cls(
            refused=tuple(sorted(set(refused))[:MAX_FINDINGS]), flagged=tuple(sorted(set(flagged))[:MAX_FINDINGS])
        )


CLEAN: Final = ScanReport()
"""Nothing was found."""
