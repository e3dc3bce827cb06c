"""`Policy`: the rules of a file, and what they say about a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

from toolcrib_core import digest
from toolcrib_core.json_values import FrozenDict
from toolcrib_mcp.policy.counts import CallCount
from toolcrib_mcp.policy.model import Default, PolicyDocument, RuleEntry
from toolcrib_mcp.policy.risks import names_of, verdict_by_risk, worst_of
from toolcrib_mcp.policy.subjects import PolicySubject, Scope
from toolcrib_runtime.policy.verdicts import Decision, Opinion, Verdict, strictest

DEFAULT: Final = "default"
"""Whose decision it is where no rule is about a call."""

CONFIGURATION: Final = "configuration"
"""Whose decision it is where the operator has set `requiresApproval` for a tool."""

_MAX_REMEMBERED: Final = 10_000
_VERBS: Final[Mapping[Decision, str]] = {"allow": "allows it", "ask": "asks about it", "deny": "denies it"}
_DEFAULT_VERDICTS: Final[Mapping[str, Verdict]] = {
    "allow": Verdict(decision="allow", reason="the policy allows whatever no rule is about"),
    "ask": Verdict(decision="ask", reason="the policy asks about whatever no rule is about"),
    "deny": Verdict(decision="deny", reason="the policy denies whatever no rule is about"),
}
_NEEDS_APPROVAL: Final = Opinion(
    CONFIGURATION, Verdict(decision="ask", reason="the configuration says that it needs approval")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyJudgement:
    """What a policy says about a call."""

    decision: Decision
    reason: str
    """In words that can stand behind a colon, without a full stop."""
    rule: str
    """Whose decision it is: the rules, as `rule 3 (line 12)`; `default`; or `configuration`."""


class PolicyRule:
    """One rule of a policy."""

    __slots__ = ("_scope", "entry", "line", "number")

    def __init__(self, entry: RuleEntry, *, number: int, line: int | None = None) -> None:
        self.entry = entry
        self.number = number
        """Its place among the rules, from 1."""
        self.line = line
        """Where it begins in its file, where that is known."""
        self._scope = Scope(entry)

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return numbered("rule", self.number, self.line)

    def fits(self, subject: PolicySubject) -> bool:
        """Whether it is about the call; one that allows must mean exactly this tool, and name the worst that it does.

        One that denies or asks is about a tool when it names anything that the tool may do.
        """
        if self.entry.decision == "allow":
            return self.overrules_default(subject)
        named = self.entry.risk
        return (named is None or not names_of(subject.risk).isdisjoint(named)) and self._scope.fits(subject)

    def overrules_default(self, subject: PolicySubject) -> bool:
        """Whether it means exactly this call, so that the default does not count.

        Otherwise whoever asks about writing would let run, under a default that denies, what may destroy as well.
        """
        named = self.entry.risk
        return (named is None or worst_of(subject.risk) <= set(named)) and self._scope.fits(subject, strictly=True)

    def opinion(self) -> Opinion:
        """What it says about every call that it is about."""
        decision = self.entry.decision
        reason = self.entry.reason or f"{self.name} of the policy {_VERBS[decision]}"
        return Opinion(self.name, Verdict(decision=decision, reason=reason))


class Policy:
    """Says of every call whether it may run: allow, ask or deny.

    All rules are asked, in no order: deny counts more than ask, and ask more than allow. The default is for what no
    rule is about. A tool for which the configuration says `requiresApproval` is never allowed
    without somebody being asked.
    """

    def __init__(self, document: PolicyDocument | None = None, *, lines: Mapping[str, int] = FrozenDict()) -> None:
        """Take a document, and the lines in which its entries begin, by places as `rule/0`."""
        self.document = PolicyDocument() if document is None else document
        self.rules = tuple(
            PolicyRule(entry, number=number, line=lines.get(f"rule/{number - 1}"))
            for number, entry in enumerate(self.document.rule, 1)
        )
        self.limits = _counts("limit", self.document, lines)
        """Rates, all of which a call must keep to."""
        self.budgets = _counts("budget", self.document, lines)
        """Amounts, all of which a call spends from."""
        self._remembered: dict[PolicySubject, PolicyJudgement] = {}

    @classmethod
    def allowing(cls) -> Self:
        """The policy that allows everything: for tests, and for programs that have their own."""
        return cls(PolicyDocument(default="allow"))

    @property
    def default(self) -> Default:
        """What happens with calls that no rule is about."""
        return self.document.default

    @cached_property
    def digest(self) -> str:
        """Of all that decides: an approval that was given under other rules is void.

        Order, comments and reasons are no part of it, nor are limits and budgets.
        """
        fields = {"decision", "server", "tool", "risk", "principal"}
        rules = {digest(rule.entry.model_dump(mode="json", include=fields)) for rule in self.rules}
        return digest({"default": self.default, "rules": sorted(rules)})

    def judge(self, subject: PolicySubject) -> PolicyJudgement:
        """What the policy says about a call; asking again for the same one costs next to nothing."""
        known = self._remembered.get(subject)
        if known is None:
            if len(self._remembered) >= _MAX_REMEMBERED:
                self._remembered.clear()
            known = self._remembered[subject] = self._judged(subject)
        return known

    def matching(self, subject: PolicySubject) -> tuple[PolicyRule, ...]:
        """The rules that are about a call, in the order of the file."""
        return tuple(rule for rule in self.rules if rule.fits(subject))

    def _judged(self, subject: PolicySubject) -> PolicyJudgement:
        matching = self.matching(subject)
        opinions = [rule.opinion() for rule in matching]
        if not any(rule.overrules_default(subject) for rule in matching):
            opinions.append(Opinion(DEFAULT, self._by_default(subject)))
        if subject.risk.requires_approval:
            opinions.append(_NEEDS_APPROVAL)
        decision, reason, rule = strictest(opinions)
        return PolicyJudgement(decision=decision, reason=reason, rule=rule or DEFAULT)

    def _by_default(self, subject: PolicySubject) -> Verdict:
        return verdict_by_risk(subject.risk) if self.default == "by-risk" else _DEFAULT_VERDICTS[self.default]


def numbered(what: str, number: int, line: int | None) -> str:
    """The name of an entry: `rule 3 (line 12)`."""
    return f"{what} {number}" if line is None else f"{what} {number} (line {line})"


def _counts(what: str, document: PolicyDocument, lines: Mapping[str, int]) -> tuple[CallCount, ...]:
    entries = document.limit if what == "limit" else document.budget
    return tuple(
        CallCount(entry, name=numbered(what, number, lines.get(f"{what}/{number - 1}")))
        for number, entry in enumerate(entries, 1)
    )
