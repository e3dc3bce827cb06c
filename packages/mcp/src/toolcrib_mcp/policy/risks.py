"""How rules see the risk of a tool, and what happens by risk alone where no rule is about a call."""

from __future__ import annotations

from toolcrib_core import ToolRisk
from toolcrib_mcp.policy.model import RiskName
from toolcrib_runtime.policy.verdicts import Verdict


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


def verdict_by_risk(risk: ToolRisk) -> Verdict:
    """Ask about destruction and unknown effects, as the runtime's `ask_by_risk` does; allow the rest."""
    reasons = []
    if risk.destructive:
        reasons.append("it may delete or overwrite what cannot be had back")
    if risk.effects == "unknown":
        reasons.append("nobody has declared what it does")
    if reasons:
        return Verdict(decision="ask", reason=", and ".join(reasons))
    return Verdict(decision="allow", reason=_HARMLESS[risk.effects])


_HARMLESS = {
    "none": "it has no effects",
    "read": "it only reads",
    "write": "it is declared to write, and to destroy nothing",
}
