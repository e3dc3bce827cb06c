"""What a policy says about a call: deny, then ask, then allow, and the default where no rule is about it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import DESTROY, READ, UNKNOWN, WRITE, policy, subject

from toolcrib_core import ToolDefinition, ToolRisk
from toolcrib_mcp.policy import Policy, PolicyDocument, PolicySubject, RuleEntry
from toolcrib_mcp.policy.rules import _MAX_REMEMBERED
from toolcrib_runtime import ask_by_risk

STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
RISKS = [
    ToolRisk(effects=effects, destructive=destructive, requires_approval=approval)
    for effects, destructive, approval in product(("none", "read", "write", "unknown"), (False, True), (False, True))
]


def decision(rules: Policy, about: PolicySubject) -> str:
    return rules.judge(about).decision


@pytest.mark.req("GW-8.3")
@pytest.mark.parametrize("risk", RISKS)
def test_without_a_file_calls_are_judged_by_risk_as_the_runtime_does(risk: ToolRisk) -> None:
    expected = ask_by_risk(ToolDefinition(name="act", risk=risk)).decision

    assert decision(Policy(), subject(risk=risk)) == expected


@pytest.mark.req("GW-8.3")
def test_unknown_effects_ask_and_the_reason_says_why() -> None:
    judged = Policy().judge(subject(risk=UNKNOWN))

    assert (judged.decision, judged.rule) == ("ask", "default")
    assert judged.reason == "its server does not declare what it does"


@pytest.mark.req("GW-8.3")
@pytest.mark.parametrize(
    ("others", "expected"),
    [((), "allow"), (("ask",), "ask"), (("deny",), "deny"), (("ask", "deny"), "deny"), (("deny", "allow"), "deny")],
)
def test_deny_counts_more_than_ask_and_ask_more_than_allow(others: tuple[str, ...], expected: str) -> None:
    rules = policy('rule: decision="allow" server="github"', *(f'rule: decision="{each}"' for each in others))

    assert decision(rules, subject(risk=UNKNOWN)) == expected


@pytest.mark.req("GW-8.3")
def test_a_rule_that_allows_beats_the_default_whatever_that_is() -> None:
    for default in ("by-risk", "ask", "deny"):
        rules = policy('rule: decision="allow" server="github"', default=default)

        assert decision(rules, subject(risk=UNKNOWN)) == "allow"
        assert decision(rules, subject(risk=UNKNOWN, server="other")) == {"by-risk": "ask"}.get(default, default)


def test_a_rule_that_asks_beats_a_default_that_denies() -> None:
    rules = policy('rule: decision="ask" tool="get_*"', default="deny")

    assert decision(rules, subject("get_issue")) == "ask"
    assert decision(rules, subject("put_issue")) == "deny"


@pytest.mark.parametrize("default", ["allow", "ask", "deny"])
def test_the_default_can_be_any_decision(default: str) -> None:
    judged = policy(default=default).judge(subject(risk=UNKNOWN))

    assert (judged.decision, judged.rule) == (default, "default")
    assert judged.reason == f"the default of the policy is to {default}"


@pytest.mark.req("GW-8.3")
@pytest.mark.parametrize("default", ["allow", "by-risk"])
def test_a_tool_that_the_operator_wants_approved_is_never_allowed_unasked(default: str) -> None:
    rules = policy('rule: decision="allow" server="github"', default=default)
    risk = ToolRisk(effects="read", requires_approval=True)

    judged = rules.judge(subject(risk=risk))

    assert (judged.decision, judged.rule) == ("ask", "requiresApproval")
    assert decision(policy(default="deny"), subject(risk=risk)) == "deny"


def test_the_judgement_names_its_rules_with_their_lines_and_gives_their_reasons() -> None:
    rules = policy(
        'rule: decision="deny" tool="delete_*" reason="Nothing is deleted here."', 'rule: decision="deny" risk="read"'
    )

    judged = rules.judge(subject("delete_all"))

    assert judged.rule == "rule 1 (line 3), rule 2 (line 7)"
    assert judged.reason == "Nothing is deleted here; rule 2 (line 7) of the policy denies it"


def test_rules_are_found_in_the_order_of_the_file() -> None:
    rules = policy('rule: decision="allow" tool="*"', 'rule: decision="deny" tool="x"', 'rule: decision="ask"')

    assert [each.number for each in rules.matching(subject())] == [1, 3]


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ('server="git*"', True),
        ('server="gitlab"', False),
        ('server="GitHub"', False),
        ('tool="get_*"', True),
        ('tool="get_issu[ef]"', True),
        ('tool="issue"', False),
        ('tool="github:get_*"', True),
        ('tool="*:get_issue"', True),
        ('tool="gitlab:get_*"', False),
        ('principal="ci-*"', True),
        ('principal="local"', False),
        ('server="github" tool="get_*" principal="ci-1"', True),
        ('server="github" tool="get_*" principal="ci-2"', False),
    ],
)
def test_a_rule_is_about_calls_that_all_of_its_patterns_fit(pattern: str, *, fits: bool) -> None:
    rules = policy(f'rule: decision="deny" {pattern}')

    assert (decision(rules, subject(principal="ci-1")) == "deny") is fits


def test_a_tool_is_meant_by_its_own_name_and_by_the_one_in_its_id() -> None:
    about = subject("delete file", tool_id="github:delete_file#01234567")

    for pattern in ("delete file", "delete_file", "github:delete_file"):
        assert decision(policy(f'rule: decision="deny" tool="{pattern}"'), about) == "deny"


@pytest.mark.req("CT-20", "GW-8.3")
@pytest.mark.parametrize("decided", ["deny", "allow"])
@pytest.mark.parametrize("end", ["", "@1.4.0", "#01234567"])
def test_a_rule_names_a_tool_by_its_id_with_or_without_version_or_hash(end: str, decided: str) -> None:
    # A rule that denies and is copied from a page with its hash must not fit nothing.
    about = subject("drop", tool_id=f"github:drop{end or '#01234567'}", risk=UNKNOWN)

    assert decision(policy(f'rule: decision="{decided}" tool="github:drop{end}"'), about) == decided
    assert decision(policy(f'rule: decision="{decided}" tool="github:drop#76543210"'), about) == "ask"


@pytest.mark.req("GW-8.3")
@pytest.mark.fault("F14")
def test_no_server_can_name_a_tool_into_a_rule_that_allows_those_of_another() -> None:
    evil = subject("github:get_issue", server="evil", tool_id="evil:github_get_issue#01234567", risk=UNKNOWN)

    assert decision(policy('rule: decision="allow" tool="github:get_*"'), evil) == "ask"
    assert decision(policy('rule: decision="deny" tool="github:get_*"'), evil) == "deny"


@pytest.mark.req("GW-8.3")
@pytest.mark.parametrize(
    ("named", "risk", "denied"),
    [
        ("read", READ, True),
        ("read", WRITE, False),
        ("write", WRITE, True),
        ("write", DESTROY, True),
        ("write", UNKNOWN, False),
        ("destructive", WRITE, False),
        ("destructive", DESTROY, True),
        ("unknown", UNKNOWN, True),
        ("unknown", ToolRisk(destructive=True), True),
        ("destructive", ToolRisk(destructive=True), True),
        ("none", ToolRisk(effects="none"), True),
    ],
)
def test_a_rule_that_denies_by_risk_covers_whatever_the_tool_may_be(
    named: str, risk: ToolRisk, *, denied: bool
) -> None:
    rules = policy(f'rule: decision="deny" risk="{named}"', default="allow")

    assert (decision(rules, subject(risk=risk)) == "deny") is denied


@pytest.mark.req("GW-8.3")
@pytest.mark.parametrize(
    ("named", "risk", "allowed"),
    [
        ('"write"', WRITE, True),
        ('"write"', DESTROY, False),
        ('"destructive"', DESTROY, True),
        ('"unknown"', UNKNOWN, True),
        ('"unknown"', ToolRisk(destructive=True), False),
        ('["unknown", "destructive"]', ToolRisk(destructive=True), True),
    ],
)
def test_a_rule_that_allows_by_risk_must_name_the_worst_of_it(named: str, risk: ToolRisk, *, allowed: bool) -> None:
    rules = policy(f'rule: decision="allow" risk={named}', default="deny")

    assert (decision(rules, subject(risk=risk)) == "allow") is allowed


@pytest.mark.req("GW-8.3")
def test_a_rule_that_asks_about_some_risk_loosens_no_default_for_what_is_worse() -> None:
    rules = policy('rule: decision="ask" risk="write"', default="deny")

    assert decision(rules, subject(risk=WRITE)) == "ask"
    assert decision(rules, subject(risk=DESTROY)) == "deny"


def test_the_policy_that_allows_everything_does() -> None:
    assert decision(Policy.allowing(), subject(risk=ToolRisk(destructive=True))) == "allow"


def test_what_is_remembered_of_judgements_is_bounded() -> None:
    rules = Policy()
    for number in range(_MAX_REMEMBERED + 5):
        rules.judge(subject(f"t{number}"))

    assert len(rules._remembered) == 5


def test_the_digest_changes_with_what_decides_and_with_nothing_else() -> None:
    one, two = 'rule: decision="deny" tool="a"', 'rule: decision="ask" tool="b"'
    base = policy(one, two).digest

    assert policy(two, one).digest == base
    assert policy(one, two, one).digest == base
    assert policy(f'{one} reason="x"', two, 'limit: calls=3\nper="day"').digest == base
    others = [policy(one), policy(one, two, default="deny"), policy(one, 'rule: decision="ask" tool="c"'), Policy()]
    assert len({base, *(each.digest for each in others)}) == len(others) + 1


globs = st.sampled_from([None, "*", "a", "b*", "?", "g:a", "*:b", "[ab]"])
entries = st.builds(
    RuleEntry,
    decision=st.sampled_from(["allow", "ask", "deny"]),
    server=st.sampled_from([None, "*", "g", "h*"]),
    tool=globs,
    principal=st.sampled_from([None, "*", "p", "q?"]),
    risk=st.none()
    | st.sets(st.sampled_from(["none", "read", "write", "destructive", "unknown"]), min_size=1).map(tuple),
)
subjects = st.builds(
    lambda tool, server, risk, principal: subject(tool, server=server, risk=risk, principal=principal),
    st.sampled_from(["a", "b", "bb", "g:a"]),
    st.sampled_from(["g", "h1"]),
    st.sampled_from(RISKS),
    st.sampled_from(["p", "q1"]),
)
defaults = st.sampled_from(["by-risk", "allow", "ask", "deny"])
rule_lists = st.lists(entries, max_size=6)


def made(rules: list[RuleEntry], default: Any) -> Policy:
    return Policy(PolicyDocument(default=default, rule=tuple(rules)))


@pytest.mark.req("GW-8.3")
@given(rule_lists, entries, defaults, subjects)
@settings(max_examples=300, deadline=None)
def test_adding_a_rule_that_denies_never_loosens(
    rules: list[RuleEntry], more: RuleEntry, default: str, about: PolicySubject
) -> None:
    added = more.model_copy(update={"decision": "deny"})

    before, after = decision(made(rules, default), about), decision(made([*rules, added], default), about)

    assert STRICTNESS[after] >= STRICTNESS[before]


@pytest.mark.req("GW-8.3")
@given(rule_lists, st.randoms(), defaults, subjects)
@settings(max_examples=300, deadline=None)
def test_the_order_of_rules_does_not_matter(
    rules: list[RuleEntry], random: Any, default: str, about: PolicySubject
) -> None:
    shuffled = random.sample(rules, len(rules))

    assert decision(made(rules, default), about) == decision(made(shuffled, default), about)
    assert made(rules, default).digest == made(shuffled, default).digest


@pytest.mark.req("GW-8.3")
@given(rule_lists, defaults, subjects)
@settings(max_examples=300, deadline=None)
def test_what_a_server_that_is_not_trusted_says_of_its_tool_never_loosens(
    rules: list[RuleEntry], default: str, about: PolicySubject
) -> None:
    plain, hinted = (
        PolicySubject(
            server=about.server,
            tool=about.tool,
            tool_id=about.tool_id,
            risk=ToolRisk(destructive=destructive, external_network=destructive),
            principal=about.principal,
        )
        for destructive in (False, True)
    )
    judging = made(rules, default)

    assert STRICTNESS[decision(judging, hinted)] >= STRICTNESS[decision(judging, plain)]
