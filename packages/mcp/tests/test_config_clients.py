from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from toolcrib_mcp.config import (
    FoundConfig,
    ImportedConfig,
    find_client_configs,
    import_client_configs,
    load_config,
    reveal,
)

pytestmark = pytest.mark.req("GW-6.1")


def found(directory: Path, client: str, document: object) -> FoundConfig:
    path = directory / f"{client}.json"
    path.write_bytes(document if isinstance(document, bytes) else orjson.dumps(document))
    return FoundConfig(client=client, path=path)


def outcomes(imported: ImportedConfig) -> list[tuple[str, str, str | None, str | None]]:
    return [(note.found.client, note.outcome, note.server, note.name) for note in imported.notes]


@pytest.mark.parametrize(
    ("platform", "client", "path"),
    [
        ("linux", "claude-code", ".claude.json"),
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("linux", "vscode", ".config/Code/User/mcp.json"),
        ("linux", "zed", ".config/zed/settings.json"),
        ("freebsd14", "cursor", ".cursor/mcp.json"),
        ("darwin", "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("darwin", "vscode-insiders", "Library/Application Support/Code - Insiders/User/mcp.json"),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("darwin", "windsurf", ".codeium/windsurf/mcp_config.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
        ("win32", "gemini", ".gemini/settings.json"),
        ("win32", "copilot", ".copilot/mcp-config.json"),
        ("linux", "cline", ".cline/data/settings/cline_mcp_settings.json"),
    ],
)
def test_a_client_is_found_where_it_keeps_its_servers(tmp_path, platform, client, path):
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()

    assert find_client_configs(tmp_path, platform=platform) == [FoundConfig(client=client, path=file)]


def test_nothing_is_found_in_an_empty_home(tmp_path):
    assert find_client_configs(tmp_path) == []


def test_the_own_home_is_searched_unless_another_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude.json").touch()

    assert [each.client for each in find_client_configs()] == ["claude-code"]


def test_the_files_of_a_project_come_first(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    for file in (home / ".cursor/mcp.json", project / ".mcp.json", project / ".vscode/mcp.json"):
        file.parent.mkdir(parents=True)
        file.touch()

    assert [(each.client, each.path.parent.name) for each in find_client_configs(home, project=project)] == [
        ("claude-code", "project"),
        ("vscode", ".vscode"),
        ("cursor", ".cursor"),
    ]


def test_a_directory_in_the_place_of_a_file_is_not_found(tmp_path):
    (tmp_path / ".claude.json").mkdir()

    assert find_client_configs(tmp_path) == []


def test_a_place_that_may_not_be_looked_at_is_not_found(tmp_path):
    (tmp_path / ".cursor").symlink_to("x" * 200)
    long_home = tmp_path / ("x" * 300)

    assert find_client_configs(tmp_path) == []
    assert find_client_configs(long_home) == []


def test_servers_of_several_clients_become_one_configuration(tmp_path):
    clients = [
        found(tmp_path, "cursor", {"mcpServers": {"github": {"command": "gh"}}}),
        found(tmp_path, "vscode", {"servers": {"docs": {"type": "http", "url": "https://docs.example.com/mcp"}}}),
        found(tmp_path, "zed", b'{ /* zed */ "theme": "x", "context_servers": {"files": {"command": "fs"},}, }'),
    ]

    imported = import_client_configs(clients)

    assert list(imported.config.servers) == ["github", "docs", "files"]
    assert outcomes(imported) == [
        ("cursor", "added", "github", "github"),
        ("vscode", "added", "docs", "docs"),
        ("zed", "added", "files", "files"),
    ]


def test_the_same_server_under_two_names_is_taken_once_and_is_on_where_any_client_has_it_on(tmp_path):
    entry = {"command": "gh", "env": {"TOKEN": "t"}}
    clients = [
        found(tmp_path, "cursor", {"mcpServers": {"github": entry | {"disabled": True}}}),
        found(tmp_path, "vscode", {"servers": {"GitHub MCP": entry | {"type": "stdio"}}}),
    ]

    imported = import_client_configs(clients)

    assert outcomes(imported)[1] == ("vscode", "merged", "GitHub MCP", "github")
    assert [(server.name, server.enabled) for server in imported.config.servers.values()] == [("github", True)]


def test_different_servers_of_one_name_are_both_kept_and_told_apart(tmp_path):
    clients = [
        found(tmp_path, "cursor", {"mcpServers": {"github": {"command": "one"}, "github-vscode": {"command": "two"}}}),
        found(tmp_path, "vscode", {"servers": {"GitHub": {"command": "three"}}}),
    ]

    imported = import_client_configs(clients)

    assert outcomes(imported)[2] == ("vscode", "renamed", "GitHub", "GitHub-vscode-2")
    assert imported.notes[2].reason == "A different server has the name `github`."
    assert len({server.namespace for server in imported.config.enabled}) == 3


def test_a_server_that_cannot_be_used_is_left_out_with_the_reason(tmp_path):
    servers = {
        "old": {"url": "https://x.example.com/", "type": "pigeon"},
        "extension": {"settings": {}},
        "good": {"command": "x"},
    }

    imported = import_client_configs([found(tmp_path, "zed", {"context_servers": servers})])

    assert outcomes(imported) == [
        ("zed", "left-out", "old", None),
        ("zed", "left-out", "extension", None),
        ("zed", "added", "good", "good"),
    ]
    assert "no transport that we know" in str(imported.notes[0].reason)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/usr/bin/toolcrib", "args": ["serve"]},
        {"command": "uvx", "args": ["toolcrib", "serve"]},
        {"command": "python", "args": ["-m", "toolcrib"]},
    ],
)
def test_the_gateway_does_not_import_itself(tmp_path, entry):
    imported = import_client_configs([found(tmp_path, "cursor", {"mcpServers": {"gateway": entry}})])

    assert outcomes(imported) == [("cursor", "left-out", "gateway", None)]
    assert imported.notes[0].reason == "It is toolcrib itself."


