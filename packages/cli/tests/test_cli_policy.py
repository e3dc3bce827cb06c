"""`toolcrib policy`: shown, explained, checked, and added to, as whoever looks after the gateway does it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from toolcrib_cli.app import app
from toolcrib_cli.policy.showing import DEFAULTS
from toolcrib_core import ResolutionError
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.policy import POLICY_FILE, read_policy

pytestmark = pytest.mark.req("GW-8.3")

SERVER = Path(__file__).with_name("hinting_server.py")
TOOLS: dict[str, Any] = {"look": {"readOnlyHint": True}, "drop": {"destructiveHint": True}, "do[it]": {}}


class Office:
    """A folder with a configuration and perhaps a policy, and somebody who types commands about it."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "mcp.json"
        self.file = folder / POLICY_FILE
        self.state = folder / "state"
        self.starts = folder / "starts"
        self.configure()

    def configure(self, *, settings: dict[str, Any] | None = None, **servers: dict[str, Any]) -> None:
        """Put the server `My Box` into the configuration, with settings for it, and further servers."""
        arguments = ["-I", "-S", str(SERVER), str(self.starts), json.dumps(TOOLS)]
        entries = {"My Box": {"command": sys.executable, "args": arguments}, **servers}
        ours = {"servers": {"My Box": {"namespace": "box", **(settings or {})}}}
        self.config.write_text(json.dumps({"mcpServers": entries, "toolcrib": ours}), "utf-8")

    def write(self, text: str) -> None:
        self.file.write_text(text, "utf-8")

    def run(self, command: str, *words: str, **options: Any) -> Result:
        places = ["--config", str(self.config), "--state-dir", str(self.state)]
        return CliRunner().invoke(app, ["policy", command, *words, *places], catch_exceptions=False, **options)

    def json(self, command: str, *words: str) -> dict[str, Any]:
        result = self.run(command, *words, "--json")
        told: dict[str, Any] = json.loads(result.stdout)
        return told

    def explain(self, tool: str, *words: str) -> dict[str, Any]:
        return self.json("explain", tool, *words)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


RULES = """\
default = "ask"

[[rule]]
decision = "deny"
server = "My*"
tool = "drop"
risk = ["destructive", "unknown"]
principal = "ci-*"
reason = "Not from CI."

[[rule]]
decision = "allow"

[[limit]]
calls = 60
per = "minute"
server = "*"
each = ["principal", "tool"]

[[budget]]
calls = 1
per = "day"
each = []
"""


def test_without_a_file_the_default_is_shown(office: Office) -> None:
    result = office.run("show")

    assert result.output.splitlines() == [
        "There is no policy file.",
        DEFAULTS["by-risk"],
    ]


def test_rules_limits_and_budgets_are_shown_in_their_order(office: Office) -> None:
    office.write(RULES)

    result = office.run("show")

    assert result.output.splitlines() == [
        str(office.file),
        "rule 1 (line 3): deny server=My* tool=drop risk=destructive|unknown principal=ci-*",
        "    Not from CI.",
        "rule 2 (line 11): allow everything",
        "limit 1 (line 14): 60 calls per minute server=*, for each principal and tool",
        "budget 1 (line 20): 1 call per day, for all together",
        DEFAULTS["ask"],
    ]


def test_programs_are_shown_the_same(office: Office) -> None:
    office.write(RULES)

    told = office.json("show")

    assert told.pop("digest") == read_policy(office.file).digest
    assert told["file"] == str(office.file)
    assert told["rules"] == [
        {
            "number": 1,
            "line": 3,
            "server": "My*",
            "tool": "drop",
            "principal": "ci-*",
            "decision": "deny",
            "risk": ["destructive", "unknown"],
            "reason": "Not from CI.",
        },
        {"number": 2, "line": 11, "decision": "allow"},
    ]
    assert [each["name"] for each in (*told["limits"], *told["budgets"])] == ["limit 1 (line 14)", "budget 1 (line 20)"]
    assert (told["default"], office.json("show")["default"]) == ("ask", "ask")


def test_the_demo_has_no_file_and_programs_are_told_so(office: Office) -> None:
    result = CliRunner().invoke(app, ["policy", "show", "--demo", "--state-dir", str(office.state), "--json"])

    assert json.loads(result.stdout)["file"] is None


