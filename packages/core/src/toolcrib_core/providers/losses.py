"""What a schema loses on its way into a vendor's format: `Loss` and `LossReport`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from toolcrib_core.json_values import JsonObject

Effect: TypeAlias = Literal["widened", "narrowed", "annotation_only"]
"""`widened`: the converted schema takes values that the original refuses. `narrowed`: it refuses values that the
original takes. `annotation_only`: both take the same values, and something that only informs is gone."""


class Loss(NamedTuple):
    """One thing that the original schema says and the converted one does not."""

    pointer: str
    """Where it stands in the original schema: the JSON pointer of the schema object that holds the keyword."""
    keyword: str
    effect: Effect
    mitigation: str
    """What makes up for it, as a sentence."""
    demanded: bool = False
    """The vendor's strict mode demands it and it touches nothing that the schema declares, such as properties that an
    object does not name. Only such a narrowing is no reason to leave strict mode."""

    def to_dict(self) -> JsonObject:
        """The loss as JSON, with the keys that travel on the wire."""
        told: JsonObject = {
            "pointer": self.pointer,
            "keyword": self.keyword,
            "effect": self.effect,
            "mitigation": self.mitigation,
        }
        return told | {"demanded": True} if self.demanded else told


class LossReport(NamedTuple):
    """All that one conversion lost, in the order of the schema; empty (and then false) when nothing was."""

    losses: tuple[Loss, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.losses)

    def of(self, effect: Effect) -> tuple[Loss, ...]:
        """The losses with that effect."""
        return tuple(each for each in self.losses if each.effect == effect)

    @property
    def widened(self) -> bool:
        """Whether the converted schema may take what the original refuses."""
        return any(each.effect == "widened" for each in self.losses)

    @property
    def narrowed(self) -> bool:
        """Whether the converted schema may refuse what the original takes."""
        return any(each.effect == "narrowed" for each in self.losses)

    @property
    def blocking(self) -> tuple[Loss, ...]:
        """The narrowings that strict mode is not worth: those that nobody demanded."""
        return tuple(each for each in self.losses if each.effect == "narrowed" and not each.demanded)

    def lines(self) -> Iterator[str]:
        """One sentence for each loss, for people to read."""
        for each in self.losses:
            yield f"`{each.pointer or '/'}`: `{each.keyword}` {_WORDS[each.effect]}. {each.mitigation}"

    def to_dict(self) -> JsonObject:
        """The report as JSON."""
        return {"losses": [each.to_dict() for each in self.losses]}


_WORDS = {
    "widened": "is not kept, so that more is taken",
    "narrowed": "is stricter than in the original",
    "annotation_only": "only informs and is not kept as it was",
}
