"""`toolcrib init`: what clients have, in one file, without their secrets."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.chaos import hostile_server
from toolcrib_cli.app import app
from toolcrib_mcp import ConfigError, load_config

SECRET = "gh" + "p_" + "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder in (home / ".cursor", project):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    github = {"command": "server-github", "env": {"GITHUB_TOKEN": SECRET}}
    _write(home / ".cursor/mcp.json", github=github, broken={"command": 7})
    _write(project / ".mcp.json", files={"command": "server-files", "args": ["."]}, github=github)
    return project


@pytest.mark.req("GW-6.1")
def test_the_servers_of_all_clients_come_into_one_file_without_a_secret(project: Path) -> None:
    result = CliRunner().invoke(app, ["init"], catch_exceptions=False)

    written = (project / "mcp.json").read_text("utf-8")
    assert result.exit_code == 0
    assert SECRET not in written + result.output
    assert "2 servers for mcp.json" in result.output
    assert "left-out   broken  (cursor)" in result.output
    config = load_config(project / "mcp.json", environ={"TOOLCRIB_GITHUB_GITHUB_TOKEN": SECRET})
    assert sorted(config.servers) == ["files", "github"]


@pytest.mark.req("GW-6.1")
def test_the_report_is_json_when_asked_for(project: Path) -> None:
    result = CliRunner().invoke(app, ["init", "--json", "--output", "all.json"], catch_exceptions=False)

    report = json.loads(result.stdout)
    assert report["file"] == "all.json"
    assert report["servers"] == ["files", "github"]
    assert len(report["variables"]) == 1
    assert {note["outcome"] for note in report["notes"]} == {"added", "merged", "left-out"}


def test_a_file_that_is_there_is_kept_unless_it_is_to_be_replaced(project: Path) -> None:
    (project / "mcp.json").write_text("mine", "utf-8")

    with pytest.raises(ConfigError, match="there already"):
        CliRunner().invoke(app, ["init"], catch_exceptions=False)
    assert (project / "mcp.json").read_text("utf-8") == "mine"

    CliRunner().invoke(app, ["init", "--force"], catch_exceptions=False)
    assert "github" in (project / "mcp.json").read_text("utf-8")


def test_a_file_that_cannot_be_written_is_told(project: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        CliRunner().invoke(app, ["init", "--output", "no/such/folder.json"], catch_exceptions=False)


def test_nothing_found_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConfigError) as refused:
        CliRunner().invoke(app, ["init"], catch_exceptions=False)

    assert "mcpServers" in str(refused.value.hint)
    assert not (tmp_path / "mcp.json").exists()


def test_what_would_be_written_is_shown_and_nothing_is(project: Path) -> None:
    result = CliRunner().invoke(app, ["init", "--dry-run"], catch_exceptions=False)

    assert '"server-files"' in result.output
    assert SECRET not in result.output
    assert "Nothing was written" in result.output
    assert not (project / "mcp.json").exists()
    assert json.loads(CliRunner().invoke(app, ["init", "--dry-run", "--json"]).stdout)["written"] is False


def test_what_becomes_of_a_file_that_is_there_is_told_by_name(project: Path) -> None:
    _write(project / "mcp.json", files={"command": "server-files", "args": ["."]}, old={"command": "x"})

    result = CliRunner().invoke(app, ["init", "--force", "--yes"], catch_exceptions=False)

    assert "New: `github`." in result.output
    assert "No longer there: `old`." in result.output


def test_the_client_is_told_what_to_start_in_place_of_its_servers(project: Path) -> None:
    result = CliRunner().invoke(app, ["init"], catch_exceptions=False)

    entry = json.loads(result.stdout.splitlines()[-1])["mcpServers"]["toolcrib"]
    assert entry["args"] == ["serve", "--config", str(project / "mcp.json")]


@pytest.mark.parametrize(
    ("base", "beside", "command"),
    [("/usr", True, "{bin}/toolcrib"), ("/usr", False, "toolcrib"), (None, True, "toolcrib")],
    ids=["environment", "environment without the command", "no environment"],
)
def test_a_client_gets_the_whole_path_of_a_command_that_only_an_environment_has(
    project: Path, monkeypatch: pytest.MonkeyPatch, base: str | None, *, beside: bool, command: str
) -> None:
    if beside:
        (project / "toolcrib").touch()
    monkeypatch.setattr(sys, "executable", str(project / "python"))
    monkeypatch.setattr(sys, "base_prefix", base or sys.prefix)

    result = CliRunner().invoke(app, ["init"], catch_exceptions=False)

    entry = json.loads(result.stdout.splitlines()[-1])["mcpServers"]["toolcrib"]
    assert entry["command"] == command.format(bin=project)


def test_a_named_file_is_told_by_its_path(project: Path) -> None:
    _write(project / "own.json", files={"command": "server-files"})

    result = CliRunner().invoke(app, ["init", "--from", "own.json"], catch_exceptions=False)

    assert "files  (own.json)" in result.stdout


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 1)])
def test_on_a_terminal_it_is_asked_first(
    project: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("toolcrib_cli.init_command.is_conversation", lambda: True)

    result = CliRunner().invoke(app, ["init"], input=answer)

    assert "Write mcp.json?" in result.output
    assert result.exit_code == code
    assert (project / "mcp.json").exists() is (code == 0)


def test_a_file_that_was_named_and_has_no_server_says_why(project: Path) -> None:
    (project / "mine.json").write_text("{", "utf-8")

    with pytest.raises(ConfigError, match=r"1 file named\. .*is not JSON"):
        CliRunner().invoke(app, ["init", "--from", "mine.json"], catch_exceptions=False)


ECHO = {"command": sys.executable, "args": ["-I", "-S", hostile_server.__file__, "--mode", "good"]}
# As the documentation of each client has it.
FORMS: dict[str, tuple[str, dict[str, object]]] = {
    "Claude Desktop": (
        "claude_desktop_config.json",
        {"mcpServers": {"echo": {**ECHO, "env": {"API_KEY": "s3cret-value"}}}, "globalShortcut": "Ctrl+Space"},
    ),
    "Claude Code": (
        ".mcp.json",
        {"mcpServers": {"echo": {"type": "stdio", **ECHO, "env": {"CACHE_DIR": "${CACHE_DIR:-/tmp}"}}}},
    ),
    "VS Code": (
        "settings/mcp.json",
        {
            "inputs": [{"type": "promptString", "id": "api-key", "description": "API Key", "password": True}],
            "servers": {"echo": {"type": "stdio", **ECHO, "env": {"API_KEY": "${input:api-key}"}}},
        },
    ),
    "Cursor": (
        ".cursor/mcp.json",
        {"mcpServers": {"echo": {**ECHO, "env": {"API_KEY": "${env:MY_KEY}"}}}},
    ),
}


@pytest.mark.req("GW-6.1")
@pytest.mark.parametrize("client", FORMS)
def test_the_file_of_a_client_is_taken_as_it_is_and_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    name, document = FORMS[client]
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(document), "utf-8")
    monkeypatch.chdir(tmp_path)
    for variable in ("TOOLCRIB_INPUT_API_KEY", "MY_KEY", "TOOLCRIB_ECHO_API_KEY", "TOOLCRIB_ECHO_CACHE_DIR"):
        monkeypatch.setenv(variable, "s3cret-value")
    state = ("--state-dir", str(tmp_path / "state"))

    found = CliRunner().invoke(app, ["browse", "/echo", "--config", str(file), "--json", *state])
    imported = CliRunner().invoke(app, ["init", "--from", str(file), "--output", "all.json"], catch_exceptions=False)
    status = CliRunner().invoke(app, ["status", "--config", "all.json", "--json", *state], catch_exceptions=False)

    assert len(json.loads(found.stdout)["cards"]) == 2
    assert imported.exit_code == 0
    assert "s3cret-value" not in (tmp_path / "all.json").read_text("utf-8")
    assert json.loads(status.stdout)["totals"]["tools"]["served"] == 2


def _write(file: Path, **servers: object) -> None:
    file.write_text(json.dumps({"mcpServers": servers}), "utf-8")


def test_variables_that_have_no_value_are_named(project: Path) -> None:
    _write(project / ".mcp.json", asks={"command": "x", "env": {"A": "${UNSET_ONE}", "B": "${UNSET_TWO:-default}"}})

    result = CliRunner().invoke(app, ["init", "--from", ".mcp.json", "--dry-run"], catch_exceptions=False)

    assert "1 variable without a value. Set before you serve: UNSET_ONE\n" in result.stderr


@pytest.mark.fault("K15")
@pytest.mark.req("GW-6.1")
@pytest.mark.parametrize("options", [[], ["--dry-run"], ["--json"]], ids=["written", "shown", "json"])
def test_secrets_among_arguments_are_neither_written_nor_printed(project: Path, options: list[str]) -> None:
    secret = "open" + "sesame7"
    run = ["run", "--rm", "-e", f"LOGIN={secret}", f"-eTOKEN={secret}", "image", "-p", secret, f"-k{secret}"]
    servers = {
        "box": {"command": "docker", "args": run},
        "line": {"command": f"docker run -e LOGIN={secret} image"},
        "remote": {"url": f"https://mcp.example.com/s/{secret}/mcp", "headers": {"X-Plain": secret}},
    }
    _write(project / "own.json", **servers)

    result = CliRunner().invoke(app, ["init", "--from", "own.json", "--yes", *options], catch_exceptions=False)

    written = project / "mcp.json"
    assert result.exit_code == 0
    assert secret not in result.output + (written.read_text("utf-8") if written.exists() else "")
    assert "TOOLCRIB_BOX_ARGS_3" in result.output
    if written.exists():
        assert "LOGIN=${TOOLCRIB_BOX_ARGS_3}" in written.read_text("utf-8")
