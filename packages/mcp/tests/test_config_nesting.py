"""A configuration that leads back to itself is refused, however toolcrib is started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolcrib_mcp import ConfigError, load_config
from toolcrib_mcp.config.nesting import (
    MAX_DEPTH,
    NESTING_VARIABLE,
    is_gateway,
    nested_chain,
    refuse_endless_nesting,
    toolcrib_arguments,
)

pytestmark = pytest.mark.req("CL-11")

OURS = [
    "toolcrib serve",
    "toolcrib serve my_tools:toolbox --config mcp.json",
    "/opt/venv/bin/toolcrib serve --http 8765",
    "toolcrib.exe serve",
    "uvx toolcrib serve",
    "uvx --from toolcrib[all] --python 3.12 toolcrib@1.0 serve",
    "uv run --directory /srv/toolcrib toolcrib serve",
    "uv tool run toolcrib serve",
    "pipx run toolcrib serve",
    "npx -y toolcrib serve",
    "env A=b toolcrib serve",
    "python -m toolcrib serve",
    "python3.12 -I -m toolcrib_cli serve",
    "/usr/bin/python3 /opt/venv/bin/toolcrib serve",
    "nice -n 5 toolcrib serve",
]
OTHERS = [
    "mcp-server-git --repository /srv/ada/toolcrib",
    "uvx mcp-server-git --repository /srv/ada/toolcrib",
    "npx -y @modelcontextprotocol/server-filesystem /srv/toolcrib serve",
    "python /srv/toolcrib/server.py",
    "python -m http.server",
    "python -m",
    "python -c toolcrib serve",
    "python -I",
    "uv run --directory /srv/toolcrib server.py",
    "uvx",
    "toolcrib pack serve",
    "toolcrib serve my_tools.weather:toolbox",
    "docker run toolcrib serve",
]


@pytest.mark.parametrize("command", OURS)
def test_toolcrib_is_recognised_behind_what_starts_it(command: str) -> None:
    assert is_gateway(command.split())


@pytest.mark.parametrize("command", OTHERS)
def test_what_only_has_its_name_in_an_argument_is_no_gateway(command: str) -> None:
    assert not is_gateway(command.split())


def test_no_command_starts_nothing() -> None:
    assert toolcrib_arguments([]) is None


def _file(folder: Path, entry: dict[str, object], *, name: str = "mcp.json", **ours: object) -> Path:
    file = folder / name
    file.write_text(json.dumps({"mcpServers": {"good": {"command": "run"}, "it": entry}, "toolcrib": ours}), "utf-8")
    return file


@pytest.mark.parametrize(
    "args",
    [["serve"], ["serve", "--config", "{file}"], ["serve", "--config={file}"], ["serve", "-c", "./{name}"]],
)
def test_a_server_that_starts_toolcrib_with_the_same_configuration_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written = [each.format(file=tmp_path / ".mcp.json", name=".mcp.json") for each in args]
    config = load_config(_file(tmp_path, {"command": "toolcrib", "args": written}, name=".mcp.json"))

    assert [each.name for each in config.enabled] == ["good"]
    assert "would start it again without end" in config.left_out["it"]


def test_a_variable_of_the_entry_that_names_the_configuration_counts(tmp_path: Path) -> None:
    entry = {"command": "toolcrib", "args": ["serve"], "env": {"TOOLCRIB_CONFIG": str(tmp_path / "mcp.json")}}

    assert "it" in load_config(_file(tmp_path, entry)).left_out


def test_toolcrib_with_another_configuration_is_a_server_like_any_other(tmp_path: Path) -> None:
    entry = {"command": "toolcrib", "args": ["serve", "--config", "/srv/other.json"]}

    assert load_config(_file(tmp_path, entry)).left_out == {}


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:8765/mcp", {}),
        ("http://localhost:8765/mcp", {"host": "0.0.0.0"}),  # nothing is bound
        ("http://127.0.0.1:9000/mcp", {"port": 9000}),
    ],
)
def test_a_url_that_is_the_own_address_is_left_out(tmp_path: Path, url: str, own: dict[str, object]) -> None:
    config = load_config(_file(tmp_path, {"url": url}, http=own))

    assert "would be its own client" in config.left_out["it"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:8766/mcp", "https://example.com/mcp"])
def test_another_url_is_served(tmp_path: Path, url: str) -> None:
    assert load_config(_file(tmp_path, {"url": url}, http={})).left_out == {}


def test_a_gateway_below_its_own_configuration_does_not_serve(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    environ = {NESTING_VARIABLE: nested_chain({}, one)}
    environ = {NESTING_VARIABLE: nested_chain(environ, other)}

    with pytest.raises(ConfigError, match=r"`one\.json` leads back to itself"):
        refuse_endless_nesting(one, environ)
    refuse_endless_nesting(tmp_path / "third.json", environ)
    refuse_endless_nesting(None, environ)


def test_gateways_are_nested_so_deep_and_no_deeper(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    for depth in range(MAX_DEPTH):
        refuse_endless_nesting(tmp_path / f"{depth}.json", environ)
        environ = {NESTING_VARIABLE: nested_chain(environ, None)}

    with pytest.raises(ConfigError, match="no more than 3 may be nested"):
        refuse_endless_nesting(tmp_path / "last.json", environ)


@pytest.mark.parametrize("text", ["", "{}", "[1]", "none"])
def test_a_chain_that_was_tampered_with_is_taken_for_a_deep_one(text: str) -> None:
    with pytest.raises(ConfigError, match="may be nested"):
        refuse_endless_nesting(None, {NESTING_VARIABLE: text})
