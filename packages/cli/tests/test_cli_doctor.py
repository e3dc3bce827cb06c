"""`toolcrib doctor`: what it looks at, what it says of what is broken, and its exit code."""

from __future__ import annotations

import errno
import json
import locale
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.chaos import hostile_server
from toolcrib_cli import doctor_checks
from toolcrib_cli.app import app
from toolcrib_cli.doctor_checks import (
    check_config,
    check_database,
    check_parts,
    check_python,
    check_sandbox,
    check_state,
    check_tools,
    check_vocabulary,
)
from toolcrib_cli.status_report import StatusReport
from toolcrib_cli.toolpack.beginning import run_new
from toolcrib_cli.wiring import Asked
from toolcrib_core import VocabularyError
from toolcrib_mcp import GatewayConfig, load_config
from toolcrib_mcp.gateway.opening import ARTIFACTS
from toolcrib_runtime.guards.process import levels
from toolcrib_store import open_store

ECHO_SERVER = Path(__file__).with_name("echo_server.py")
NONE = GatewayConfig(servers={})


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty directory with a state of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("TOOLCRIB_CONFIG", raising=False)
    return tmp_path


def _doctor(*arguments, code):
    result = CliRunner().invoke(app, ["doctor", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def _checks(*arguments, code):
    told = json.loads(_doctor("--json", *arguments, code=code).stdout)
    assert told["ok"] is (code == 0)
    return {each["name"]: each for each in told["checks"]}


@pytest.mark.req("CT-23")
def test_what_tool_files_may_do_is_said(place):
    run_new("cli", "text.greet", folder=place / "packs", url="https://example.com", force=False)
    (place / "data").mkdir()

    checks = _checks("--toolpacks", "packs", "--grant-path", "data", code=0)

    assert checks["tool files"]["details"] == {"text:greet": ["runs printf", f"reads {place / 'data'}"]}
    assert "text:greet: runs printf" in _doctor("--toolpacks", "packs", code=0).stdout


def _write(place, **servers):
    (place / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


def test_who_only_looked_for_toolsets_needs_no_master_key(place, monkeypatch):
    for name in ("TOOLCRIB_MASTER_KEY", "TOOLCRIB_MASTER_KEY_FILE", "TOOLCRIB_MASTER_KEY_KEYRING", "TOOLCRIB_TOOLSETS"):
        monkeypatch.delenv(name, raising=False)
    CliRunner().invoke(app, ["toolset", "list"], catch_exceptions=False)

    found = _checks("--demo", code=0)["toolsets"]

    assert (found["verdict"], found["hint"]) == ("note", "Before the first one: toolcrib toolset init-key")


def test_on_a_fresh_machine_nothing_is_broken_and_the_demo_is_fine(place):
    checks = _checks(code=0)

    assert list(checks)[:7] == ["python", "parts", "sandbox", "vocabulary", "configuration", "state", "database"]
    assert checks["configuration"]["said"] == "none here, so the demo is used"
    assert "toolcrib init" in checks["configuration"]["hint"]
    assert checks["server database"]["said"] == "started, 3 tools"
    assert checks["parts"]["details"]["parts"]["toolcrib-core"] == checks["parts"]["details"]["parts"]["toolcrib-cli"]
    assert {each["name"] for each in checks["sandbox"]["details"]} >= {"limits", "files", "sockets"}


def test_people_get_a_line_for_each_check_and_a_sum(place):
    shown = _doctor("--demo", code=0).stdout

    assert "ok    vocabulary       cl100k_base, offline\n" in shown
    assert shown.endswith("\nNothing is broken.\n")


@pytest.mark.req("GW-2.3")
def test_a_tool_that_is_on_no_page_is_reported(place):
    _write(place, one={"command": sys.executable, "args": [str(ECHO_SERVER), "--tools", "echo", "x" * 100]})

    found = _checks(code=0)["tools"]

    assert (found["verdict"], found["said"]) == ("warning", "1 finding about tools (`unlisted`)")
    assert found["details"][0]["kind"] == "unlisted"
    assert "unlisted one" in found["hint"]


def test_a_server_that_cannot_start_is_broken_with_what_to_do(place):
    crash = {"command": sys.executable, "args": ["-I", "-S", hostile_server.__file__, "--mode", "crash"]}
    _write(place, bad=crash)

    result = _doctor("--timeout", "20", code=1)

    assert "FAIL  server bad" in result.stdout
    assert "1 thing is broken: server bad." in result.stdout
    assert "| " in result.stdout


def test_a_configuration_that_cannot_be_read_is_broken(place):
    (place / "mcp.json").write_text("{")

    checks = _checks(code=1)

    assert checks["configuration"]["verdict"] == "broken"
    assert "is not JSON" in checks["configuration"]["said"]
    assert "server" not in "".join(checks)


def test_warnings_of_a_configuration_are_told(place):
    _write(place, off={"command": "x", "disabled": True, "mood": 1})

    check = check_config(Asked(config=load_config(place / "mcp.json"), path=place / "mcp.json"))

    assert check.verdict == "warning"
    assert "mood" in check.hint


def test_without_anything_configured_there_is_nothing_to_say_of_it():
    assert check_config(Asked(config=NONE)).said == "none here"
    assert check_state(Asked(config=NONE)).said == "nothing is kept"


def test_a_damaged_database_is_broken(place):
    state = place / "state"
    state.mkdir()
    assert check_database(Asked(config=NONE, state_dir=state)).verdict == "ok"
    (state / ARTIFACTS).write_bytes(b"not a database at all" * 1000)

    check = check_database(Asked(config=NONE, state_dir=state))

    assert check.verdict == "broken"
    assert check.hint


def test_a_folder_of_somebody_else_is_broken_and_not_an_unforeseen_error(place, monkeypatch):
    def refuse(path, **_options):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    # The file in place of a folder makes opening fail for root, too.
    (place / "state").write_text("")
    monkeypatch.setattr(Path, "exists", refuse)

    check = check_database(Asked(config=NONE, state_dir=place / "state"))

    assert check.verdict == "broken"
    assert check.hint


def test_a_database_that_is_whole_is_told_with_its_size(place):
    open_store(place / "state" / ARTIFACTS).close()

    check = check_database(Asked(config=NONE, state_dir=place / "state"))

    assert (check.verdict, check.said.startswith(f"{ARTIFACTS}, ")) == ("ok", True)


def test_an_sdk_that_is_not_installed_is_not_named(monkeypatch):
    monkeypatch.setattr(doctor_checks, "_VENDORS", ("no-such-sdk",))

    assert check_parts().details["vendors"] == {}


def test_a_state_directory_that_cannot_be_used_is_broken(place):
    (place / "state").touch()
    assert check_state(Asked(config=NONE, state_dir=place / "state")).verdict == "broken"


def test_a_state_directory_that_cannot_be_written_is_broken(place, monkeypatch):
    monkeypatch.setattr(doctor_checks.os, "access", lambda path, mode: False)

    assert "cannot be written" in check_state(Asked(config=NONE, state_dir=place / "state")).said


def test_parts_of_different_versions_are_broken(monkeypatch):
    class Part:
        def __init__(self, name, version):
            self.metadata = {"Name": name}
            self.version = version

    parts = [Part("toolcrib-core", "1.0"), Part("toolcrib", "1.1"), Part("other", "9")]
    monkeypatch.setattr(doctor_checks, "distributions", lambda: parts)

    check = check_parts()

    assert (check.verdict, check.said) == ("broken", "2 parts of different versions: 1.0, 1.1")
    assert check.hint.endswith("toolcrib==1.1")


def test_text_that_is_not_utf_8_is_warned_of(monkeypatch):
    monkeypatch.setattr(locale, "getpreferredencoding", lambda do_setlocale: "ANSI_X3.4-1968")

    assert check_python().verdict == "warning"


def test_what_the_sandbox_cannot_hold_is_said(monkeypatch):
    bare = levels.Layers(linux=False, setpriv=None, prlimit=None, unshare=None, landlock_abi=0, seccomp=False)
    monkeypatch.setattr(levels, "available_layers", lambda: bare)

    check = check_sandbox()

    assert (check.verdict, check.said) == ("note", "no level of it")
    assert "Landlock" in check.hint


def test_a_vocabulary_that_is_gone_or_wrong_is_broken(monkeypatch):
    def gone(text):
        raise VocabularyError("The vocabulary is missing.", hint="Install it.")

    monkeypatch.setattr(doctor_checks, "count_tokens", gone)
    assert (check_vocabulary().verdict, check_vocabulary().hint) == ("broken", "Install it.")
    monkeypatch.setattr(doctor_checks, "count_tokens", lambda text: 1)
    assert check_vocabulary().verdict == "broken"


def test_of_many_findings_the_first_are_told_and_the_rest_counted():
    finding = {"kind": "repaired", "upstream": "one", "name": "t", "reason": "It had none."}
    hub = {"servers": {"one": {"ok": True, "findings": [finding] * 12}}}

    check = check_tools(StatusReport(config=None, source="probe", hub=hub))

    assert check.hint.count("repaired one t: It had none.") == 10
    assert "And 2 more" in check.hint


def test_long_lines_stay_beside_their_heading_on_a_terminal(place, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")

    lines = _doctor("--demo", code=0).stdout.splitlines()

    assert max(len(line) for line in lines) <= 70
    assert any(line.startswith(" " * 23) for line in lines)
