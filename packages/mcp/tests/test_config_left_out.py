"""One server that cannot be used is left out with its reason, and what clients' files may say is understood."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from toolcrib_mcp import ConfigError, GatewayConfig, load_config
from toolcrib_mcp.config import FoundConfig, StdioTransport, import_client_configs, reveal
from toolcrib_mcp.config.files import read_env_file

pytestmark = pytest.mark.req("CL-9")

GOOD = {"command": "run"}


def load(folder: Path, servers: dict[str, Any], *, name: str = "mcp.json", **environ: str) -> GatewayConfig:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers}), "utf-8")
    return load_config(file, environ={"HOME": "/srv/ada", "PATH": "/usr/bin:/bin", **environ})


def program(config: GatewayConfig, name: str = "it") -> StdioTransport[str]:
    transport = config.servers[name].transport().map(lambda _, text: reveal(text))
    assert isinstance(transport, StdioTransport)
    return transport


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("run", "is a string of 3 characters, not an object"),
        ({}, "neither a command nor a URL"),
        ({"command": ""}, "not text that is not empty"),
        ({"command": "run", "args": "x"}, "not a list of texts"),
        ({"command": "run", "args": ["${"]}, "no matching `}`"),
        ({"command": "run", "args": ["${workspaceFolder:other}"]}, "only in an editor"),
        ({"command": "run", "envFile": "none.env"}, "The file `none.env` is not there."),
        ({"command": "run", "envFile": "${UNSET}/a.env"}, "The variable `UNSET` is not set."),
        ({"command": "run", "env": {"KEY": "${UNSET}"}}, "the variable `UNSET` in `env/KEY`, which is not set"),
        ({"command": "run", "cwd": "${ODD}"}, "The directory is not absolute."),
        ({"command": "run 'a b"}, "quotes that are not closed"),
        ({"url": "ftp://example.com/"}, "http"),
        ({"url": "https://example.com/", "headers": {"Host": "x"}}, "Host"),
        ({"url": "https://example.com/", "type": "pigeon"}, "no transport that we know"),
    ],
)
def test_a_server_that_cannot_be_used_is_left_out_with_its_reason_and_the_others_are_served(
    tmp_path: Path, entry: Any, reason: str
) -> None:
    config = load(tmp_path, {"good": GOOD, "bad": entry}, ODD="not/absolute")

    assert [each.name for each in config.enabled] == ["good"]
    assert list(config.left_out) == ["bad"]
    assert reason.lower() in config.left_out["bad"].lower()
    assert "The server is left out." in str(config.warnings[0])
    assert config.warnings[0].line == 1


def test_of_two_servers_with_one_namespace_the_second_is_left_out(tmp_path: Path) -> None:
    config = load(tmp_path, {"My Server": GOOD, "my-server": {"command": "other"}, "third": GOOD})

    assert [each.name for each in config.enabled] == ["My Server", "third"]
    assert "have one namespace" in config.left_out["my-server"]


def test_where_no_server_can_be_used_the_file_is_refused_with_every_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, {"a": {}, "b": {"command": "run", "env": {"X": "${UNSET}"}}})

    assert len(refused.value.details["problems"]) == 2  # type: ignore[arg-type]  # a list


def test_the_places_of_editors_are_those_of_the_file(tmp_path: Path) -> None:
    args = [
        "${workspaceFolder}/x",
        "${workspaceFolderBasename}",
        "${userHome}",
        "a${pathSeparator}b${/}c",
        "$${userHome}",
    ]
    config = load(tmp_path, {"it": {"command": "${workspaceFolder}/bin/run", "args": args, "cwd": "${userHome}"}})

    it = program(config)
    assert it.command == f"{tmp_path}/bin/run"
    assert it.args == (f"{tmp_path}/x", tmp_path.name, "/srv/ada", "a/b/c", "${userHome}")
    assert it.cwd == "/srv/ada"


@pytest.mark.parametrize("folder", [".cursor", ".vscode"])
def test_in_the_folder_of_an_editor_the_workspace_is_the_folder_above(tmp_path: Path, folder: str) -> None:
    config = load(tmp_path, {"it": {"command": "run", "args": ["${workspaceFolder}"]}}, name=f"{folder}/mcp.json")

    assert program(config).args == (str(tmp_path),)


def test_what_is_imported_has_the_workspace_written_out(tmp_path: Path) -> None:
    load(tmp_path, {"it": {"command": "run", "args": ["${workspaceFolder}/x"]}})
    found = FoundConfig(client="cursor", path=tmp_path / "mcp.json")

    written = json.loads(import_client_configs([found]).config.to_json())

    assert written["mcpServers"]["it"]["args"] == [f"{tmp_path}/x"]


def test_variables_with_the_name_of_their_kind_and_defaults_are_understood(tmp_path: Path) -> None:
    args = ["${env:SET}", "${env:UNSET:-b c}", "${UNSET:-d}"]

    assert program(load(tmp_path, {"it": {"command": "run", "args": args}}, SET="a")).args == ("a", "b c", "d")


@pytest.mark.parametrize(
    ("command", "args", "words"),
    [
        ("npx @playwright/mcp@latest", [], ["npx", "@playwright/mcp@latest"]),
        ("uvx  mcp-server-git --repository '/a b'", ["--x"], ["uvx", "mcp-server-git", "--repository", "/a b", "--x"]),
        ("${HOME}/bin/run --flag", [], ["/srv/ada/bin/run", "--flag"]),
        ("${NAME:-a b}", [], ["a b"]),
        ("run", ["a b"], ["run", "a b"]),
    ],
)
def test_a_command_with_its_arguments_in_one_text_is_taken_apart(
    tmp_path: Path, command: str, args: list[str], words: list[str]
) -> None:
    it = program(load(tmp_path, {"it": {"command": command, "args": args}}))

    assert [it.command, *it.args] == words


def test_a_program_with_a_space_in_its_path_is_one_word(tmp_path: Path) -> None:
    script = tmp_path / "my tools" / "run"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\n", "utf-8")
    script.chmod(0o700)

    commands = (str(script), "${workspaceFolder}/my tools/run")
    assert [program(load(tmp_path, {"it": {"command": each}})).command for each in commands] == [str(script)] * 2


DOTENV = r"""
# A comment
PLAIN=value  # and why
export EXPORTED = spaced words
HASH=a#b
EMPTY=
SINGLE='as $it \n is'
DOUBLE="two\nlines \"quoted\""   # behind
KEY="-----BEGIN-----
abc
-----END-----"
NOT_EXPANDED=${HOME}
"""


def test_the_variables_of_an_env_file_are_given_to_the_server_and_its_own_go_before_them(tmp_path: Path) -> None:
    (tmp_path / "of server.env").write_text(DOTENV.replace("\n", "\r\n"), "utf-8")
    entry = {"command": "run", "envFile": "${workspaceFolder}/of server.env", "env": {"PLAIN": "own"}}

    config = load(tmp_path, {"it": entry})

    assert program(config).env == {
        "PLAIN": "own",
        "EXPORTED": "spaced words",
        "HASH": "a#b",
        "EMPTY": "",
        "SINGLE": r"as $it \n is",
        "DOUBLE": 'two\nlines "quoted"',
        "KEY": "-----BEGIN-----\nabc\n-----END-----",
        "NOT_EXPANDED": "${HOME}",
    }
    assert "spaced words" not in repr(config)
    assert "spaced words" not in config.to_json()


@pytest.mark.parametrize(
    ("text", "line"), [("A=1\nno variable\n", 2), ("A='open\n\n", 1), ("\n\n1A=2", 3), ('B="open', 1)]
)
def test_a_line_that_is_no_variable_is_named_without_its_words(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / ".env"
    file.write_text(text, "utf-8")

    with pytest.raises(ConfigError) as refused:
        read_env_file(file)

    assert refused.value.details["line"] == line
    assert "open" not in refused.value.message
    config = load(tmp_path, {"good": GOOD, "bad": {"command": "run", "envFile": ".env"}})
    assert f"line {line}" in config.left_out["bad"]


def test_an_env_file_that_is_too_large_leaves_its_server_out(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"A={'x' * 70_000}", "utf-8")

    config = load(tmp_path, {"good": GOOD, "bad": {"command": "run", "envFile": ".env"}})

    assert "larger than 65,536 bytes" in config.left_out["bad"]
