"""`Policy`: the rules of a file, and what they say about a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Self

from toolcrib_core import digest
from toolcrib_core.json_values import FrozenDict
from toolcrib_mcp.policy.counts import CallCount
from toolcrib_mcp.policy.model import Default, PolicyDocument, RuleEntry
from toolcrib_mcp.policy.risks import names_of, verdict_by_risk, worst_of
from toolcrib_mcp.policy.subjects import PolicySubject, Scope
from toolcrib_runtime.policy.verdicts import Decision, Opinion, Verdict, strictest

if TYPE_CHECKING:
    from toolcrib_mcp.policy.answers import Answer

DEFAULT: Final = "default"
"""Whose decision it is where no rule is about a call."""

REQUIRES_APPROVAL: Final = "requiresApproval"
"""Whose decision it is where the configuration, or the tool itself, says that each call needs an approval."""

SCAN: Final = "scan"
"""Whose decision it is where the scan flags the text of a tool."""

_MAX_REMEMBERED: Final = 10_000
_VERBS: Final[Mapping[Decision, str]] = {"allow": "allows it", "ask": "asks for approval", "deny": "denies it"}
_DEFAULT_VERDICTS: Final[Mapping[str, Verdict]] = {
    "allow": Verdict(decision="allow", reason="the default of the policy is to allow"),
    "ask": Verdict(decision="ask", reason="the default of the policy is to ask"),
    "deny": Verdict(decision="deny", reason="the default of the policy is to deny"),
}
_NEEDS_APPROVAL: Final = Opinion(
    REQUIRES_APPROVAL, Verdict(decision="ask", reason="it is marked as requiring approval for each call")
)
_WILDCARDS: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyJudgement:
    """What a policy says about a call."""

    decision: Decision
    reason: str
    """In words that can stand behind a colon, without a full stop."""
    rule: str
    """Whose decision it is: rules, as `rule 3 (line 12)`; `answer K7Q`; `default`; `scan`; or `requiresApproval`."""
    lasting: bool = False
    """Whether an answer may be remembered: only the default asks, and no rule, flag or `requiresApproval` does."""


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

    @property
    def names_one_tool(self) -> bool:
        """Whether its author wrote down the name of a tool, and no pattern that tools of other names fit."""
        return self.entry.tool is not None and not _WILDCARDS & set(self.entry.tool)

    def opinion(self) -> Opinion:
        """What it says about every call that it is about."""
        decision = self.entry.decision
        reason = self.entry.reason or f"{self.name} of the policy {_VERBS[decision]}"
        return Opinion(self.name, Verdict(decision=decision, reason=reason))


class Policy:
    """Says of every call whether it may run: allow, ask or deny.

    All rules count, in no order: deny more than ask, and ask more than allow. The default is for calls that no rule
    matches. A tool that is marked `requiresApproval` is never allowed without a question, and a tool that the scan
    flags only by a rule that names it. A remembered answer denies, or takes the place of the question of the default.

    Where the `client_asks` by itself, the default by risk allows what it would ask about.
    """

    def __init__(
        self,
        document: PolicyDocument | None = None,
        *,
        lines: Mapping[str, int] = FrozenDict(),
        answers: tuple[Answer, ...] = (),
        client_asks: bool = False,
    ) -> None:
        """Take a document, and the lines in which its entries begin, by places as `rule/0`."""
        self.document = PolicyDocument() if document is None else document
        self.answers = answers
        """What people answered when they were asked."""
        self._lines = lines
        self._client_asks = client_asks
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

    def answering(self, answers: tuple[Answer, ...], *, client_asks: bool) -> Policy:
        """The same rules, with these answers."""
        return Policy(self.document, lines=self._lines, answers=answers, client_asks=client_asks)

    @property
    def default(self) -> Default:
        """What happens with calls that no rule matches."""
        return self.document.default

    @cached_property
    def digest(self) -> str:
        """Of all that decides: an approval that was given under other rules is void.

        Order, comments and reasons are no part of it, nor are limits, budgets and remembered answers.
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

    def matching_answers(self, subject: PolicySubject) -> tuple[Answer, ...]:
        """The remembered answers that cover a call."""
        return tuple(each for each in self.answers if each.covers(subject))

    def _judged(self, subject: PolicySubject) -> PolicyJudgement:
        matching, answers = self.matching(subject), self.matching_answers(subject)
        opinions = [rule.opinion() for rule in matching]
        opinions += [_answered(each) for each in answers if each.decision == "deny"]
        if subject.risk.requires_approval:
            opinions.append(_NEEDS_APPROVAL)
        if subject.flags and not self._lifts_flag(matching):
            opinions.append(_flagged(subject))
        if not any(rule.overrules_default(subject) for rule in matching):
            by_default = Opinion(DEFAULT, self._by_default(subject))
            allowed = [_answered(each) for each in answers if each.decision == "allow"]
            is_question = by_default.verdict.decision == "ask"
            lasting = is_question and strictest(opinions).decision == "allow"
            opinions += allowed if is_question and allowed else [by_default]
        else:
            lasting = False
        decision, reason, rule = strictest(opinions)
        return PolicyJudgement(
            decision=decision, reason=reason, rule=rule or DEFAULT, lasting=lasting and decision == "ask"
        )

    def _lifts_flag(self, matching: tuple[PolicyRule, ...]) -> bool:
        """Whether somebody has decided about a flagged tool: about it by name, or that nothing is asked at all."""
        if self.default == "allow":
            return True
        return any(rule.entry.decision == "allow" and rule.names_one_tool for rule in matching)

    def _by_default(self, subject: PolicySubject) -> Verdict:
        if self.default != "by-risk":
            return _DEFAULT_VERDICTS[self.default]
        verdict = verdict_by_risk(subject.risk, subject.declared)
        return _LEFT_TO_CLIENT if self._client_asks and verdict.decision == "ask" else verdict


_LEFT_TO_CLIENT: Final = Verdict(decision="allow", reason="`approvals` is `client`, so the client asks")


def _answered(answer: Answer) -> Opinion:
    return Opinion(answer.name, Verdict(decision=answer.decision, reason=answer.reason))


def _flagged(subject: PolicySubject) -> Opinion:
    # What a finding quotes of the server's text is printable and short, and nothing of ours comes behind it.
    reason = f"the scan flags its description: {subject.flags[0].rstrip('.')}"
    return Opinion(SCAN, Verdict(decision="ask", reason=reason))


def numbered(what: str, number: int, line: int | None) -> str:
    """The name of an entry: `rule 3 (line 12)`."""
    return f"{what} {number}" if line is None else f"{what} {number} (line {line})"


def _counts(what: str, document: PolicyDocument, lines: Mapping[str, int]) -> tuple[CallCount, ...]:
    entries = document.limit if what == "limit" else document.budget
    return tuple(
        CallCount(entry, name=numbered(what, number, lines.get(f"{what}/{number - 1}")))
        for number, entry in enumerate(entries, 1)
    )
