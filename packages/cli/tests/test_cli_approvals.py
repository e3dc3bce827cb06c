"""`toolcrib approvals`: a person sees what waits, looks at exactly what would run, and decides."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from toolcrib_cli.app import app
from toolcrib_cli.approvals.arguments import argument_lines, is_cut
from toolcrib_cli.approvals.deciding import _ask
from toolcrib_cli.decisions import this_person
from toolcrib_cli.state_directory import remember_config, remembered_configs, state_of
from toolcrib_mcp.approvals import APPROVALS_LINE, ApprovalBook, CallFacts, KeptQuestion, state_key
from toolcrib_mcp.errors import ApprovalNotFound, ConfigError
from toolcrib_runtime.errors import ApprovalRefused
from toolcrib_runtime.policy.approvals import ApprovalSubject
from toolcrib_store import Store, TurnableClock, open_store

CONFIG = '{"mcpServers": {"files": {"command": "true"}}}'
ARGUMENTS: dict[str, Any] = {"path": "/srv/old", "deep": [1, {"really": True}]}


class Served:
    """A state directory, as whoever serves the configuration leaves it."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "mcp.json"
        self.config.write_text(CONFIG, encoding="utf-8")
        self.root = folder / "state"
        self.state = state_of(self.config, self.root)
        self.state.mkdir(parents=True)
        self.store: Store = open_store(self.state / "artifacts.db", lines=[APPROVALS_LINE])
        self.book = ApprovalBook(self.store, state_key(self.state))

    @property
    def options(self) -> list[str]:
        return ["--config", str(self.config), "--state-dir", str(self.root)]

    def keep(self, arguments: dict[str, Any] | None = None, *, principal: str = "ann", **facts: Any) -> KeptQuestion:
        """A call that waits."""
        known: dict[str, Any] = {
            "tool_id": "files:delete#12345678",
            "server": "files",
            "upstream_name": "delete",
            "title": "Delete a folder",
            "description": "Deletes a folder and all in it.",
            "risk": {"effects": "write", "destructive": True, "idempotent": False},
            "principal": principal,
            "client": "desktop",
            "arguments": ARGUMENTS if arguments is None else arguments,
        }
        subject = ApprovalSubject("files:delete", "0" * 64, os.urandom(32).hex(), principal, None, "p1")
        kept = self.book.keep(subject, CallFacts(**known | facts), reason="it destroys", summary="s")
        assert isinstance(kept, KeptQuestion)
        return kept

    def run(self, *words: str) -> Result:
        return CliRunner().invoke(app, ["approvals", *words, *self.options], catch_exceptions=False)

    def on_terminal(self, *words: str, typed: str) -> tuple[int, str]:
        """Run a command for somebody who sits at a terminal."""
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "toolcrib_cli", "approvals", *words, *self.options]
        os.write(ours, f"{typed}\n".encode())
        ended = subprocess.run(command, stdin=theirs, capture_output=True, timeout=120, check=False)
        os.close(theirs)
        os.close(ours)
        return ended.returncode, ended.stdout.decode() + ended.stderr.decode()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    opened = Served(tmp_path)
    yield opened
    opened.store.close()


@pytest.mark.req("GW-8.4")
def test_the_list_says_what_waits_for_whom_and_how_long(served: Served) -> None:
    kept = served.keep()

    lines = served.run("list").output.splitlines()

    assert lines == [
        f"{kept.name}  waiting, 60 minutes left",
        "  files:delete#12345678 for ann, through desktop: it destroys",
    ]


def test_where_nothing_waits_the_list_says_so(served: Served, tmp_path: Path) -> None:
    assert served.run("list").output == "No call waits for an approval.\n"
    assert json.loads(served.run("list", "--json").output) == {"approvals": []}


def test_where_nothing_was_served_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(CONFIG, encoding="utf-8")
    options = ["--config", str(tmp_path / "mcp.json"), "--state-dir", str(tmp_path / "state")]

    result = CliRunner().invoke(app, ["approvals", "list", *options], catch_exceptions=False)

    assert result.output == "No call waits for an approval.\n"
    assert not (tmp_path / "state").exists()
    with pytest.raises(ApprovalNotFound, match="nothing was served"):
        CliRunner().invoke(app, ["approvals", "show", "apr_1", *options], catch_exceptions=False)


def test_the_list_as_json_has_no_arguments_and_no_approval(served: Served) -> None:
    granted, waiting = served.keep({"path": "canary"}), served.keep()
    served.book.grant(granted.id, by="x")

    result = served.run("list", "--json")

    every = json.loads(result.output)["approvals"]
    assert [(each["id"], each["state"]) for each in every] == [(granted.id, "granted"), (waiting.id, "waiting")]
    assert every[0]["decidedBy"] == "x"
    assert "canary" not in result.output
    assert "tcap1" not in result.output


