"""`toolcrib policy allow --read-only`: what says itself that it only reads is allowed by name, and nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolcrib_cli.app import app
from toolcrib_core import ResolutionError
from toolcrib_mcp.policy import POLICY_FILE, read_policy
from toolcrib_runtime.errors import ApprovalRequired

pytestmark = pytest.mark.req("GW-8.3")

SERVER = Path(__file__).with_name("hinting_server.py")
TOOLS: dict[str, Any] = {
    "look": {"readOnlyHint": True},
    "peek[1]": {"readOnlyHint": True},
    "both": {"readOnlyHint": True, "destructiveHint": True},
    "drop": {"destructiveHint": True},
    "quiet": {},
}


class Desk:
    """A folder with two servers that nobody trusts, and somebody who types commands about them."""

    def __init__(self, folder: Path) -> None:
        self.config, self.file, self.state = folder / "mcp.json", folder / POLICY_FILE, folder / "state"
        arguments = ["-I", "-S", str(SERVER), str(folder / "starts"), json.dumps(TOOLS)]
        entry = {"command": sys.executable, "args": arguments}
        self.config.write_text(json.dumps({"mcpServers": {"one": entry, "two": entry}}), "utf-8")

    def run(self, *words: str) -> Result:
        places = ["--config", str(self.config), "--state-dir", str(self.state)]
        return CliRunner().invoke(app, [*words, *places], catch_exceptions=False)

    def rules(self) -> list[tuple[str, str | None, str | None]]:
        """What was written."""
        return [(each.entry.decision, each.entry.server, each.entry.tool) for each in read_policy(self.file).rules]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_each_tool_that_says_it_only_reads_gets_a_rule_that_names_it(desk: Desk) -> None:
    result = desk.run("policy", "allow", "one", "--read-only")

    assert result.exit_code == 0
    assert desk.rules() == [("allow", "one", "look"), ("allow", "one", "peek[[]1]")]
    *allowed, said = result.output.splitlines()
    assert allowed == ["allowed: one:look", "allowed: one:peek[1]"]
    assert said.endswith(
        "2 rules more, for tools whose servers say that they only read. Still asked about: 3 other tools."
    )


def test_all_servers_are_meant_by_a_star_and_some_tools_by_a_pattern(desk: Desk) -> None:
    desk.run("policy", "allow", "*:lo*", "--read-only", "--reason", "looking is fine")

    assert desk.rules() == [("allow", "one", "look"), ("allow", "two", "look")]


def test_what_is_allowed_already_gets_no_second_rule(desk: Desk) -> None:
    desk.run("policy", "allow", "*", "--read-only")

    told = json.loads(desk.run("policy", "allow", "*", "--read-only", "--json").stdout)

    assert (told["rules"], told["asked"]) == ([], 6)


def test_it_goes_by_what_tools_say_and_not_by_a_risk(desk: Desk) -> None:
    result = desk.run("policy", "allow", "one", "--read-only", "--risk", "read")

    assert result.exit_code == 2
    assert not desk.file.exists()


def test_the_status_says_what_is_asked_about_and_how_to_be_asked_less(desk: Desk) -> None:
    before = desk.run("status").output
    desk.run("policy", "allow", "*", "--read-only")
    after = desk.run("status").output
    told = json.loads(desk.run("status", "--json").stdout)
    checks = {each["name"]: each for each in json.loads(desk.run("doctor", "--json").stdout)["checks"]}

    assert "10 tools are asked about before each call." in before
    assert "toolcrib policy allow '*' --read-only" in before
    assert "6 tools are asked about before each call." in after
    assert "--read-only" not in after
    assert told["askedAbout"] == {"one": 3, "two": 3}
    assert checks["policy"]["said"] == "6 tools are asked about before each call"


def test_where_nobody_can_be_asked_a_call_names_the_commands_that_allow_it(desk: Desk) -> None:
    with pytest.raises(ApprovalRequired) as caught:
        desk.run("call", "one:look")

    hint, where = str(caught.value.hint), f"--config {desk.config}"
    assert "you cannot" not in hint
    assert f"`toolcrib approvals grant {caught.value.details['approvalId']} {where}`" in hint
    assert "add `--yes`" in hint
    assert f"`toolcrib policy explain one:look {where}`" in hint


def test_a_name_that_is_mistyped_is_answered_with_the_nearest(desk: Desk) -> None:
    with pytest.raises(ResolutionError) as near:
        desk.run("call", "one:lok")
    with pytest.raises(ResolutionError) as far:
        desk.run("call", "xyzzy")

    assert near.value.hint == "Did you mean `one:look`?"
    assert far.value.hint == "Find it with `toolcrib search`."
