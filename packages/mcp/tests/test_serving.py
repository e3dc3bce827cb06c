"""Serving a configuration, from the first request until nothing is left."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import sys
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from mcp import Client
from process_children import SIGN, nothing_left, until

from tests.chaos import hostile_server
from toolcrib_core import DocumentVectors
from toolcrib_mcp import ConfigError, load_config
from toolcrib_mcp.audit.segment import Segment
from toolcrib_mcp.config import HttpFront
from toolcrib_mcp.serving import entrance_to, read_live, serve, serve_composed
from toolcrib_mcp.serving.background import Background
from toolcrib_store import StoreDamaged

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
ANYWHERE = HttpFront(port=0)


@pytest.fixture
async def family():
    async with nothing_left() as family:
        yield family


def _config(directory: Path, family: str, **modes: str):
    servers = {
        name: {
            "command": sys.executable,
            "args": ["-I", "-S", hostile_server.__file__, "--mode", mode],
            "env": {SIGN: family},
        }
        for name, mode in modes.items()
    }
    file = directory / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    # Nobody declares what these tools do, and no client here can be asked.
    file.with_name("toolcrib.policy.toml").write_text('version = 1\ndefault = "allow"\n', encoding="utf-8")
    return load_config(file)


@asynccontextmanager
async def _serving(config, **options):
    """The URL; at the end, it is asked to stop and has."""
    ready = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(config, http=ANYWHERE, on_ready=ready.set_result, **options))
    try:
        async with asyncio.timeout(30):
            await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
            yield ready.result() if ready.done() else await task
            _terminate_ourselves(task)
            await task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.1")
async def test_in_transparent_mode_clients_see_the_tools_as_they_are(tmp_path, family):
    async with _serving(_config(tmp_path, family, one="good"), mode="transparent") as url, Client(url) as client:
        tools = await client.list_tools()
        result = await client.call_tool("echo", {"nonce": "n1"})

    assert [tool.name for tool in tools.tools] == ["echo", "steady"]
    assert result.structured_content == {"nonce": "n1"}


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.1", "GW-4.1")
async def test_in_proxy_mode_clients_see_two_tools_and_a_stripped_list(tmp_path, family):
    async with _serving(_config(tmp_path, family, one="good"), mode="proxy") as url, Client(url) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("tool_execute", {"tool_id": names[2], "args": {"nonce": "n1"}})

    assert names[:2] == ["tool_hydrate", "tool_execute"]
    assert result.structured_content == {"nonce": "n1"}


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.1", "GW-4.2")
async def test_in_gateway_mode_clients_see_three_tools_and_no_more(tmp_path, family):
    config = _config(tmp_path, family, one="good")
    async with _serving(config, mode="gateway", state_dir=tmp_path / "state") as url, Client(url) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        page = await client.call_tool("tool_browse", {"path": "/one"})
        result = await client.call_tool("tool_execute", {"tool_id": "one__echo", "args": {"nonce": "n1"}})

    assert names == ["tool_browse", "tool_execute", "tool_view"]
    assert page.content[0].text.startswith("one:echo")
    assert result.structured_content == {"nonce": "n1"}
    assert (tmp_path / "state" / "artifacts.db").is_file()


@pytest.mark.enable_socket
@pytest.mark.fault("K23")
async def test_an_audit_that_cannot_be_written_is_in_its_health(tmp_path, family, monkeypatch):
    class FullDisk(Segment):
        full = True

        def append(self, data):
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            super().append(data)

    monkeypatch.setattr("toolcrib_mcp.audit.writing.Segment", FullDisk)
    state = tmp_path / "state"
    async with _serving(_config(tmp_path, family, one="good"), mode="proxy", state_dir=state):
        await until(lambda: _audit_problems(state) not in ([], [None]))
        (problem,) = _audit_problems(state)
        FullDisk.full = False
        await until(lambda: _audit_problems(state) == [None])

    assert problem.startswith("No space left on device. Calls that may change something are refused")


def _audit_problems(state):
    return [live.hub["auditProblem"] for live in read_live(state, now=0)]


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.4")
async def test_while_it_serves_its_health_can_be_read_and_afterwards_not(tmp_path, family):
    state = tmp_path / "state"
    async with _serving(_config(tmp_path, family, one="good"), mode="proxy", state_dir=state) as url:
        await until(lambda: _tools_told(state) == [2])
        (live,) = read_live(state, now=0)

    assert (live.pid, live.mode, live.address) == (os.getpid(), "proxy", url)
    kept = {"approvals.key", "artifacts.db", "audit", "audit.key", "audit.pub", "catalog.json"}
    assert {path.name for path in state.iterdir()} == kept


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.4")
async def test_while_it_serves_it_tells_how_many_sessions_are_open(tmp_path, family, monkeypatch):
    monkeypatch.setattr("toolcrib_mcp.serving.reporting.RENEW_EVERY", 0.0)
    state = tmp_path / "state"
    async with _serving(_config(tmp_path, family, one="good"), mode="proxy", state_dir=state) as url:
        async with Client(url, mode="legacy"):
            await until(lambda: _sessions_told(state) == [1])
        await until(lambda: _sessions_told(state) == [0])


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F1")
async def test_a_server_that_cannot_start_is_told_of_and_keeps_nobody_from_being_served(tmp_path, family, caplog):
    config = _config(tmp_path, family, bad="crash", good="good")
    with caplog.at_level(logging.WARNING, logger="toolcrib.mcp"):
        async with _serving(config, mode="transparent") as url, Client(url) as client:
            result = await client.call_tool("good__echo", {"nonce": "n1"})
            await until(lambda: any("the server `bad` is not ready" in each for each in caplog.messages))

    assert result.structured_content == {"nonce": "n1"}


@pytest.mark.enable_socket
@pytest.mark.req("GW-8.7")
@pytest.mark.fault("F16")
async def test_a_second_signal_kills_what_does_not_want_to_end(tmp_path, family):
    state = tmp_path / "state"
    config = _config(tmp_path, family, stubborn="ignores_sigterm")
    async with _serving(config, mode="transparent", state_dir=state):
        await until(lambda: _tools_told(state) == [2])
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: not read_live(state, now=0))
        # The servers are being closed, and at the end of this block comes the second signal.
        since = time.monotonic()

    assert time.monotonic() - since < 4  # it would take two seconds to end by itself, and two more to be killed


async def test_an_address_that_must_not_be_served_on_is_refused_and_nothing_is_left(tmp_path, family):
    config = _config(tmp_path, family, one="good")

    with pytest.raises(ConfigError, match="token"):
        await serve(config, mode="proxy", http=HttpFront(host="0.0.0.0", port=0))


@pytest.mark.parametrize("file", ["toolcrib.policy.toml", "toolcrib.lock.json"])
async def test_without_a_usable_policy_or_lock_file_no_server_is_started(tmp_path, family, file):
    config = _config(tmp_path, family, one="good")
    config.path.with_name(file).write_text("] this is neither", encoding="utf-8")

    with pytest.raises(ConfigError):
        await serve(config, mode="proxy", http=ANYWHERE, state_dir=tmp_path / "state")

    assert not (tmp_path / "state").exists()


@pytest.mark.enable_socket
async def test_where_the_database_cannot_be_opened_nothing_is_served_and_nothing_is_left(tmp_path, family):
    config = _config(tmp_path, family, one="good")
    (tmp_path / "artifacts.db").write_bytes(b"this is no database, and long enough to be seen as none" * 100)

    with pytest.raises(StoreDamaged):
        await serve(config, mode="proxy", http=ANYWHERE, state_dir=tmp_path)

    assert read_live(tmp_path, now=0) == []


@pytest.mark.req("CL-12")
@pytest.mark.parametrize("mode", ["gateway", "proxy"])
async def test_a_client_is_answered_at_once_although_no_server_ever_answers(tmp_path, family, mode):
    config = _config(tmp_path, family, one="hang", two="hang", three="hang")
    with _standard_streams() as (to_server, from_server):
        serving = asyncio.create_task(serve(config, mode=mode))
        answers = [
            await _asked(to_server, from_server, "initialize", INITIALIZE),
            *([await _asked(to_server, from_server, "tools/list", {})] if mode == "gateway" else []),
        ]
        to_server.close()
        async with asyncio.timeout(15):
            await serving

    assert {"tools", "resources", "prompts"} <= answers[0]["capabilities"].keys()
    assert [tool["name"] for each in answers[1:] for tool in each["tools"]] == (
        ["tool_browse", "tool_execute", "tool_view"] if mode == "gateway" else []
    )


@pytest.mark.enable_socket
@pytest.mark.req("CL-12")
async def test_over_http_a_second_client_is_answered_while_no_server_has_answered(tmp_path, family):
    async with _serving(_config(tmp_path, family, one="hang"), mode="gateway") as url, Client(url) as first:
        # Answered by what is composed, not by the greeting.
        viewed = await first.call_tool("tool_view", {"handle": "art_none", "selector": {"type": "all"}})
        async with Client(url, mode="legacy") as second:
            names = [tool.name for tool in (await second.list_tools()).tools]

    assert viewed.is_error
    assert names == ["tool_browse", "tool_execute", "tool_view"]


@pytest.mark.req("CL-12")
async def test_what_waits_for_the_servers_is_told_why_they_could_not_be_composed(tmp_path, family):
    @asynccontextmanager
    async def compose():
        raise ConfigError("The policy cannot be used.", hint="Correct it.")
        yield

    entrance = entrance_to(_config(tmp_path, family, one="good"), mode="gateway")
    with _standard_streams() as (to_server, from_server):
        serving = asyncio.create_task(serve_composed(compose, entrance))
        await _asked(to_server, from_server, "initialize", INITIALIZE)
        error = await _asked(to_server, from_server, "prompts/list", {})
        with pytest.raises(ConfigError, match="policy"):
            await serving

    assert error["message"] == "The policy cannot be used. Correct it."


@pytest.mark.fault("F16")
async def test_over_standard_input_and_output_it_ends_when_the_client_leaves(tmp_path, family):
    config = _config(tmp_path, family, one="good")
    ready: list[str | None] = []
    with _standard_streams() as (to_server, from_server):
        serving = asyncio.create_task(serve(config, mode="transparent", on_ready=ready.append))
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
        to_server.write(json.dumps(message).encode() + b"\n")
        answer = json.loads(await asyncio.to_thread(from_server.readline))
        to_server.close()
        async with asyncio.timeout(15):
            await serving

    assert ready == [None]
    assert answer["result"]["serverInfo"]["name"] == "toolcrib"


async def test_what_fails_beside_the_serving_is_logged_and_ends_nothing(caplog):
    async def fail():
        raise ValueError("no")

    async with Background() as background:
        background.spawn(fail())
        await until(lambda: bool(caplog.records))

    assert caplog.messages == ["something beside the serving has failed"]


async def test_what_goes_on_beside_the_serving_ends_with_it():
    ended = asyncio.Event()

    async def go_on():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with Background() as background:
        background.spawn(go_on())
        await asyncio.sleep(0)

    assert ended.is_set()


async def _asked(to_server, from_server, method, params):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    to_server.write(json.dumps(message).encode() + b"\n")
    answer = json.loads(await asyncio.to_thread(from_server.readline))
    return answer.get("result", answer.get("error"))


def _terminate_ourselves(serving: asyncio.Task[None]) -> None:
    # Only while somebody hears it: else it would be the end of the tests.
    if not serving.done():
        os.kill(os.getpid(), signal.SIGTERM)


def _sessions_told(state):
    return [live.held.sessions for live in read_live(state, now=0)]


def _tools_told(state: Path) -> list[int | None]:
    return [
        server["health"].get("tools") for live in read_live(state, now=0) for server in live.hub["servers"].values()
    ]


def _starts_told(state: Path) -> list[int]:
    return [server["health"]["starts"] for live in read_live(state, now=0) for server in live.hub["servers"].values()]


@contextmanager
def _standard_streams():
    """Pipes in place of our standard input and output, with their other ends."""
    kept = [os.dup(0), os.dup(1)]
    input_end, to_server = os.pipe()
    from_server, output_end = os.pipe()
    os.dup2(input_end, 0)
    os.dup2(output_end, 1)
    os.close(input_end)
    os.close(output_end)
    try:
        with os.fdopen(to_server, "wb", buffering=0) as writing, os.fdopen(from_server, "rb") as reading:
            yield writing, reading
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)


class _Model:
    """A sentence model that finds nothing, and notes what it was asked for."""

    name, dimensions = "toy", 4

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts):
        self.texts += texts
        return np.zeros((len(texts), self.dimensions), np.float32)


@pytest.mark.enable_socket
@pytest.mark.req("GW-7.1")
async def test_the_gateway_searches_by_meaning_as_soon_as_the_model_is_ready(tmp_path, family):
    model, opened = _Model(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def open_vectors():
        loop.call_soon_threadsafe(opened.set)
        return DocumentVectors(model)

    config = _config(tmp_path, family, good="good")
    async with _serving(config, mode="gateway", open_vectors=open_vectors) as url, Client(url) as client:
        await opened.wait()
        while "words of a request" not in model.texts:
            found = await client.call_tool("tool_browse", {"query": "words of a request"})

    assert not found.is_error
    assert len(model.texts) > 1  # the tools themselves were embedded ahead


@pytest.mark.enable_socket
@pytest.mark.req("CL-13")
async def test_an_edit_of_the_configuration_is_served_without_a_restart(tmp_path, family):
    config, state = _config(tmp_path, family, one="good"), tmp_path / "state"
    text = config.path.read_text("utf-8")

    def reload():
        return load_config(config.path)

    async with (
        _serving(config, mode="gateway", state_dir=state, reload=reload) as url,
        Client(url) as client,
    ):
        _config(tmp_path, family, one="good", other="good")
        await until(lambda: _tools_told(state) == [2, 2])
        result = await client.call_tool("tool_execute", {"tool_id": "other__echo", "args": {"nonce": "n1"}})
        config.path.write_text("{", "utf-8")
        await until(lambda: any("configProblem" in live.hub for live in read_live(state, now=0)))
        config.path.write_text(text, "utf-8")
        await until(lambda: _tools_told(state) == [2])
        (live,) = read_live(state, now=0)

    assert not result.is_error
    assert "configProblem" not in live.hub


@pytest.mark.enable_socket
@pytest.mark.req("CL-13")
async def test_a_second_start_starts_no_server_until_a_call_needs_it(tmp_path, family):
    config, state = _config(tmp_path, family, one="good", other="good"), tmp_path / "state"
    async with _serving(config, mode="gateway", state_dir=state):
        await until(lambda: _tools_told(state) == [2, 2])

    async with _serving(config, mode="gateway", state_dir=state) as url, Client(url) as client:
        page = await client.call_tool("tool_browse", {"path": "/one"})
        await until(lambda: _tools_told(state) == [2, 2])
        before = _starts_told(state)
        result = await client.call_tool("tool_execute", {"tool_id": "one__echo", "args": {"nonce": "n1"}})
        await until(lambda: _starts_told(state) == [1, 0])

    assert page.content[0].text.startswith("one:echo")
    assert before == [0, 0]
    assert not result.is_error


@pytest.mark.enable_socket
async def test_without_a_model_the_gateway_searches_by_words(tmp_path, family):
    config = _config(tmp_path, family, good="good")

    async with _serving(config, mode="gateway", open_vectors=lambda: None) as url, Client(url) as client:
        found = await client.call_tool("tool_browse", {"query": "echo"})

    assert "good:echo" in found.content[0].text
