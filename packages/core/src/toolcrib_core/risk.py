"""How much harm a tool can do, and how risks add up.

`merge_risks` is a join: the merged risk is never below any of its parts, in any order, however often. So a composition
is at least as risky as its riskiest part, and what an untrusted source says can raise a risk, never lower it.
"""

from __future__ import annotations

from functools import reduce
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Effects: TypeAlias = Literal["none", "read", "write", "unknown"]
DataSensitivity: TypeAlias = Literal["public", "internal", "restricted", "secret"]

# Ascending. `unknown` is the top: it may turn out to be any of the others.
_EFFECTS: tuple[Effects, ...] = ("none", "read", "write", "unknown")
_SENSITIVITY: tuple[DataSensitivity, ...] = ("public", "internal", "restricted", "secret")


class ToolRisk(BaseModel):
    """What a call of the tool may do; the default says that nothing is known."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    effects: Effects = "unknown"
    destructive: bool = False
    """It may delete or overwrite what cannot be had back."""
    idempotent: bool = False
    """Calling twice with the same arguments does no more than calling once."""
    requires_approval: bool = False
    data_sensitivity: DataSensitivity = "internal"
    external_network: bool = False
    system_access: bool = False

    @property
    def may_write(self) -> bool:
        """Whether a rule about writing has to count this tool in: unknown effects may be writes."""
        return self.effects in {"write", "unknown"} or self.destructive


HARMLESS = ToolRisk(effects="none", idempotent=True, data_sensitivity="public")
"""The bottom: merging it into a risk changes nothing."""


def merge_risks(*risks: ToolRisk) -> ToolRisk:
    """The least risk that is no lower than any of these; `HARMLESS` when there are none."""
    return reduce(_join, risks, HARMLESS)


def _join(one: ToolRisk, other: ToolRisk) -> ToolRisk:
    return ToolRisk(
        effects=max(one.effects, other.effects, key=_EFFECTS.index),
        destructive=one.destructive or other.destructive,
        idempotent=one.idempotent and other.idempotent,
        requires_approval=one.requires_approval or other.requires_approval,
        data_sensitivity=max(one.data_sensitivity, other.data_sensitivity, key=_SENSITIVITY.index),
        external_network=one.external_network or other.external_network,
        system_access=one.system_access or other.system_access,
    )
