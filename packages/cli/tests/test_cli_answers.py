"""Answers for good on the command line: given, shown and taken back; and tool files, which have one gate."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolcrib_cli.app import app
from toolcrib_cli.toolpack.beginning import run_new
from toolcrib_core import ResolutionError
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import ANSWERS_FILE, AnswerFile
from toolcrib_runtime.errors import ApprovalRequired, NotPermitted

SERVER = Path(__file__).with_name("answering_server.py")
TOOLS: dict[str, Any] = {
    "look": {"readOnlyHint": True},
    "save": {"readOnlyHint": False, "destructiveHint": False},
    "drop": {"destructiveHint": True},
    "quiet": {},
}


class Desk:
    """A folder with a server, and a person who types commands about it."""

    def __init__(self, folder: Path) -> None:
        self.config, self.state = folder / "mcp.json", folder / "state"
        self.answers = folder / ANSWERS_FILE
        arguments = ["-I", "-S", str(SERVER), json.dumps(TOOLS)]
        entry = {"command": sys.executable, "args": arguments}
        self.config.write_text(json.dumps({"mcpServers": {"box": entry}}), "utf-8")

    def run(self, *words: str, **options: Any) -> Result:
        places = ["--config", str(self.config), "--state-dir", str(self.state)]
        return CliRunner().invoke(app, [*words, *places], catch_exceptions=False, **options)

    def waiting(self, tool: str) -> ApprovalRequired:
        """The error of a call that waits."""
        with pytest.raises(ApprovalRequired) as caught:
            self.run("call", tool)
        return caught.value

    def name(self, tool: str) -> str:
        """The short id of a call that waits."""
        return str(self.waiting(tool).details["approvalId"])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.req("CL-19", "CL-20")
def test_a_grant_for_good_is_remembered_shown_explained_and_taken_back(desk: Desk) -> None:
    name = desk.name("box:save")

    granted = desk.run("approvals", "grant", name.lower(), "--always", "--yes")
    ran = [desk.run("call", "box:save").exit_code for _ in range(2)]
    (answer,) = AnswerFile(desk.answers).current()
    shown = desk.run("policy", "show")
    explained = json.loads(desk.run("policy", "explain", "box:save", "--json").stdout)
    forgotten = desk.run("policy", "forget", answer.id.lower())

    assert f"To take that back: toolcrib policy forget {answer.id}" in granted.stdout
    assert ran == [0, 0]
    words = f"answer {answer.id}: allow server=box tool=save principal=local, up to risk write"
    assert words in shown.stdout.splitlines()
    assert (explained["decision"], explained["rule"]) == ("allow", f"answer {answer.id}")
    assert explained["changes"][0] == f"toolcrib policy forget {answer.id}"
    assert forgotten.stdout == f"forgotten: {words}\n"
    desk.waiting("box:save")


@pytest.mark.req("CL-19")
def test_an_answer_for_the_server_runs_what_is_no_riskier(desk: Desk) -> None:
    told = json.loads(desk.run("approvals", "grant", desk.name("box:quiet"), "--server", "--yes", "--json").stdout)

    assert desk.run("call", "box:save").exit_code == 0
    desk.waiting("box:drop")
    everything = json.loads(desk.run("policy", "show", "--json").stdout)["answers"]
    assert [(each["id"], each["risk"]) for each in everything] == [(told["remembered"], "undeclared")]
    assert json.loads(desk.run("policy", "forget", "box", "--json").stdout)["forgotten"] == everything
    assert desk.run("policy", "forget", "--all").stdout == "No answers are remembered.\n"


@pytest.mark.req("CL-19")
def test_never_is_remembered_until_it_is_taken_back(desk: Desk) -> None:
    denied = desk.run("approvals", "deny", desk.name("box:drop"), "--never")
    (answer,) = AnswerFile(desk.answers).current()

    assert denied.stdout.endswith(f"is never run. To take that back: toolcrib policy forget {answer.id}\n")
    desk.run("policy", "allow", "box")
    with pytest.raises(NotPermitted, match="you answered never for this tool"):
        desk.run("call", "box:drop", "--yes")
    desk.run("policy", "forget", "box:drop")
    assert desk.run("call", "box:drop").exit_code == 0


@pytest.mark.req("CL-19")
def test_what_a_rule_asks_about_cannot_be_answered_for_good(desk: Desk) -> None:
    desk.run("policy", "ask", "box")
    name = desk.name("box:look")

    with pytest.raises(ConfigError, match="This is asked each time: rule 1"):
        desk.run("approvals", "grant", name, "--always", "--yes")
    assert desk.run("approvals", "grant", name, "--yes").exit_code == 0
    assert not desk.answers.exists()


@pytest.mark.req("CL-20")
def test_a_call_without_a_session_is_not_granted_for_one_and_one_answer_is_enough(desk: Desk) -> None:
    name = desk.name("box:save")

    with pytest.raises(ConfigError, match="The client has no session"):
        desk.run("approvals", "grant", name, "--session", "--yes")
    assert desk.run("approvals", "grant", name, "--always", "--server").exit_code == 2


def test_an_answer_that_there_is_not_cannot_be_forgotten(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="No remembered answer is called `K7Q`"):
        desk.run("policy", "forget", "K7Q")
    with pytest.raises(ConfigError, match="Name an answer"):
        desk.run("policy", "forget")


@pytest.mark.req("CL-19", "CL-21")
def test_the_status_says_how_many_tools_need_an_approval(desk: Desk) -> None:
    before = desk.run("status").output
    desk.run("approvals", "grant", desk.name("box:save"), "--always", "--yes")
    after = desk.run("status").output
    checks = {each["name"]: each for each in json.loads(desk.run("doctor", "--json").stdout)["checks"]}

    assert "3 tools need your approval; the answer can be remembered." in before
    assert "toolcrib policy allow SERVER" in before
    assert "2 tools need your approval; the answer can be remembered." in after
    assert "toolcrib policy allow SERVER" not in after
    assert checks["policy"]["said"] == "2 tools need your approval; the answer can be remembered"


def test_without_a_terminal_a_call_names_the_commands_that_allow_it(desk: Desk) -> None:
    error = desk.waiting("box:quiet")

    hint, where = str(error.hint), f"--config {desk.config} --state-dir {desk.config.parent / 'state'}"
    assert "you cannot" not in hint
    assert f"`toolcrib approvals grant {error.details['approvalId']} {where}`" in hint
    assert "add `--yes`" in hint
    assert f"`toolcrib policy explain box:quiet {where}`" in hint


def test_a_name_that_is_mistyped_is_answered_with_the_nearest(desk: Desk) -> None:
    with pytest.raises(ResolutionError) as near:
        desk.run("call", "box:lok")
    with pytest.raises(ResolutionError):
        desk.run("call", "xyzzy")

    assert near.value.hint == "Did you mean `box:look`?"


# Tool files


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    folder = tmp_path / "packs"
    run_new("python", "text.greet", folder=folder, url="https://example.com/", force=False)
    file = folder / "greet.tool.yaml"
    risk = "  effects: write\n  destructive: true\n  requiresApproval: true\n"
    file.write_text(file.read_text("utf-8").replace("  effects: none\n  idempotent: true\n", risk), "utf-8")
    return folder


@pytest.mark.req("CT-1", "CL-21")
def test_a_call_of_a_tool_file_that_was_approved_runs_once(packs: Path, tmp_path: Path) -> None:
    places = ["--toolpacks", str(packs), "--state-dir", str(tmp_path / "state")]

    def run(*words: str) -> Result:
        return CliRunner().invoke(app, [*words, *places], catch_exceptions=False)

    with pytest.raises(ApprovalRequired) as caught:
        run("call", "text__greet", "name=Ada")
    command = shlex.split(str(caught.value.hint).split("`")[1])
    granted = CliRunner().invoke(app, [*command[1:], "--yes"], catch_exceptions=False)
    ran = run("call", "text__greet", "name=Ada")
    with pytest.raises(ApprovalRequired):
        run("call", "text__greet", "name=Ada")
    at_once = run("call", "text__greet", "name=Bob", "--yes")

    assert "it is marked as requiring approval for each call" in caught.value.message
    assert granted.exit_code == 0
    assert json.loads(ran.stdout) == {"greeting": "Hello, Ada!"}
    assert json.loads(at_once.stdout) == {"greeting": "Hello, Bob!"}


class Typed(io.StringIO):
    """What a person types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.req("CT-1")