@pytest.mark.req("GW-8.5")
def test_the_calls_of_others_can_be_left_out(served: Served) -> None:
    anns, bobs = served.keep(), served.keep(principal="bob")

    assert [each["id"] for each in json.loads(served.run("list", "--json", "--principal", "ann").output)["approvals"]]
    assert bobs.name not in served.run("list", "--principal", "ann").output
    assert anns.name in served.run("list", "--principal", "ann").output
    for command in (["show"], ["grant", "--yes"], ["deny"]):
        with pytest.raises(ApprovalNotFound):
            served.run(*command, bobs.id, "--principal", "ann")


@pytest.mark.req("GW-8.4")
def test_what_is_shown_is_exactly_what_would_run(served: Served) -> None:
    kept = served.keep()

    output = served.run("show", kept.id).output

    assert output.splitlines() == [
        f"{kept.name}  waiting, 60 minutes left",
        "  Tool:       files:delete#12345678 (Delete a folder)",
        "  Server:     files, where its name is delete",
        "  Caller:     ann, through desktop",
        "  Reason:     it destroys",
        "  Risk:       destructive",
        "  It says:    Deletes a folder and all in it.",
        "  Arguments:",
        *(f"    {line}" for line in json.dumps(ARGUMENTS, indent=2).splitlines()),
    ]


def test_what_is_not_drawn_is_shown_as_an_escape(served: Served) -> None:
    hidden = {"path": "a\u202eb\u200b\ufe0f\u3164\x1b[2J", "na\u200dme": 1}
    kept = served.keep(hidden, description="Safe.\u200b\x1b[31m\nReally.", upstream_name="de\u200blete", client="")

    output = served.run("show", kept.id, "--full").output

    assert output.replace("\n", "").isprintable()
    assert "\ufe0f" not in output
    for shown in (
        r"a\u202eb\u200b\ufe0f\u3164\u001b[2J",
        r"na\u200dme",
        r"Safe.\u200b\x1b[31m\nReally.",
        r"de\u200blete",
    ):
        assert shown in output
    assert "Caller:     ann\n" in output


def test_long_values_are_cut_with_their_length_unless_all_is_asked_for(served: Served) -> None:
    long = {"text": "x" * 1_000, "items": list(range(60)), "nested": {"text": "y" * 301}}
    kept = served.keep(long, description="z" * 900, title="")

    cut, full = served.run("show", kept.id).output, served.run("show", kept.id, "--full").output

    for shown in ("… (700 more characters)", "… (10 more items)", "… (1 more character)", "… (400 more characters)"):
        assert shown in cut
        assert shown not in full
    assert "`--full` shows all" in cut
    assert "x" * 1_000 in full
    assert "z" * 900 in full


def test_many_lines_are_cut_and_names_never() -> None:
    alike = {f"{'n' * 400}{number}": number for number in range(300)}

    lines = argument_lines(alike, full=False)

    assert len(lines) == 201
    assert lines[-1] == "… (102 more lines)"
    assert len(argument_lines(alike, full=True)) == 302
    assert is_cut(alike)
    assert not is_cut({"a": None})


def test_a_call_without_arguments_or_description_says_so(served: Served) -> None:
    output = served.run("show", served.keep({}, description="").id).output

    assert output.endswith("  Arguments:  none\n")
    assert "It says" not in output


def test_what_would_run_as_json_is_whole(served: Served) -> None:
    kept = served.keep({"text": "x" * 1_000})

    shown = json.loads(served.run("show", kept.id, "--json").output)

    assert shown["call"]["arguments"] == {"text": "x" * 1_000}
    assert shown["call"]["upstreamName"] == "delete"
    assert shown["call"]["risk"]["destructive"] is True
    assert (shown["id"], shown["principal"], shown["state"]) == (kept.id, "ann", "waiting")


def test_what_was_to_run_is_not_shown_once_it_is_decided(served: Served) -> None:
    kept = served.keep()
    served.book.deny(kept.id, by="x")

    assert "kept only until the call is decided" in served.run("show", kept.id).output
    assert json.loads(served.run("show", kept.id, "--json").output)["call"] is None


@pytest.mark.req("GW-8.4")
def test_a_grant_shows_the_call_and_is_noted_with_who_gave_it(served: Served) -> None:
    kept = served.keep()

    result = served.run("grant", kept.id, "--yes")

    assert '"path": "/srv/old"' in result.output
    assert result.output.endswith("make the same call again.\n")
    decided = served.book.question(kept.id)
    assert decided.state == "granted"
    assert str(decided.decided_by).endswith("at the command line")


