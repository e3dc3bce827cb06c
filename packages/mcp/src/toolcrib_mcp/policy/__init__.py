"""Policy: one readable file that says what may run, how fast and how much; and what happens without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.policy.answers import (
        ANSWERS_FILE,
        Answer,
        AnswerFile,
        Answers,
        MemoryAnswers,
        SharedAnswers,
        answers_path,
        remember_answer,
        short_name,
    )
    from toolcrib_mcp.policy.budgets import CallBudgets, forget_usage
    from toolcrib_mcp.policy.counts import CallCount
    from toolcrib_mcp.policy.limits import CallLimits
    from toolcrib_mcp.policy.model import CountEntry, PolicyDocument, RuleEntry
    from toolcrib_mcp.policy.reading import POLICY_FILE, parse_policy, read_policy
    from toolcrib_mcp.policy.remarks import remarks_on
    from toolcrib_mcp.policy.rules import DEFAULT, REQUIRES_APPROVAL, SCAN, Policy, PolicyJudgement, PolicyRule
    from toolcrib_mcp.policy.source import PolicySource, policy_path
    from toolcrib_mcp.policy.subjects import PolicySubject, subject_of
    from toolcrib_mcp.policy.tables import USAGE_LINE
    from toolcrib_mcp.policy.writing import append_rule, rule_text

# Lazily, since only who keeps budgets needs the database.
_NAMES = {
    "answers": (
        "ANSWERS_FILE Answer AnswerFile Answers MemoryAnswers SharedAnswers answers_path remember_answer short_name"
    ),
    "budgets": "CallBudgets forget_usage",
    "counts": "CallCount",
    "limits": "CallLimits",
    "model": "CountEntry PolicyDocument RuleEntry",
    "reading": "POLICY_FILE parse_policy read_policy",
    "remarks": "remarks_on",
    "rules": "DEFAULT REQUIRES_APPROVAL SCAN Policy PolicyJudgement PolicyRule",
    "source": "PolicySource policy_path",
    "subjects": "PolicySubject subject_of",
    "tables": "USAGE_LINE",
    "writing": "append_rule rule_text",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "ANSWERS_FILE",
    "DEFAULT",
    "POLICY_FILE",
    "REQUIRES_APPROVAL",
    "SCAN",
    "USAGE_LINE",
    "Answer",
    "AnswerFile",
    "Answers",
    "CallBudgets",
    "CallCount",
    "CallLimits",
    "CountEntry",
    "MemoryAnswers",
    "Policy",
    "PolicyDocument",
    "PolicyJudgement",
    "PolicyRule",
    "PolicySource",
    "PolicySubject",
    "RuleEntry",
    "SharedAnswers",
    "answers_path",
    "append_rule",
    "forget_usage",
    "parse_policy",
    "policy_path",
    "read_policy",
    "remarks_on",
    "remember_answer",
    "rule_text",
    "short_name",
    "subject_of",
]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
