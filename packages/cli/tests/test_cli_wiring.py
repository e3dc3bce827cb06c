"""From what is asked for to what is served: the choice of a catalogue, its sources, and a gateway over it."""

from __future__ import annotations

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.chaos import hostile_server
from toolcrib_cli import wiring
from toolcrib_cli.asking import Choice, asked_for, usable_state
from toolcrib_cli.session import run, with_gateway
from toolcrib_cli.wiring import Asked, wired
from toolcrib_mcp import ConfigError, GatewayConfig, load_config
from toolcrib_mcp.config import ServerSettings


@pytest.fixture
def config(tmp_path):
    """A configuration with one server, called `time` as one of the demo is."""
    entry = {"command": sys.executable, "args": ["-I", "-S", hostile_server.__file__, "--mode", "good"]}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"time": entry}}))
    return file


def _asked(choice, tmp_path, **environ):
    return asked_for(choice, environ={"HOME": str(tmp_path), **environ}, directory=tmp_path)


def test_without_a_configuration_it_is_the_demo_which_is_told(tmp_path, capsys):
    asked = _asked(Choice(), tmp_path)

    assert (asked.demo, asked.path, asked.folder) == (True, None, tmp_path)
    assert asked.state_dir == tmp_path / ".local/state/toolcrib/demo"
    assert capsys.readouterr().err.startswith("demo: ")


def test_whatever_is_added_takes_the_place_of_the_demo(tmp_path, capsys):
    asked = _asked(Choice(toolpacks=(Path("packs"),)), tmp_path)

    assert (asked.demo, asked.toolpacks) == (False, (Path("packs"),))
    assert asked.state_dir is not None
    assert asked.state_dir.name == "no-config"
    assert capsys.readouterr().err == ""


@pytest.mark.req("CT-27")
@pytest.mark.parametrize(
    "choice", [Choice(toolsets=True), Choice(context_packs=True), Choice(toolpacks=(Path("packs"),))], ids=str
)
def test_a_configuration_without_servers_is_fine_where_there_are_tools(tmp_path, choice):
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}, "toolcrib": {"mode": "proxy"}}')

    asked = _asked(choice, tmp_path)

    assert (asked.demo, asked.config.servers, asked.config.settings.mode) == (False, {}, "proxy")
    with pytest.raises(ConfigError, match="has no servers in it"):
        _asked(Choice(), tmp_path)


@pytest.mark.req("CT-27")
async def test_the_last_server_may_be_taken_out_of_a_configuration_where_there_are_tools(config):
    before = load_config(config)
    config.write_text('{"mcpServers": {}}')

    async with wired(Asked(config=before, path=config, toolsets=True)) as parts:
        assert parts.reload is not None
        assert parts.reload().servers == {}
    async with wired(Asked(config=before, path=config)) as parts:
        assert parts.reload is not None
        with pytest.raises(ConfigError, match="has no servers in it"):
            parts.reload()


def test_a_demo_that_is_asked_for_counts_before_a_configuration(config, tmp_path, capsys):
    assert _asked(Choice(demo=True), tmp_path).demo
    assert not _asked(Choice(), tmp_path).demo
    assert _asked(Choice(), tmp_path).path == config
    assert capsys.readouterr().err == ""


def test_without_a_state_directory_there_is_nothing_to_make():
    assert usable_state(Asked(config=GatewayConfig(servers={})), named=True) is None


async def test_what_is_brought_is_trusted_and_closed_at_the_end(monkeypatch):
    events = []

    @asynccontextmanager
    async def source(asked):
        events.append("opened")
        yield {"mine": None}
        events.append("closed")

    monkeypatch.setattr(wiring, "_sources", lambda asked: [(source, ServerSettings(trusted=True))])

    async with wired(Asked(config=GatewayConfig(servers={}))) as parts:
        assert list(parts.upstreams) == ["mine"]
        assert parts.config.settings.servers["mine"].trusted
        assert events == ["opened"]

    assert events == ["opened", "closed"]


async def test_two_servers_of_one_name_are_refused(config, tmp_path):
    with pytest.raises(ConfigError, match="Two servers are called `time`"):
        async with wired(Asked(config=load_config(config), demo=True, folder=tmp_path)):
            raise AssertionError("it was let in")


def test_a_server_whose_tools_are_known_is_not_started_again(config, tmp_path):
    choice = Choice(config=config, state_dir=tmp_path / "state")

    async def running(gateway):
        return {name: each.health.starts for name, each in gateway.hub.status().servers.items()}

    assert with_gateway(choice, running, timeout=20) == {"time": 1}
    assert with_gateway(choice, running, timeout=20) == {"time": 0}
    assert with_gateway(choice, running, timeout=20, fresh=True) == {"time": 1}


def test_a_server_that_cannot_be_asked_is_left_out_and_told(config, tmp_path, capsys):
    config.write_text(json.dumps({"mcpServers": {"gone": {"command": str(tmp_path / "no-such-program")}}}))
    choice = Choice(config=config, state_dir=tmp_path / "state")

    async def ids(gateway):
        return gateway.hub.catalog.snapshot().ids

    assert with_gateway(choice, ids, timeout=20) == ()
    assert "warning: The server `gone` is left out: " in capsys.readouterr().err


def test_being_asked_to_stop_ends_the_work(monkeypatch):
    async def stopped(event, work):
        work.close()

    async def work():
        raise AssertionError("it was done")

    monkeypatch.setattr("toolcrib_mcp.serving.unless", stopped)

    with pytest.raises(KeyboardInterrupt):
        run(work())
