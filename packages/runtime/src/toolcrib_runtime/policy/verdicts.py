"""What a rule can say about a call, and how what several say adds up: deny, then ask, then allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from toolcrib_core import ToolDefinition
from toolcrib_core.wording import quoted

Decision: TypeAlias = Literal["allow", "ask", "deny"]

_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
_MAX_REASON = 300
# Far more than is kept, so that white space in between does not count, and little enough to be read at once.
_MAX_READ = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a rule says, and why: in one line, for the person who is asked or the model that is refused."""

    decision: Decision
    reason: str = ""


_ALLOW = Verdict(decision="allow")
_BARE: dict[str, Verdict] = {"allow": _ALLOW, "ask": Verdict(decision="ask"), "deny": Verdict(decision="deny")}


class Opinion(NamedTuple):
    """The verdict of one rule."""

    rule: str
    verdict: Verdict


class Judgement(NamedTuple):
    """What all rules together say: the strictest decision, why, and whose it is."""

    decision: Decision
    reason: str
    rule: str | None


_ALLOWED = Judgement("allow", "", None)


def ask_by_risk(definition: ToolDefinition) -> Verdict:
    """Ask about what may do harm: unknown effects, destruction, and what says itself that it needs approval."""
    risk = definition.risk
    if risk.effects != "unknown" and not risk.destructive and not risk.requires_approval:
        return _ALLOW
    reasons = []
    if risk.destructive:
        reasons.append("it may delete or overwrite data")
    if risk.requires_approval:
        reasons.append("it is marked as requiring approval for each call")
    if risk.effects == "unknown":
        reasons.append('it does not declare what it does (a tool that only reads says `effects="read"`)')
    return Verdict(decision="ask", reason=", and ".join(reasons))


def verdict_of(answer: object) -> Verdict | None:
    """What a rule meant; None is no opinion, and neither is a bare allow: what nobody is against is allowed.

    Raises:
        TypeError: It is nothing that a rule may answer.
    """
    if answer is None:
        return None
    verdict = _BARE.get(answer) if isinstance(answer, str) else answer
    if isinstance(verdict, Verdict) and verdict.decision in _BARE and isinstance(verdict.reason, str):
        return None if verdict.decision == "allow" and not verdict.reason else verdict
    raise TypeError(f"a rule answers `allow`, `ask`, `deny`, a `Verdict` or None, not a `{type(answer).__name__}`")


def strictest(opinions: Sequence[Opinion]) -> Judgement:
    """The strictest of the decisions, with the reasons of all who share it; without any opinion it is allow."""
    if not opinions:
        return _ALLOWED
    decision = max((each.verdict.decision for each in opinions), key=_STRICTNESS.__getitem__)
    deciding = [each for each in opinions if each.verdict.decision == decision]
    reasons = dict.fromkeys(_reason_of(each) for each in deciding)
    return Judgement(
        decision, _one_line("; ".join(filter(None, reasons))), _one_line(", ".join(each.rule for each in deciding))
    )


def _reason_of(opinion: Opinion) -> str:
    decision, reason = opinion.verdict.decision, _one_line(opinion.verdict.reason)
    if reason or decision == "allow":
        return reason
    return f"the rule {quoted(opinion.rule)} {'denies it' if decision == 'deny' else 'asks for it'}"


def _one_line(text: str) -> str:
    # What cannot be seen could hide half of a reason from the person who decides.
    words = " ".join(text[:_MAX_READ].split()).rstrip(". ")
    line = words if words.isprintable() else "".join(each if each.isprintable() else "?" for each in words)
    return line if len(line) <= _MAX_REASON else f"{line[: _MAX_REASON - 1]}…"