def test_on_a_terminal_it_says_what_to_do_next(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")

    result = office.run("show")

    assert "toolcrib policy deny SERVER:TOOL" in result.output


def test_a_tool_is_explained_from_what_is_known_without_starting_its_server(office: Office) -> None:
    first = office.explain("box:look")
    again = office.explain("look")

    assert first == again
    assert office.starts.read_text("utf-8") == "x"
    assert first["tool"].startswith("box:look#")
    assert (first["server"], first["principal"]) == ("My Box", "local")
    assert (first["decision"], first["rule"], first["matching"]) == ("allow", "default", [])
    assert first["reason"] == "its server declares that it only reads"
    assert first["risk"] == {
        "effects": "unknown",
        "destructive": False,
        "requiresApproval": False,
        "declared": "read",
        "class": "read",
        "source": "its server declares that it only reads",
    }
    assert first["changes"] == ["toolcrib policy ask 'My Box:look', or toolcrib policy deny 'My Box:look'"]


def test_the_suggested_command_does_what_it_promises(office: Office) -> None:
    suggested = office.explain("do_it_04aee67b")["changes"][0]
    assert suggested == "toolcrib policy allow 'My Box:do[[]it]'"

    office.run("allow", "My Box:do[[]it]", "--reason", "we know it")

    told = office.explain("do_it_04aee67b")
    assert (told["decision"], told["reason"]) == ("allow", "we know it")
    assert told["changes"] == [
        "toolcrib policy ask 'My Box:do[[]it]', or toolcrib policy deny 'My Box:do[[]it]'",
    ]
    assert office.explain("drop")["decision"] == "ask"


def test_the_rules_that_are_about_it_are_named_for_whom_they_are(office: Office) -> None:
    office.write(RULES)

    ours, theirs = office.explain("drop"), office.explain("drop", "--principal", "ci-1")

    assert ours["decision"] == "allow"
    assert (theirs["decision"], theirs["reason"], theirs["rule"]) == ("deny", "Not from CI", "rule 1 (line 3)")
    assert [each["number"] for each in theirs["matching"]] == [1, 2]
    assert theirs["changes"] == [f"change rule 1 (line 3) in {office.file}"]


def test_people_read_why_in_lines(office: Office) -> None:
    office.write(RULES)

    result = office.run("explain", "drop", "--principal", "ci-1")

    told = office.explain("drop", "--principal", "ci-1")
    assert told["risk"]["source"] == "its server declares it destructive"
    lines = result.output.splitlines()
    assert lines[0].startswith("box:drop#")
    assert lines[0].endswith(" does not run: Not from CI.")
    assert lines[1:] == [
        "Decided by: rule 1 (line 3). Caller: ci-1.",
        "Risk: destructive; its server declares it destructive.",
        "rule 1 (line 3): deny server=My* tool=drop risk=destructive|unknown principal=ci-*",
        "rule 2 (line 11): allow everything",
        f"To change it: change rule 1 (line 3) in {office.file}",
    ]


def test_people_read_where_no_rule_is_about_it(office: Office) -> None:
    office.write('default = "deny"\n')

    lines = office.run("explain", "look").output.splitlines()

    assert f"No rule matches. {DEFAULTS['deny']}" in lines
    assert lines[-2:] == [
        "To change it: toolcrib policy allow 'My Box:look'",
        "To change it: toolcrib policy allow 'My Box', which is for all of its tools",
    ]


@pytest.mark.parametrize(
    ("settings", "decision", "source"),
    [
        ({"trusted": True}, "allow", "its server declares that it only reads, and is trusted"),
        (
            {"risk": {"look": {"effects": "write"}}},
            "allow",
            "the configuration says so, and its server declares that it only reads",
        ),
        (
            {"risk": {"look": {"effects": "read", "requiresApproval": True}}},
            "ask",
            "the configuration says so, and its server declares that it only reads",
        ),
    ],
)
def test_where_the_risk_comes_from_is_told(
    office: Office, settings: dict[str, Any], decision: str, source: str
) -> None:
    office.configure(settings=settings)

    told = office.explain("look")

    assert (told["decision"], told["risk"]["source"]) == (decision, source)


def test_approval_that_the_configuration_wants_is_changed_there(office: Office) -> None:
    office.configure(settings={"risk": {"look": {"effects": "read", "requiresApproval": True}}})

    told = office.explain("look")

    assert told["rule"] == "requiresApproval"
    assert told["changes"] == ["set `requiresApproval` to false for it in the `risk` of `My Box` (configuration)"]
    assert "Risk: read, requires approval; " in office.run("explain", "look").output


def test_only_the_server_that_is_named_is_asked_for_its_tools(office: Office) -> None:
    office.configure(broken={"command": "no-such-command-here"})

    result = office.run("explain", "box:look")

    assert result.exit_code == 0
    assert "broken" not in result.stderr


def test_a_tool_that_is_nowhere_is_told_and_servers_that_fail_are_named(office: Office) -> None:
    office.configure(broken={"command": "no-such-command-here"})

    with pytest.raises(ResolutionError):
        office.run("explain", "nothing")
    office.configure()
    with pytest.raises(ResolutionError):
        office.run("explain", "nothing")


def test_a_sound_file_is_said_to_be_usable(office: Office) -> None:
    office.write(RULES)

    result = office.run("check")

    assert result.exit_code == 0
    assert result.output == f"{POLICY_FILE} can be used: 2 rules, 1 limit, 1 budget.\n"
    assert office.json("check") == {"file": str(office.file), "ok": True, "problems": [], "remarks": []}


def test_what_its_author_may_not_expect_is_noted(office: Office) -> None:
    office.write('[[rule]]\ndecision = "deny"\nserver = "my box"\n')

    result = office.run("check")

    assert result.exit_code == 0
    assert result.output.splitlines()[0] == (
        "note: rule 1 (line 1) is for the server `my box`, and no server has that name. Was `My Box` meant?"
    )


def test_every_mistake_of_a_file_has_its_line(office: Office, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text('[[rule]]\ndecison = "deny"\n', "utf-8")

    result = office.run("check", str(other))

    assert result.exit_code == 2
    assert result.output.splitlines() == [
        "other.toml, line 1: Rule 1 has no `decision`.",
        "other.toml, line 2: There is no key `decison` in rule 1. Was `decision` meant?",
    ]
    told = office.json("check", str(other))
    assert (told["ok"], [each["line"] for each in told["problems"]]) == (False, [1, 2])


def test_a_file_that_is_no_toml_is_told_in_a_line(office: Office) -> None:
    office.write("[[rule]\n")

    result = office.run("check")

    assert result.exit_code == 2
    assert result.output.startswith(f"{POLICY_FILE}: `{POLICY_FILE}` is not TOML that we can read, at line 1")


def test_where_there_is_no_file_there_is_nothing_to_check(office: Office) -> None:
    with pytest.raises(ConfigError, match="There is no policy file here"):
        office.run("check")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("My Box", {"server": "My Box"}),
        ("box", {"server": "My Box"}),
        ("box:drop", {"server": "My Box", "tool": "drop"}),
        ("box:drop@1.0#01234567", {"server": "My Box", "tool": "drop"}),
        ("My*:d*", {"server": "My*", "tool": "d*"}),
        ("*:drop", {"tool": "drop"}),
        ("*", {}),
    ],
)
def test_a_rule_is_added_for_a_server_or_its_tools(office: Office, target: str, expected: dict[str, str]) -> None:
    told = office.json("deny", target)

    rule = {key: value for key, value in told["rule"].items() if key not in {"number", "line"}}
    assert rule == {"decision": "deny", **expected}
    assert told["file"] == str(office.file)


