from __future__ import annotations

import asyncio
from typing import Any

import pytest
from process_children import until
from scripted_servers import ECHO, HANDSHAKE, MODERN, UNKNOWN, ScriptedServer

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import (
    ClientFace,
    Era,
    ListKind,
    Upstream,
    UpstreamHooks,
    UpstreamState,
)

CALL = {"name": "echo", "arguments": {"nonce": "n1"}}


def upstream(server: ScriptedServer, **options: Any) -> Upstream:
    return Upstream("files", server.connect, **options)


@pytest.mark.req("GW-6.4")
async def test_nothing_is_started_before_it_is_needed() -> None:
    server = ScriptedServer()

    async with upstream(server) as files:
        assert files.state is UpstreamState.CONFIGURED
        assert files.agreement is None

    assert server.lives == 0


@pytest.mark.req("GW-6.4")
async def test_a_call_starts_the_server_and_gives_its_result_as_it_came() -> None:
    server = ScriptedServer()

    async with upstream(server) as files:
        result = await files.call("tools/call", CALL)

        assert result == {"echo": {"nonce": "n1"}}
        assert files.state is UpstreamState.STARTED
    assert server.lives == 1


@pytest.mark.req("GW-6.4")
async def test_a_server_passes_through_its_four_states() -> None:
    release = asyncio.Event()

    async def slow(_params: dict[str, Any]) -> dict[str, Any]:
        await release.wait()
        return {}

    server = ScriptedServer(**{"tools/call": slow})
    files = upstream(server)
    states = [files.state]
    files.learn([ECHO])
    states.append(files.state)
    await files.start()
    states.append(files.state)
    calling = asyncio.create_task(files.call("tools/call", CALL))
    await server.until_heard("tools/call")
    states.append(files.state)
    release.set()
    await calling
    await files.aclose()
    states.append(files.state)

    assert states == ["configured", "known", "started", "in use", "known"]


@pytest.mark.req("GW-6.4")
async def test_browsing_needs_no_running_server_once_its_tools_are_known() -> None:
    server = ScriptedServer()

    async with upstream(server) as files:
        files.learn([ECHO])
        listing = await files.tools()

    assert listing.items == (ECHO,)
    assert server.lives == 0


@pytest.mark.req("GW-6.4")
async def test_what_the_server_says_itself_replaces_what_was_learned_and_not_the_other_way_round() -> None:
    async with upstream(ScriptedServer()) as files:
        files.learn([{"name": "stale"}])
        await files.call("tools/call", CALL)
        await until(lambda: files.known_tools.items == (ECHO,))

        files.learn([{"name": "stale"}])

        assert files.known_tools is not None
        assert files.known_tools.items == (ECHO,)


@pytest.mark.req("GW-6.4")
async def test_callers_that_come_at_once_share_one_start() -> None:
    server = ScriptedServer()

    async with upstream(server) as files:
        results = await asyncio.gather(
            *(files.call("tools/call", {"arguments": {"nonce": number}}) for number in range(50))
        )

    assert results == [{"echo": {"nonce": number}} for number in range(50)]
    assert server.lives == 1


@pytest.mark.req("GW-6.3")
async def test_tools_are_read_by_starting_the_server() -> None:
    async with upstream(ScriptedServer()) as files:
        listing = await files.tools()

    assert listing.items == (ECHO,)


@pytest.mark.req("GW-6.2", "GW-6.3")
async def test_tools_that_cannot_be_read_are_an_error_and_not_an_empty_list() -> None:
    async with upstream(ScriptedServer(**{"tools/list": RpcError(-32603, "boom")})) as files:
        for _ in range(2):
            with pytest.raises(UpstreamFailed) as failed:
                await files.tools()
            assert failed.value.rpc_message == "boom"

        assert files.known_tools is None
        assert files.health().tools_problem["details"] == {"rpcCode": -32603}


@pytest.mark.req("GW-6.6")
async def test_other_lists_are_read_when_they_are_asked_for() -> None:
    server = ScriptedServer(**{"prompts/list": {"prompts": [{"name": "greet"}]}})

    async with upstream(server) as files:
        listing = await files.list(ListKind.PROMPTS)

    assert listing.items == ({"name": "greet"},)