def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path):
    clients = [
        found(tmp_path, "cursor", b"{ oops"),
        FoundConfig(client="gemini", path=tmp_path / "gone.json"),
        found(tmp_path, "windsurf", []),
        found(tmp_path, "zed", {"theme": "dark"}),
        found(tmp_path, "vscode", {"servers": {"docs": {"command": "x"}}}),
    ]

    imported = import_client_configs(clients)

    assert [note.outcome for note in imported.notes] == ["unreadable", "unreadable", "left-out", "added"]
    assert "at line 1" in str(imported.notes[0].reason)


def test_a_history_beside_the_servers_is_no_obstacle(tmp_path):
    history = [{"display": "x" * 1000, "pasted": {}}] * 2000
    document = {"projects": {"p": {"history": history}}, "mcpServers": {"docs": {"command": "x"}}}

    imported = import_client_configs([found(tmp_path, "claude-code", document)])

    assert list(imported.config.servers) == ["docs"]


def test_what_was_imported_can_be_written_and_read_without_its_secrets(tmp_path):
    servers = {"docs": {"command": "run", "env": {"TOKEN": "very-secret", "HOST": "${HOST}"}, "cwd": "here"}}
    imported = import_client_configs([found(tmp_path, "cursor", {"mcpServers": servers})], environ={})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mcp.json").write_text(imported.config.to_json(), encoding="utf-8")
    secrets = {name: secret.reveal() for name, secret in imported.config.placeholders().items()}

    config = load_config(elsewhere / "mcp.json", environ={"HOST": "h"} | secrets)

    transport = config.servers["docs"].transport().map(lambda _, text: reveal(text))
    assert "very-secret" not in imported.config.to_json()
    assert transport.env == {"TOKEN": "very-secret", "HOST": "h"}
    assert transport.cwd == str(tmp_path / "here")