def test_a_tool_file_that_needs_an_approval_runs_when_it_is_given_beforehand(packs: Path) -> None:
    command = ["toolpack", "run", "text.greet", "name=Ada", "--dir", str(packs)]

    ran = CliRunner().invoke(app, [*command, "--yes"], catch_exceptions=False)
    with pytest.raises(ApprovalRequired) as caught:
        CliRunner().invoke(app, command, catch_exceptions=False)

    assert json.loads(ran.stdout) == {"greeting": "Hello, Ada!"}
    assert caught.value.hint == "Nothing was run. Add `--yes` to allow this call."


@pytest.mark.req("CT-1")
@pytest.mark.parametrize("typed", ["y\n", "n\n"], ids=["yes", "no"])
def test_a_tool_file_that_needs_an_approval_is_asked_about_at_the_terminal(
    packs: Path, typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from toolcrib_cli.toolpack.grants import Grants
    from toolcrib_cli.toolpack.running import run_once

    monkeypatch.setattr(sys, "stdin", Typed(typed))

    refused = "is run"
    try:
        run_once("text.greet", ["name=Ada"], None, folders=[packs], grants=Grants(), yes=False, as_json=False)
    except ApprovalRequired as error:
        refused = error.message

    out, err = capsys.readouterr()
    assert "Why you are asked: it may delete or overwrite data" in err
    assert ("Hello, Ada!" in out) is (typed == "y\n")
    assert refused == ("is run" if typed == "y\n" else "`text:greet` was not run, since you did not allow it.")
