"""Clients of the official SDK in front of a transparent service: they see the server, and answer what it asks."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp.types as t
import pytest
from mcp import Client, MCPError
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from relay_cases import ERAS, GRANTS, Case, transparent
from relay_servers import RelayServer

from toolcrib_mcp.front.in_process import connect_service
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams.eras import Era

MODES: dict[Era, Any] = {Era.HANDSHAKE: "legacy", Era.MODERN: "2026-07-28"}


@asynccontextmanager
async def _streams(case: Case) -> AsyncIterator[Any]:
    """The transport of an SDK client to the service, in the same process."""
    wire = await connect_service(case.service)()
    to_client, client_in = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    client_out, from_client = anyio.create_memory_object_stream[SessionMessage](16)

    async def receive() -> None:
        with to_client:
            while True:
                try:
                    message = await wire.receive()
                except WireClosed:
                    return
                await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False)))

    async def send() -> None:
        async for each in from_client:
            await wire.send(each.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

    tasks = [asyncio.create_task(receive()), asyncio.create_task(send())]
    try:
        yield client_in, client_out
    finally:
        await wire.aclose()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (to_client, client_in, client_out, from_client):
            stream.close()


@asynccontextmanager
async def sdk_client(case: Case, era: Era, **options: Any) -> AsyncIterator[Client]:
    with warnings.catch_warnings():
        # Sampling, roots and logging are deprecated in the SDK, and in use all the same.
        warnings.simplefilter("ignore", DeprecationWarning)
        async with asyncio.timeout(20), Client(_streams(case), mode=MODES[era], **options) as client:
            yield client


async def elicited(context: Any, params: Any) -> t.ElicitResult:
    return t.ElicitResult(action="accept", content={"colour": "red"})


async def sampled(context: Any, params: Any) -> t.CreateMessageResult:
    return t.CreateMessageResult(role="assistant", content=t.TextContent(type="text", text="hello"), model="m")


async def roots(context: Any) -> t.ListRootsResult:
    return t.ListRootsResult(roots=[t.Root(uri="file:///home")])


@pytest.mark.req("GW-6.2")
@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("behind", ERAS)
@pytest.mark.parametrize("front", ERAS)
async def test_an_sdk_client_is_asked_by_any_server(front: Era, behind: Era) -> None:
    async with (
        transparent(RelayServer(era=behind), grants=GRANTS) as case,
        sdk_client(
            case, front, elicitation_callback=elicited, sampling_callback=sampled, list_roots_callback=roots
        ) as client,
    ):
        said = [(await client.call_tool(tool, {})).content[0].text for tool in ("ask", "sample", "roots", "ask_twice")]  # type: ignore[union-attr]  # all are texts

    twice = "done xx" if behind is Era.MODERN else "accept {'colour': 'red'} and accept {'colour': 'red'}"
    assert said == ["accept {'colour': 'red'}", "m says hello", "roots ['file:///home']", twice]


@pytest.mark.req("GW-6.2")
@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("behind", ERAS)
@pytest.mark.parametrize("front", ERAS)
async def test_an_sdk_client_uses_everything_a_server_has(front: Era, behind: Era) -> None:
    progress: list[float] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    async with transparent(RelayServer(era=behind)) as case, sdk_client(case, front) as client:
        tools = await client.list_tools()
        await client.call_tool("progress", {}, progress_callback=on_progress)
        read = await client.read_resource("file:///a")
        prompt = await client.get_prompt("greet", {"who": "you"})
        completed = await client.complete(
            t.PromptReference(type="ref/prompt", name="greet"), {"name": "who", "value": "y"}
        )
        with pytest.raises(MCPError) as failed:
            await client.call_tool("fail", {})

    assert "echo" in [tool.name for tool in tools.tools]
    assert progress == [1, 2, 3]
    assert read.contents[0].text == "fixture has file:///a"  # type: ignore[union-attr]  # it is a text
    assert prompt.messages[0].content.text == "fixture greet {'who': 'you'}"  # type: ignore[union-attr]  # as above
    assert completed.completion.values == ["fixture greet y"]
    assert (failed.value.code, failed.value.message, failed.value.data) == (-32050, "No luck.", {"why": ["moon"]})