@pytest.mark.parametrize("decision", ["allow", "ask", "deny"])
def test_each_decision_has_its_command_and_says_what_was_added(office: Office, decision: str) -> None:
    office.write("# ours\n")

    result = office.run(
        decision, "box:look", "--risk", "write", "--risk", "unknown", "--principal", "ci-*", "--reason", "so"
    )

    assert result.stdout == (
        f'{POLICY_FILE}, rule 1 (line 3): {decision} server="My Box" tool=look risk=write|unknown principal=ci-*\n'
    )
    (rule,) = read_policy(office.file).rules
    assert (rule.entry.decision, rule.entry.reason) == (decision, "so")
    assert office.file.read_text("utf-8").startswith("# ours\n")


def test_a_rule_for_a_server_that_does_not_exist_is_noted(office: Office) -> None:
    office.run("deny", "bax")

    result = office.run("deny", "bux")

    (line,) = result.stderr.splitlines()
    assert line.startswith("note: rule 2 (line ")
    assert "is for the server `bux`, and no server has that name" in line


@pytest.mark.parametrize("target", ["", ":drop", "box:"])
def test_a_rule_for_nothing_is_refused(office: Office, target: str) -> None:
    with pytest.raises(ConfigError, match="names no server"):
        office.run("deny", target)

    assert not office.file.exists()


def test_a_reason_that_is_too_long_is_refused(office: Office) -> None:
    with pytest.raises(ConfigError, match="The reason of the rule is empty or too long"):
        office.run("deny", "box", "--reason", "x" * 301)


def test_without_a_configuration_there_is_no_place_for_a_rule(office: Office) -> None:
    with pytest.raises(ConfigError, match="no configuration here"):
        CliRunner().invoke(
            app, ["policy", "deny", "x", "--demo", "--state-dir", str(office.state)], catch_exceptions=False
        )
