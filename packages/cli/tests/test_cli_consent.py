"""Whoever types a call is asked about it, and what is decided at the command line is written down."""

from __future__ import annotations

import io
import sys

import pytest

from toolcrib_cli.asking import Choice
from toolcrib_cli.consent import request_of_this_person
from toolcrib_cli.decisions import note_decisions
from toolcrib_mcp.audit import AuditEvent
from toolcrib_mcp.front.confirming import ELICIT, can_be_asked
from toolcrib_mcp.rpc import RpcError

LABELS = ["once", "always for this tool", "always for this server", "no", "never"]
QUESTION = {
    "message": "Run it on the server?\nWhy you are asked: its server does not declare what it does.",
    "requestedSchema": {"type": "object", "properties": {"answer": {"type": "string", "enum": LABELS}}},
}


@pytest.mark.req("GW-8.4", "CL-20")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [("1\n", "once"), ("2\n", "always for this tool"), ("\n", "no"), ("never\n", "never"), ("what\n4\n", "no")],
)
async def test_the_person_at_the_terminal_makes_one_choice(monkeypatch, capsys, typed, answer):
    stopped = []
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    request = request_of_this_person(yes=False, before_asking=lambda: stopped.append(1))

    decided = await request.channel.ask(ELICIT, QUESTION, timeout=None)
    await request.channel.notify("notifications/message", {})

    assert can_be_asked(request.caller)
    assert decided == {"action": "accept", "content": {"answer": answer}}
    assert stopped == [1]
    shown = capsys.readouterr().err.splitlines()
    assert shown[:4] == [
        "Run it on the server?",
        "Why you are asked: its server does not declare what it does.",
        "  1  once",
        "  2  always for this tool",
    ]


@pytest.mark.req("GW-8.4")
async def test_who_said_yes_beforehand_is_not_asked(capsys):
    request = request_of_this_person(yes=True, before_asking=lambda: None)

    decided = await request.channel.ask(ELICIT, QUESTION, timeout=None)

    assert decided == {"action": "accept", "content": {"answer": "once"}}
    assert capsys.readouterr().err == ""


async def test_questions_of_servers_are_not_answered_by_whoever_types_a_call():
    request = request_of_this_person(yes=True, before_asking=lambda: None)

    with pytest.raises(RpcError):
        await request.channel.ask("sampling/createMessage", {}, timeout=None)


def test_without_a_terminal_nobody_can_be_asked(monkeypatch):
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)

    assert not can_be_asked(request_of_this_person(yes=False, before_asking=lambda: None).caller)


@pytest.mark.req("GW-8.4", "GW-8.6")
async def test_a_call_waits_is_granted_runs_once_and_all_of_it_is_in_the_audit(workshop):
    workshop.write(one=workshop.server("echo"))
    workshop.permit('default = "ask"')

    async def in_group(group: str, *words: str):
        return await workshop.run_raw(*workshop.command(group)[:4], *words, *workshop.command(group)[4:])

    refused = await workshop.run("call", "echo", "nonce=n1", "--json")
    waiting = (await in_group("approvals", "list", "--json")).json()
    (question,) = waiting["approvals"] if "approvals" in waiting else waiting["questions"]
    granted = await in_group("approvals", "grant", question["id"], "--yes")
    ran = await workshop.run("call", "echo", "nonce=n1")
    again = await workshop.run("call", "echo", "nonce=n1")
    records = (await in_group("audit", "tail", "--json", "-n", "50")).out
    verified = await in_group("audit", "verify")

    assert (refused.code, granted.code, ran.code, again.code, verified.code) == (1, 0, 0, 1, 0)
    assert "n1" in ran.out
    assert '"approval"' in records
    assert records.count("APPROVAL_REQUIRED") == 2


def test_a_decision_that_cannot_be_written_down_is_told_of(tmp_path, capsys):
    config, state = tmp_path / "mcp.json", tmp_path / "state"
    config.write_text('{"mcpServers": {"a": {"command": "true"}}}', encoding="utf-8")
    choice = Choice(config=config, state_dir=state)
    note_decisions(choice, [AuditEvent(kind="policy")])
    assert not state.exists()

    from toolcrib_cli.state_directory import state_of

    directory = state_of(config, state)
    directory.mkdir(parents=True)
    (directory / "artifacts.db").write_bytes(b"no database at all")
    note_decisions(choice, [AuditEvent(kind="policy")])

    assert "The decision is not in the audit" in capsys.readouterr().err