def test_a_grant_as_json_has_the_approval(served: Served) -> None:
    kept = served.keep()

    granted = json.loads(served.run("grant", kept.id, "--yes", "--json").output)

    assert granted["state"] == "granted"
    assert granted["approval"] == served.book.question(kept.id).token


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_without_anybody_to_ask_nothing_is_granted(served: Served, options: list[str]) -> None:
    kept = served.keep()

    with pytest.raises(ConfigError, match="no terminal to ask at"):
        served.run("grant", kept.id, *options)

    assert served.book.question(kept.id).state == "waiting"


@pytest.mark.parametrize(("typed", "code", "state"), [("y", 0, "granted"), ("n", 1, "waiting"), ("", 1, "waiting")])
def test_somebody_at_a_terminal_sees_the_call_and_is_asked(served: Served, typed: str, code: int, state: str) -> None:
    kept = served.keep()

    ended, output = served.on_terminal("grant", kept.id, typed=typed)

    assert ended == code
    assert output.index('"path": "/srv/old"') < output.index("Allow this call, once?")
    assert served.book.question(kept.id).state == state


class Typed(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("typed", ["n\n", "\n"])
def test_whatever_is_no_clear_yes_decides_nothing(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Typed(typed))

    with pytest.raises(typer.Exit) as caught:
        _ask(None, as_json=False)

    assert caught.value.exit_code == 1


def test_a_clear_yes_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Typed("y\n"))

    _ask(None, as_json=False)


@pytest.mark.fault("K16")
def test_a_grant_that_was_not_used_is_taken_back_by_a_denial(served: Served) -> None:
    kept = served.keep()
    served.run("grant", kept.id, "--yes")

    with pytest.raises(ConfigError, match="granted before"):
        served.run("deny", kept.id, "--never")
    assert served.book.question(kept.id).state == "granted"
    assert "is refused" in served.run("deny", kept.id).output
    assert served.book.question(kept.id).state == "denied"


@pytest.mark.req("GW-8.4")
def test_a_denial_is_remembered(served: Served) -> None:
    kept, other = served.keep(), served.keep()

    assert "is refused" in served.run("deny", kept.id).output
    assert json.loads(served.run("deny", other.id, "--json").output)["state"] == "denied"
    with pytest.raises(ApprovalRefused, match="denied already"):
        served.run("grant", kept.id, "--yes")


@pytest.mark.parametrize("command", [["show"], ["grant", "--yes"], ["deny"]])
def test_an_id_that_does_not_wait_is_not_found(served: Served, command: list[str]) -> None:
    served.keep()

    with pytest.raises(ApprovalNotFound):
        served.run(*command, "apr_guessed")


def test_a_call_whose_time_is_over_is_not_found(tmp_path: Path) -> None:
    served = Served(tmp_path)
    served.store.close()
    with open_store(served.state / "artifacts.db", clock=TurnableClock(1_000.0)) as early:
        served.book = ApprovalBook(early, state_key(served.state))
        kept = served.keep()

    with pytest.raises(ApprovalNotFound):
        served.run("grant", kept.id, "--yes")


def test_somebody_whom_the_machine_has_no_name_for_is_somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise OSError("no name")

    monkeypatch.setattr("getpass.getuser", nameless)

    assert this_person() == "somebody at the command line"


def test_a_failure_is_two_lines_and_no_traceback(served: Served) -> None:
    command = [sys.executable, "-m", "toolcrib_cli", "approvals", "grant", "apr_x", "--yes", *served.options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert ended.returncode == 1
    assert [line.split(":")[0] for line in ended.stderr.splitlines()] == ["error", "hint"]


@pytest.mark.req("GW-8.4")
def test_a_call_is_found_from_a_folder_without_a_configuration(served: Served, tmp_path, monkeypatch) -> None:
    kept = served.keep()
    remember_config(served.state, served.config)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    state = ["--state-dir", str(served.root)]

    listed = CliRunner().invoke(app, ["approvals", "list", *state])
    granted = CliRunner().invoke(app, ["approvals", "grant", kept.id, "--yes", *state])

    assert f"More calls wait: toolcrib approvals list --config {served.config}" in listed.stderr
    assert f"The call is for {served.config}." in granted.stderr
    assert served.book.question(kept.id).state == "granted"


@pytest.mark.req("GW-8.4")
def test_an_id_that_is_nowhere_is_not_found_elsewhere_either(served: Served, tmp_path, monkeypatch) -> None:
    served.keep()
    remember_config(served.state, served.config)
    monkeypatch.chdir(tmp_path.parent)

    with pytest.raises(ApprovalNotFound):
        CliRunner().invoke(app, ["approvals", "show", "apr_0", "--state-dir", str(served.root)], catch_exceptions=False)


def test_a_configuration_that_is_gone_is_not_remembered(tmp_path) -> None:
    (tmp_path / "one").mkdir()
    remember_config(tmp_path / "one", tmp_path / "gone.json")

    assert remembered_configs(tmp_path) == []
    assert remembered_configs(tmp_path / "nowhere") == []
