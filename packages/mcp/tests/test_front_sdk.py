"""The official client in front of us: over the pipes of a real process and in this one, in both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import mcp.types as t
import pytest
from front_services import WATCHED, FixtureService
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from process_children import until
from pydantic import TypeAdapter

from toolcrib_mcp.front import connect_service
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams.eras import Era

VERSIONS = {"legacy": "2025-11-25", "2026-07-28": "2026-07-28", "auto": "2026-07-28"}
SCRIPT = Path(__file__).with_name("front_stdio_server.py")

Connect = Callable[..., Client]

pytestmark = pytest.mark.req("GW-6.2", "GW-6.6")


def _to_process(**options: Any) -> Client:
    return Client(StdioServerParameters(command=sys.executable, args=[str(SCRIPT)]), cache=None, **options)


def _to_service(service: FixtureService | None = None, **options: Any) -> Client:
    return Client(_streams(service or FixtureService()), cache=None, **options)


both_ways = pytest.mark.parametrize("connect", [_to_process, _to_service], ids=["process", "in process"])
all_modes = pytest.mark.parametrize(
    ("connect", "mode"),
    [
        pytest.param(connect, mode, id=f"{way}-{mode}")
        for way, connect, modes in [
            ("process", _to_process, ["legacy", "auto"]),
            ("in process", _to_service, list(VERSIONS)),
        ]
        for mode in modes
    ],
)


@asynccontextmanager
async def _streams(service: FixtureService) -> AsyncIterator[tuple[Any, Any]]:
    """The streams that a client of the SDK speaks on, with a service of ours behind them."""
    wire = await connect_service(service)()
    to_client, client_in = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    client_out, from_client = anyio.create_memory_object_stream[SessionMessage](16)

    async def hand_out() -> None:
        with suppress(WireClosed, anyio.BrokenResourceError):
            while True:
                await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_python(await wire.receive())))

    async def hand_in() -> None:
        async for item in from_client:
            await wire.send(item.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

    pumps = [asyncio.create_task(hand_out()), asyncio.create_task(hand_in())]
    try:
        yield client_in, client_out
    finally:
        await wire.aclose()
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        for stream in (to_client, client_in, client_out, from_client):
            stream.close()


def _text(result: t.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, t.TextContent)
    return block.text


@all_modes
async def test_it_lists_and_calls(connect: Connect, mode: str) -> None:
    async with asyncio.timeout(20), connect(mode=mode) as client:
        version = client.protocol_version
        listed = await client.list_tools()
        result = await client.call_tool("echo", {"nonce": "n1"})

    assert version == VERSIONS[mode]
    assert "echo" in [tool.name for tool in listed.tools]
    assert _text(result) == "n1"


@all_modes
async def test_fields_that_the_protocol_does_not_know_reach_it(connect: Connect, mode: str) -> None:
    async with asyncio.timeout(20), connect(mode=mode) as client:
        listed = await client.session.send_request(t.ListToolsRequest(), TypeAdapter(dict[str, Any]))

    assert [tool["novel"] for tool in listed["tools"]] == [[1]] * len(listed["tools"])


@all_modes
async def test_it_hears_of_progress_in_order_and_before_the_result(connect: Connect, mode: str) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with asyncio.timeout(20), connect(mode=mode) as client:
        result = await client.call_tool("progress", {}, progress_callback=progress)

    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
    assert _text(result) == "done"


@all_modes
async def test_errors_keep_their_code_and_data(connect: Connect, mode: str) -> None:
    async with asyncio.timeout(20), connect(mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("fail", {})

    assert (refused.value.code, refused.value.message) == (-32123, "It failed.")
    assert refused.value.data == {"why": ["kept", 1]}


@all_modes
async def test_it_gets_the_log_messages_that_it_asked_for(connect: Connect, mode: str) -> None:
    heard: list[tuple[str, object]] = []

    async def log(params: t.LoggingMessageNotificationParams) -> None:
        heard.append((params.level, params.data))

    async with asyncio.timeout(20), connect(mode=mode, logging_callback=log, log_level="debug") as client:
        await client.call_tool("log", {})
        await until(lambda: len(heard) == 2)

    assert heard == [("debug", "from debug"), ("error", "from error")]


@both_ways
async def test_it_is_asked_for_what_the_user_wants(connect: Connect) -> None:
    async def elicit(_context: object, params: t.ElicitRequestParams) -> t.ElicitResult:
        return t.ElicitResult(action="accept", content={"said": params.message})

    asked = {"message": "Which colour?", "requestedSchema": {"type": "object", "properties": {}}}

    async with asyncio.timeout(20), connect(mode="legacy", elicitation_callback=elicit) as client:
        result = await client.call_tool("ask", {"method": "elicitation/create", "params": asked})

    assert result.structured_content == {"action": "accept", "content": {"said": "Which colour?"}}


@both_ways
async def test_it_is_asked_for_the_words_of_its_model(connect: Connect) -> None:
    async def sample(_context: object, params: t.CreateMessageRequestParams) -> t.CreateMessageResult:
        return t.CreateMessageResult(role="assistant", content=t.TextContent(type="text", text="42"), model="m")

    asked = {"messages": [{"role": "user", "content": {"type": "text", "text": "6 * 7?"}}], "maxTokens": 9}

    async with asyncio.timeout(20), connect(mode="legacy", sampling_callback=sample) as client:
        result = await client.call_tool("ask", {"method": "sampling/createMessage", "params": asked})

    assert result.structured_content is not None
    assert result.structured_content["content"] == {"type": "text", "text": "42"}


@both_ways
async def test_what_it_does_not_offer_is_refused_by_it(connect: Connect) -> None:
    async with asyncio.timeout(20), connect(mode="legacy") as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("ask", {"method": "roots/list", "params": {}})

    assert refused.value.message == "List roots not supported"


@pytest.mark.req("GW-6.5")
@both_ways
async def test_it_is_told_of_changes_after_the_handshake(connect: Connect) -> None:
    changed = asyncio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, t.ToolListChangedNotification):
            changed.set()

    async with asyncio.timeout(20), connect(mode="legacy", message_handler=hear) as client:
        await client.call_tool("change", {})
        await changed.wait()


@pytest.mark.req("GW-6.5")
@both_ways
async def test_it_is_told_of_changes_while_it_listens(connect: Connect) -> None:
    async with asyncio.timeout(20), connect(mode="auto") as client:
        async with client.listen(tools_list_changed=True, resource_subscriptions=[WATCHED]) as stream:
            await client.call_tool("change", {})
            tools = await anext(stream)
            await client.call_tool("touch", {})
            resource = await anext(stream)
        after = await client.call_tool("echo", {"nonce": "still there"})

    assert type(tools).__name__ == "ToolsListChanged"
    assert getattr(resource, "uri", None) == WATCHED
    assert _text(after) == "still there"


@pytest.mark.parametrize("mode", VERSIONS)
@pytest.mark.fault("F16")
async def test_a_call_that_it_gives_up_is_cancelled_here(mode: str) -> None:
    service = FixtureService()

    async with asyncio.timeout(20), _to_service(service, mode=mode) as client:
        with pytest.raises(MCPError):
            await client.call_tool("hang", {}, read_timeout_seconds=0.1)
        await service.cancelled.wait()
        after = await client.call_tool("echo", {"nonce": "n2"})

    assert _text(after) == "n2"


@pytest.mark.fault("F16")
async def test_the_work_for_a_client_that_leaves_is_cancelled_and_what_was_kept_for_it_forgotten() -> None:
    service = FixtureService()

    async with asyncio.timeout(20), _to_service(service, mode="legacy") as client:
        calling = asyncio.create_task(client.call_tool("hang", {}))
        await service.hanging.wait()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)

    assert service.cancelled.is_set()
    assert service.ended == [service.requests[0].caller.conversation]
    assert service.requests[0].caller.era is Era.HANDSHAKE
