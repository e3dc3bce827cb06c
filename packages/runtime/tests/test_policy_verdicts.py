"""What rules can say, and how what they say adds up."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core import ToolDefinition, ToolRisk
from toolcrib_runtime.policy.verdicts import Decision, Opinion, Verdict, ask_by_risk, strictest, verdict_of

_STRICTNESS = ["allow", "ask", "deny"]

opinions = st.lists(
    st.builds(
        Opinion,
        rule=st.sampled_from("abcd"),
        verdict=st.builds(Verdict, decision=st.sampled_from(get_args(Decision)), reason=st.text(max_size=8)),
    ),
    max_size=6,
)


@pytest.mark.req("RT-10")
@given(st.data(), opinions)
def test_the_order_of_the_rules_never_changes_the_decision(data: st.DataObject, said: list[Opinion]) -> None:
    shuffled = data.draw(st.permutations(said))

    assert strictest(shuffled).decision == strictest(said).decision


@pytest.mark.req("RT-10")
@given(opinions, opinions)
def test_a_further_rule_never_loosens_the_decision(said: list[Opinion], more: list[Opinion]) -> None:
    before, after = strictest(said).decision, strictest([*said, *more]).decision

    assert _STRICTNESS.index(after) >= _STRICTNESS.index(before)


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ([], "allow"),
        (["allow"], "allow"),
        (["allow", "ask"], "ask"),
        (["ask", "allow", "deny"], "deny"),
        (["deny", "allow"], "deny"),
    ],
)
def test_deny_counts_before_ask_and_ask_before_allow(said: list[Decision], decision: Decision) -> None:
    judgement = strictest([Opinion("rule", Verdict(decision=each)) for each in said])

    assert judgement.decision == decision


def test_whoever_decides_sees_the_reasons_of_all_rules_that_decided_and_of_no_other() -> None:
    judgement = strictest(
        [
            Opinion("money", Verdict(decision="ask", reason="it costs 500.")),
            Opinion("calm", Verdict(decision="allow", reason="harmless")),
            Opinion("night", Verdict(decision="ask", reason="it is late")),
            Opinion("clock", Verdict(decision="ask", reason="it is late")),
        ]
    )

    assert judgement == ("ask", "it costs 500; it is late", "money, night, clock")


@pytest.mark.parametrize(("decision", "said"), [("deny", "denies it"), ("ask", "asks for it")])
def test_a_rule_that_gives_no_reason_is_named_instead(decision: Decision, said: str) -> None:
    assert strictest([Opinion("night", Verdict(decision=decision))]).reason == f"the rule `night` {said}"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("two\n\n  lines\tof text.", "two lines of text"),
        ("pay \u202e001\u202c now\x1b[31m", "pay ?001? now?[31m"),
        ("a lone \ud800", "a lone ?"),
        ("x" * 10_000_000, "x" * 299 + "…"),
    ],
    ids=["lines", "invisible", "surrogate", "huge"],
)
def test_a_reason_is_one_bounded_line_in_which_everything_can_be_seen(reason: str, shown: str) -> None:
    assert strictest([Opinion("rule", Verdict(decision="deny", reason=reason))]).reason == shown


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    ("risk", "reason"),
    [
        (ToolRisk(), 'it does not declare what it does (a tool that only reads says `effects="read"`)'),
        (ToolRisk(effects="write", destructive=True), "it may delete or overwrite data"),
        (ToolRisk(effects="none", requires_approval=True), "it is marked as requiring approval for each call"),
    ],
)
def test_a_risk_that_nobody_can_rule_out_is_asked_about_in_words_that_a_person_understands(
    risk: ToolRisk, reason: str
) -> None:
    assert ask_by_risk(ToolDefinition(name="act", risk=risk)) == Verdict(decision="ask", reason=reason)


def test_every_risk_that_is_asked_about_is_named() -> None:
    risk = ToolRisk(destructive=True, requires_approval=True)

    reason = ask_by_risk(ToolDefinition(name="act", risk=risk)).reason

    assert reason.count(", and ") == 2


@pytest.mark.req("RT-10")
@pytest.mark.parametrize("effects", ["none", "read", "write"])
def test_a_declared_effect_that_destroys_nothing_is_allowed(effects: str) -> None:
    definition = ToolDefinition(name="act", risk={"effects": effects})

    assert ask_by_risk(definition).decision == "allow"


@pytest.mark.parametrize("answer", ["ask", "deny"])
def test_a_decision_may_be_said_in_one_word(answer: Decision) -> None:
    assert verdict_of(answer) == Verdict(decision=answer)


@pytest.mark.parametrize("answer", [None, "allow", Verdict(decision="allow")])
def test_a_rule_need_not_have_an_opinion_and_a_bare_allow_is_none(answer: Decision | Verdict | None) -> None:
    assert verdict_of(answer) is None


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    "answer",
    [
        *(True, False, 1, "", "ALLOW", "yes", {}, {"decision": "allow"}),
        *(Verdict(decision="maybe"), Verdict(decision=[]), Verdict(decision="allow", reason=None)),
    ],
    ids=repr,
)
def test_whatever_else_a_rule_answers_is_an_error(answer: object) -> None:
    with pytest.raises(TypeError):
        verdict_of(answer)
