"""How rules see the risk of a tool, and what happens by risk alone where no rule is about a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from toolcrib_core import ToolRisk
from toolcrib_mcp.policy.model import RiskName
from toolcrib_runtime.policy.verdicts import Verdict

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import Declared

RiskClass: TypeAlias = Literal["read", "write", "undeclared", "destructive"]
"""What a tool may do at worst, ascending. `undeclared` may be anything, and `destructive` is known to be that."""

_ORDER: Final[tuple[RiskClass, ...]] = get_args(RiskClass)
_BY_DECLARATION: Final[Mapping[Declared, RiskClass]] = {
    "nothing": "undeclared",
    "read": "read",
    "write": "write",
    "destructive": "destructive",
}
_ASKED_ABOUT: Final[Mapping[RiskClass, str]] = {
    "write": "its server declares that it writes",
    "undeclared": "its server does not declare what it does",
    "destructive": "it is declared destructive: it may delete or overwrite data",
}
_UNASKED: Final[Mapping[str, str]] = {
    "none": "it is declared to have no effects",
    "read": "it is declared to only read",
    "write": "it is declared to write, and to destroy nothing",
}


def risk_class(risk: ToolRisk, declared: Declared, *, flagged: bool = False) -> RiskClass:
    """What a tool may do at worst.

    What the operator knows of it counts; where that is nothing, what its server declares. A tool that the scan flags
    may do anything, whatever is declared.
    """
    if risk.destructive:
        return "destructive"
    if flagged:
        return "undeclared"
    if risk.effects == "unknown":
        return _BY_DECLARATION[declared]
    return "write" if risk.effects == "write" else "read"


def is_covered(risk: RiskClass, ceiling: RiskClass) -> bool:
    """Whether a risk is no higher than another."""
    return _ORDER.index(risk) <= _ORDER.index(ceiling)


def names_of(risk: ToolRisk) -> frozenset[RiskName]:
    """By which names a rule may mean the tool to hold it back: what destroys also writes."""
    names: set[RiskName] = {risk.effects}
    if risk.destructive:
        names |= {"write", "destructive"}
    return frozenset(names)


def worst_of(risk: ToolRisk) -> frozenset[RiskName]:
    """What a rule must name to let the tool run, all of it: to allow writing is not to allow destroying."""
    worst: set[RiskName] = {"destructive"} if risk.destructive else {risk.effects}
    if risk.effects == "unknown":
        worst.add("unknown")
    return frozenset(worst)


def verdict_by_risk(risk: ToolRisk, declared: Declared) -> Verdict:
    """Allow what is known to be harmless, or is declared to only read; ask about the rest.

    A server's word lets a tool run that only reads, and no other: what it declares to write is asked about, while what
    the operator (or a trusted server) says to write runs.
    """
    found = risk_class(risk, declared)
    if risk.effects == "unknown" or risk.destructive:
        if found == "read":
            return Verdict(decision="allow", reason="its server declares that it only reads")
        return Verdict(decision="ask", reason=_ASKED_ABOUT[found])
    return Verdict(decision="allow", reason=_UNASKED[risk.effects])
