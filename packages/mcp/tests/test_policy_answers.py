"""Remembered answers: what they cover, what they never open, and that none is lost."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_cases import DESTROY, READ, UNKNOWN, WRITE, policy, subject

from toolcrib_core import ToolRisk
from toolcrib_mcp.config import GatewayConfig
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import (
    ANSWERS_FILE,
    Answer,
    AnswerFile,
    MemoryAnswers,
    Policy,
    PolicyDocument,
    PolicySource,
    PolicySubject,
    RuleEntry,
    SharedAnswers,
    answers_path,
    remember_answer,
    short_name,
)
from toolcrib_mcp.policy import answers as answers_module
from toolcrib_mcp.policy.risks import is_covered
from toolcrib_mcp.shared import SHARED_LINE, Notes
from toolcrib_runtime.testing import FakeClock
from toolcrib_store import open_store

pytestmark = pytest.mark.req("CL-19")

FLAG = ("Words that keep something from the user: `never tell the user` at `/description`.",)


def answer(decision: Any = "allow", **fields: Any) -> Answer:
    """An answer about the tool of `subject()`."""
    given = {"id": "K7Q", "principal": "local", "server": "github", "tool": "get_issue", "risk": "undeclared"}
    return Answer(**given | {"decision": decision} | fields)


def decided(about: PolicySubject, *answers: Answer, rules: Policy | None = None, client_asks: bool = False) -> str:
    joined = (rules or Policy()).answering(answers, client_asks=client_asks)
    return joined.judge(about).decision


# What is asked without an answer


@pytest.mark.parametrize(
    ("declared", "decision", "reason"),
    [
        ("read", "allow", "its server declares that it only reads"),
        ("write", "ask", "its server declares that it writes"),
        ("destructive", "ask", "it is declared destructive: it may delete or overwrite data"),
        ("nothing", "ask", "its server does not declare what it does"),
    ],
)
@pytest.mark.req("CL-21")
def test_what_a_server_declares_decides_only_that_reading_runs(declared: Any, decision: str, reason: str) -> None:
    risk = ToolRisk(destructive=declared == "destructive")

    judged = Policy().judge(subject(risk=risk, declared=declared))

    assert (judged.decision, judged.reason) == (decision, reason)
    assert judged.lasting is (decision == "ask")


@pytest.mark.parametrize("default", ["deny", "ask"])
def test_what_a_server_declares_loosens_no_default_of_the_operator(default: str) -> None:
    assert policy(default=default).judge(subject(risk=UNKNOWN, declared="read")).decision == default


@pytest.mark.parametrize("rule", ["deny", "ask"])
def test_what_a_server_declares_takes_it_out_of_no_rule_about_unknown_effects(rule: str) -> None:
    rules = policy(f'rule: decision="{rule}" risk="unknown"')

    assert rules.judge(subject(risk=UNKNOWN, declared="read")).decision == rule


def test_what_a_server_declares_brings_it_under_no_rule_that_allows_reading() -> None:
    rules = policy('rule: decision="allow" risk="read"', default="deny")

    assert rules.judge(subject(risk=UNKNOWN, declared="read")).decision == "deny"


@pytest.mark.req("CL-20")
def test_where_the_client_asks_the_default_asks_nothing_and_rules_flags_and_denials_hold() -> None:
    asks = policy('rule: decision="ask" tool="get_*"')

    assert decided(subject(risk=DESTROY), client_asks=True) == "allow"
    assert decided(subject(risk=UNKNOWN), client_asks=True) == "allow"
    assert decided(subject(risk=UNKNOWN, flags=FLAG), client_asks=True) == "ask"
    assert decided(subject(risk=ToolRisk(effects="read", requires_approval=True)), client_asks=True) == "ask"
    assert decided(subject(risk=UNKNOWN), rules=asks, client_asks=True) == "ask"
    assert decided(subject(risk=UNKNOWN), answer("deny"), client_asks=True) == "deny"
    assert decided(subject(risk=UNKNOWN), rules=policy(default="ask"), client_asks=True) == "ask"


# What the scan flags


def test_a_flagged_tool_is_asked_about_each_time_whatever_was_answered() -> None:
    about = subject(risk=UNKNOWN, declared="read", flags=FLAG)

    judged = Policy().answering((answer(), answer(tool=None)), client_asks=False).judge(about)

    assert (judged.decision, judged.rule, judged.lasting) == ("ask", "scan", False)
    assert judged.reason.startswith("the scan flags its description: Words that keep something from the user")


@pytest.mark.parametrize(
    ("rule", "decision"),
    [
        ('server="github"', "ask"),
        ('tool="get_*"', "ask"),
        ('tool="get_issue"', "allow"),
        ('server="github" tool="github:get_issue"', "allow"),
    ],
)
def test_a_rule_lifts_the_flag_of_a_tool_only_if_it_names_it(rule: str, decision: str) -> None:
    rules = policy(f'rule: decision="allow" {rule}')

    assert decided(subject(risk=READ, flags=FLAG), rules=rules) == decision


def test_a_policy_that_allows_by_default_asks_about_nothing() -> None:
    assert decided(subject(risk=UNKNOWN, flags=FLAG), rules=Policy.allowing()) == "allow"


# What an answer covers


@pytest.mark.parametrize(
    ("fields", "decision"),
    [
        ({}, "allow"),
        ({"tool": "put_issue"}, "ask"),
        ({"server": "gitlab"}, "ask"),
        ({"principal": "ann"}, "ask"),
        ({"definition": "other"}, "ask"),
        ({"risk": DESTROY}, "ask"),
    ],
    ids=str,
)
def test_an_answer_for_a_tool_covers_that_tool_for_that_principal_as_it_was(
    fields: dict[str, Any], decision: str
) -> None:
    about = subject(fields.pop("tool", "get_issue"), **{"risk": UNKNOWN, "definition": "d1", **fields})

    assert decided(about, answer(definition="d1")) == decision


@pytest.mark.parametrize(
    ("ceiling", "covered"),
    [
        ("write", ["write"]),
        ("undeclared", ["write", "undeclared"]),
        ("destructive", ["write", "undeclared", "destructive"]),
    ],
)
def test_an_answer_for_a_server_covers_no_tool_of_a_higher_risk(ceiling: Any, covered: list[str]) -> None:
    later = {
        "write": subject("later", risk=UNKNOWN, declared="write"),
        "undeclared": subject("later", risk=UNKNOWN),
        "destructive": subject("later", risk=ToolRisk(destructive=True)),
    }

    assert [name for name, about in later.items() if decided(about, answer(tool=None, risk=ceiling)) == "allow"] == (
        covered
    )


@pytest.mark.parametrize("rule", ['decision="allow" server="github"', 'decision="ask"', 'decision="allow"'])
def test_never_denies_whatever_else_is_said(rule: str) -> None:
    judged = policy(f"rule: {rule}").answering((answer("deny"),), client_asks=False).judge(subject(definition="new"))

    assert (judged.decision, judged.rule) == ("deny", "answer K7Q")
    assert judged.reason == "you answered never for this tool (answer K7Q)"


def test_a_rule_of_the_operator_that_asks_is_not_overruled_by_an_answer() -> None:
    rules = policy('rule: decision="ask" tool="get_*"').answering((answer(), answer(tool=None)), client_asks=False)

    judged = rules.judge(subject(risk=UNKNOWN))

    assert (judged.decision, judged.lasting) == ("ask", False)


def test_the_default_that_asks_about_everything_is_answered_once() -> None:
    assert decided(subject(risk=READ), answer(), rules=policy(default="ask")) == "allow"
    assert decided(subject(risk=READ), answer(), rules=policy(default="deny")) == "deny"


def test_answers_void_no_approval_that_waits() -> None:
    assert Policy().answering((answer(),), client_asks=False).digest == Policy().digest


risks = st.builds(
    ToolRisk,
    effects=st.sampled_from(["none", "read", "write", "unknown"]),
    destructive=st.booleans(),
    requires_approval=st.booleans(),
)
subjects = st.builds(
    lambda tool, risk, declared, flags, principal, definition: subject(
        tool, risk=risk, declared=declared, flags=flags, principal=principal, definition=definition
    ),
    st.sampled_from(["a", "b"]),
    risks,
    st.sampled_from(["nothing", "read", "write", "destructive"]),
    st.sampled_from([(), FLAG]),
    st.sampled_from(["local", "ann"]),
    st.sampled_from(["d1", "d2"]),
)
given_answers = st.lists(
    st.builds(
        lambda decision, tool, risk, principal, definition: answer(
            decision, tool=tool, risk=risk, principal=principal, definition=definition
        ),
        st.sampled_from(["allow", "deny"]),
        st.sampled_from([None, "a", "b"]),
        st.sampled_from(["read", "write", "undeclared", "destructive"]),
        st.sampled_from(["local", "ann"]),
        st.sampled_from(["d1", "d2"]),
    ),
    max_size=6,
)
rule_lists = st.lists(
    st.builds(
        RuleEntry,
        decision=st.sampled_from(["allow", "ask", "deny"]),
        tool=st.sampled_from([None, "a", "*"]),
        risk=st.sampled_from([None, ("read",), ("unknown",), ("write", "destructive")]),
    ),
    max_size=4,
)
defaults = st.sampled_from(["by-risk", "allow", "ask", "deny"])
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


@given(rule_lists, defaults, given_answers, subjects, st.booleans())
@settings(max_examples=400, deadline=None)
def test_whatever_the_file_denies_is_denied_and_whatever_its_rules_ask_about_is_asked(
    rules: list[RuleEntry],
    default: Any,
    answers: list[Answer],
    about: PolicySubject,
    client_asks: bool,  # noqa: FBT001  # hypothesis gives arguments by position
) -> None:
    plain = Policy(PolicyDocument(default=default, rule=tuple(rules)))
    joined = plain.answering(tuple(answers), client_asks=client_asks)
    of_rules = [rule.entry.decision for rule in plain.matching(about)]

    found = joined.judge(about).decision

    if plain.judge(about).decision == "deny":
        assert found == "deny"
    if "ask" in of_rules:
        assert STRICTNESS[found] >= STRICTNESS["ask"]


@given(defaults, given_answers, subjects)
@settings(max_examples=400, deadline=None)
def test_an_answer_opens_nothing_of_a_higher_risk_of_another_principal_or_that_is_flagged(
    default: Any, answers: list[Answer], about: PolicySubject
) -> None:
    plain = Policy(PolicyDocument(default=default))
    joined = plain.answering(tuple(answers), client_asks=False)

    if plain.judge(about).decision != "allow" and joined.judge(about).decision == "allow":
        opening = [each for each in joined.matching_answers(about) if each.decision == "allow"]
        assert opening
        assert all(is_covered(about.risk_class, each.risk) for each in opening)
        assert all(each.principal == about.principal for each in opening)
        assert not about.flags
        assert not about.risk.requires_approval
        assert all(each.tool is None or each.definition == about.definition for each in opening)


# Where they are kept


@pytest.fixture
def file(tmp_path: Path) -> AnswerFile:
    return AnswerFile(tmp_path / ANSWERS_FILE)


def test_an_answer_is_written_for_its_user_alone_and_read_back(file: AnswerFile) -> None:
    made = remember_answer(file, subject('say "hi"\x7f', risk=WRITE, definition="d1"), "allow", "tool", by="ann")

    text = file.path.read_text("utf-8")
    assert text.startswith("# Answers that were given when toolcrib asked")
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert AnswerFile(file.path).current() == (made,) == file.current()
    assert made.covers(subject('say "hi"\x7f', risk=WRITE, definition="d1"))


def test_a_later_answer_about_the_same_takes_the_place_of_the_earlier(file: AnswerFile) -> None:
    remember_answer(file, subject(risk=UNKNOWN), "allow", "tool", by="")
    last = remember_answer(file, subject(risk=UNKNOWN), "deny", "tool", by="")
    whole = remember_answer(file, subject(risk=UNKNOWN), "allow", "server", by="")

    assert file.current() == (last, whole)


def test_an_answer_that_another_process_gives_counts_at_once_and_so_does_its_removal(file: AnswerFile) -> None:
    source = PolicySource(answers=file, clock=FakeClock())
    about = subject(risk=UNKNOWN)
    before = source.current().judge(about).decision

    remember_answer(AnswerFile(file.path), about, "allow", "tool", by="")
    between = source.current().judge(about).decision
    file.path.unlink()

    assert [before, between, source.current().judge(about).decision] == ["ask", "allow", "ask"]


def test_of_many_who_answer_at_once_nobody_loses_an_answer(file: AnswerFile) -> None:
    def give(number: int) -> None:
        for each in range(5):
            remember_answer(AnswerFile(file.path), subject(f"t{number}-{each}", risk=UNKNOWN), "allow", "tool", by="")

    threads = [threading.Thread(target=give, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    known = file.current()
    assert len(known) == len({each.id for each in known}) == 30


@pytest.mark.parametrize("text", ["version = 1\n[[answer]]\n", "[[", "version = 2\n", 'version = 1\nmore = "x"\n'])
def test_a_file_that_cannot_be_used_keeps_the_gateway_from_starting_and_is_not_overwritten(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / ANSWERS_FILE
    known = AnswerFile(path)
    path.write_text(text, "utf-8")

    with pytest.raises(ConfigError, match="does not hold answers"):
        AnswerFile(path)
    with pytest.raises(ConfigError):
        remember_answer(known, subject(risk=UNKNOWN), "allow", "tool", by="")
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize("kind", ["writable", "folder", "large"])
def test_a_file_that_others_can_write_or_that_is_none_is_refused(
    file: AnswerFile, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "folder":
        file.path.mkdir()
    else:
        remember_answer(file, subject(risk=UNKNOWN), "allow", "tool", by="")
    if kind == "writable":
        file.path.chmod(0o620)
    if kind == "large":
        monkeypatch.setattr(answers_module, "_MAX_BYTES", 10)

    with pytest.raises(ConfigError):
        AnswerFile(file.path)


def test_a_file_that_cannot_be_opened_is_refused(file: AnswerFile) -> None:
    file.path.symlink_to(file.path.name)

    with pytest.raises(ConfigError, match="cannot be read"):
        AnswerFile(file.path)


def test_an_edit_that_cannot_be_used_changes_nothing(file: AnswerFile, caplog: pytest.LogCaptureFixture) -> None:
    source = PolicySource(answers=file)
    remember_answer(file, subject(risk=UNKNOWN), "deny", "tool", by="")
    before = source.current()
    file.path.write_text("[[", "utf-8")

    assert source.current().judge(subject(risk=UNKNOWN)).decision == "deny"
    assert source.current() is before
    assert caplog.text.count("the remembered answers cannot be read") == 1


def test_where_a_file_cannot_be_written_that_is_said(tmp_path: Path) -> None:
    known = AnswerFile(tmp_path / "nowhere" / ANSWERS_FILE)

    with pytest.raises(ConfigError, match="cannot be written"):
        remember_answer(known, subject(risk=UNKNOWN), "allow", "tool", by="")
    with pytest.raises(ConfigError, match="too long for a rule"):
        remember_answer(MemoryAnswers(), subject("t" * 2_000, risk=UNKNOWN), "allow", "tool", by="")


def test_answers_are_forgotten_by_what_they_are_about(file: AnswerFile) -> None:
    for each in (file, MemoryAnswers()):
        one = remember_answer(each, subject("a", risk=UNKNOWN), "allow", "tool", by="")
        other = remember_answer(each, subject("b", risk=UNKNOWN), "allow", "tool", by="")

        assert each.remove(lambda found, one=one: found == one) == (one,)  # type: ignore[misc]  # the default binds
        assert each.remove(lambda found: found.tool == "c") == ()
        assert each.current() == (other,)


def test_how_many_answers_there_are_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_module, "MAX_ANSWERS", 1)
    known = MemoryAnswers()
    remember_answer(known, subject("a", risk=UNKNOWN), "allow", "tool", by="")

    with pytest.raises(ConfigError, match="Too many answers"):
        remember_answer(known, subject("b", risk=UNKNOWN), "allow", "tool", by="")


def test_short_names_are_plain_to_read_and_never_taken() -> None:
    taken: set[str] = set()
    for _ in range(2_000):
        taken.add(short_name(taken))

    assert len(taken) == 2_000
    assert not any(set(each) & set("01OIL") or each.isdigit() for each in taken)
    assert max(map(len, taken)) == 3


def test_when_short_names_are_taken_longer_ones_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers_module, "_ALPHABET", "A")

    assert short_name(["AAA"]) == "AAAA"


async def test_replicas_share_their_answers_and_lose_none(tmp_path: Path) -> None:
    clock = FakeClock()
    with open_store(tmp_path / "shared.db", lines=[SHARED_LINE]) as store:
        here, there = (SharedAnswers(Notes(store, kind="answer"), clock=clock) for _ in range(2))
        source, about = PolicySource(answers=there, clock=clock), subject("a", risk=UNKNOWN)
        before = (await source.latest()).judge(about).decision

        first = remember_answer(here, about, "allow", "tool", by="ann")
        other = remember_answer(there, subject("b", risk=UNKNOWN), "deny", "tool", by="bob")
        again = remember_answer(here, about, "allow", "tool", by="ann")
        await clock.advance(2)

        assert before == "ask"
        assert first not in here.current()
        assert set(here.current()) == {again, other}
        assert (await source.latest()).judge(about).decision == "allow"
        assert there.remove(lambda each: each.decision == "allow") == (again,)
        await clock.advance(2)
        assert here.current() == (other,)


def test_the_file_lies_beside_the_configuration_or_in_its_state(tmp_path: Path) -> None:
    beside, state = tmp_path / "conf", tmp_path / "state"
    beside.mkdir()
    config = GatewayConfig(servers={}, path=beside / "mcp.json")

    assert answers_path(config, state) == beside / ANSWERS_FILE
    assert answers_path(GatewayConfig(servers={}), state) == state / ANSWERS_FILE
    assert answers_path(GatewayConfig(servers={}), None) is None


def test_beside_a_configuration_that_is_only_read_the_state_has_the_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The superuser, as whom tests may run, can write everywhere.
    monkeypatch.setattr(os, "access", lambda *_: False)

    found = answers_path(GatewayConfig(servers={}, path=tmp_path / "mcp.json"), tmp_path / "state")

    assert found == tmp_path / "state" / ANSWERS_FILE