async def test_an_error_of_the_server_is_kept_as_it_came() -> None:
    server = ScriptedServer(**{"tools/call": RpcError(-32602, "Unknown tool", {"tool": "echo"})})

    async with upstream(server) as files:
        with pytest.raises(UpstreamFailed) as failed:
            await files.call("tools/call", CALL)

    assert (failed.value.rpc_code, failed.value.rpc_message, failed.value.rpc_data) == (
        -32602,
        "Unknown tool",
        {"tool": "echo"},
    )


async def test_progress_of_a_call_is_reported() -> None:
    server = ScriptedServer()

    async def working(params: dict[str, Any]) -> dict[str, Any]:
        await server.tell("notifications/progress", progressToken=params["_meta"]["progressToken"], progress=1)
        return {}

    server.answers["tools/call"] = working
    seen: list[Any] = []

    async def on_progress(params: dict[str, Any]) -> None:
        seen.append(params["progress"])

    async with upstream(server) as files:
        await files.call("tools/call", CALL, on_progress=on_progress)

    assert seen == [1]


@pytest.mark.fault("F17")
async def test_a_server_that_asks_for_what_was_not_granted_is_refused() -> None:
    server = ScriptedServer()

    async with upstream(server) as files:
        await files.start()
        await server.ask("sampling/createMessage")
        await server.until_heard("")

    assert server.params_of("")["error"]["code"] == -32601
    assert server.params_of("initialize")["capabilities"] == {}


@pytest.mark.fault("F17")
async def test_a_server_that_asks_for_what_was_granted_is_answered() -> None:
    async def roots(_method: str, _params: dict[str, Any]) -> dict[str, Any]:
        return {"roots": [{"uri": "file:///srv"}]}

    server = ScriptedServer()
    options = {"face": ClientFace(capabilities={"roots": {}}), "hooks": UpstreamHooks(on_request=roots)}
    async with upstream(server, **options) as files:
        await files.start()
        await server.ask("roots/list")
        await server.until_heard("")

    assert server.params_of("")["result"] == {"roots": [{"uri": "file:///srv"}]}
    assert server.params_of("initialize")["capabilities"] == {"roots": {}}


@pytest.mark.req("GW-6.6")
async def test_what_a_server_tells_is_handed_on_unless_it_is_about_lists() -> None:
    told: list[str] = []
    done = asyncio.Event()

    async def on_notification(method: str, params: dict[str, Any]) -> None:
        told.append(method)
        if params.get("data") == "last":
            done.set()

    server = ScriptedServer()
    async with upstream(server, hooks=UpstreamHooks(on_notification=on_notification)) as files:
        await files.start()
        await server.tell("notifications/tools/list_changed")
        await server.tell("notifications/message", data="last")
        async with asyncio.timeout(5):
            await done.wait()

    assert told == ["notifications/message"]


@pytest.mark.req("GW-6.4")
async def test_health_is_json_that_tells_what_there_is_to_tell() -> None:
    async with upstream(ScriptedServer(), address="stdio: files-server") as files:
        before = files.health().to_json()
        await files.start()
        after = files.health().to_json()

    assert before == {
        "name": "files",
        "state": "configured",
        "phase": "resting",
        "circuit": "closed",
        "address": "stdio: files-server",
        "callsUnderWay": 0,
        "starts": 0,
        "failures": 0,
        "noise": {},
    }
    assert after == {
        **before,
        "state": "started",
        "phase": "serving",
        "era": "handshake",
        "protocolVersion": "2025-11-25",
        "server": {"name": "scripted", "version": "1"},
        "tools": 1,
        "starts": 1,
    }


@pytest.mark.req("GW-6.2")
@pytest.mark.parametrize(
    ("discover", "initialize", "era"), [(MODERN, UNKNOWN, Era.MODERN), (UNKNOWN, HANDSHAKE, Era.HANDSHAKE)]
)
async def test_a_server_of_either_era_is_asked_in_the_same_way(discover: Any, initialize: Any, era: Era) -> None:
    server = ScriptedServer(**{"server/discover": discover, "initialize": initialize})

    async with upstream(server) as files:
        result = await files.call("tools/call", CALL)

        assert result == {"echo": {"nonce": "n1"}}
        assert files.agreement is not None
        assert files.agreement.era is era
