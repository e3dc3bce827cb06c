"""`toolcrib init`: what clients have, in one file, without their secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_mcp import ConfigError, load_config

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


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
    assert "2 servers in mcp.json" in result.output
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


def _write(file: Path, **servers: object) -> None:
    file.write_text(json.dumps({"mcpServers": servers}), "utf-8")
