"""The HTTP front as the official client meets it, in both eras."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import mcp.types as t
import pytest
from front_http_cases import FakeService, serving
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from toolcrib_mcp.front import Notice
from toolcrib_mcp.upstreams.eras import Era

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-6.2")]

MODES = ("legacy", "2026-07-28")


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_lists_and_calls(mode):
    async with serving(FakeService()) as url, Client(url, mode=mode) as client:
        tools = await client.list_tools()
        result = await client.call_tool("echo", {"nonce": "n1"})

    assert [tool.name for tool in tools.tools] == ["echo", "routed"]
    assert result.content[0].text == "n1"


async def test_a_client_of_both_eras_is_served_in_the_modern_one():
    service = FakeService()

    async with serving(service) as url, Client(url, mode="auto") as client:
        await client.list_tools()
        version, instructions = client.protocol_version, client.instructions

    assert (version, instructions) == ("2026-07-28", "Try it.")
    assert service.requests[-1].caller.era is Era.MODERN


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("mode", MODES)
async def test_progress_arrives_before_the_result(mode):
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async with serving(FakeService()) as url, Client(url, mode=mode) as client:
        await client.call_tool("progress", {}, progress_callback=on_progress)

    assert seen == [1, 2, 3]


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("mode", MODES)
async def test_a_log_message_arrives_with_its_request(mode):
    heard: list[Any] = []

    async def on_log(params: t.LoggingMessageNotificationParams) -> None:
        heard.append(params.data)

    async with serving(FakeService()) as url, Client(url, mode=mode, logging_callback=on_log) as client:
        await client.call_tool("log", {})

    assert heard == ["working"]


@pytest.mark.req("GW-6.6")
async def test_a_handshake_client_is_asked_on_the_stream_of_its_request():
    async def elicit(context: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
        return t.ElicitResult(action="accept", content={"colour": "green"})

    async with serving(FakeService()) as url, Client(url, mode="legacy", elicitation_callback=elicit) as client:
        result = await client.call_tool("ask", {})

    assert result.content[0].text == "{'action': 'accept', 'content': {'colour': 'green'}}"


@pytest.mark.req("GW-6.6")
async def test_a_handshake_client_samples():
    async def sample(context: Any, params: t.CreateMessageRequestParams) -> t.CreateMessageResult:
        return t.CreateMessageResult(role="assistant", content=t.TextContent(type="text", text="hello"), model="m")

    async with serving(FakeService()) as url, Client(url, mode="legacy", sampling_callback=sample) as client:
        result = await client.call_tool("sample", {})

    assert "'text': 'hello'" in result.content[0].text


@pytest.mark.req("GW-6.6")
async def test_a_refusal_of_the_client_keeps_its_code():
    async def refuse(context: Any, params: t.ElicitRequestParams) -> t.ErrorData:
        return t.ErrorData(code=-32055, message="not now", data={"why": "busy"})

    async with serving(FakeService()) as url, Client(url, mode="legacy", elicitation_callback=refuse) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("ask", {})

    assert (refused.value.error.code, refused.value.error.data) == (-32055, {"why": "busy"})


@pytest.mark.parametrize("mode", MODES)
async def test_an_error_of_the_service_keeps_its_code_and_data(mode):
    async with serving(FakeService()) as url, Client(url, mode=mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("refuse", {})

    assert refused.value.error.code == -32602
    assert refused.value.error.message == "Unknown tool"
    assert refused.value.error.data == {"tool": "refuse"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("tool", "logged"), [("fail", "secret detail"), ("unwritable", "a result is not JSON")])
async def test_the_text_of_a_failure_of_ours_stays_here(mode, tool, logged, caplog):
    async with serving(FakeService()) as url, Client(url, mode=mode) as client:
        with pytest.raises(MCPError) as failed:
            await client.call_tool(tool, {})

    assert (failed.value.error.code, failed.value.error.message) == (-32603, "Internal error")
    assert logged in caplog.text


@pytest.mark.fault("F16")
@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_the_client_takes_back_is_cancelled(mode):
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, Client(url, mode=mode) as client:
        calling = asyncio.create_task(client.call_tool("hang", {}))
        await service.hanging.wait()
        calling.cancel()
        await service.cancelled.wait()
        again = await client.call_tool("echo", {"nonce": "still here"})

    assert again.content[0].text == "still here"


@pytest.mark.req("GW-6.5")
async def test_a_handshake_client_hears_of_changes_on_its_stream():
    heard: asyncio.Queue[Any] = asyncio.Queue()
    service = FakeService()

    async with (
        asyncio.timeout(10),
        serving(service) as url,
        Client(url, mode="legacy", message_handler=heard.put) as client,
    ):
        service.feed.publish(Notice(method="notifications/tools/list_changed"))
        await client.call_tool("echo", {})
        notification = await heard.get()

    assert isinstance(notification, t.ToolListChangedNotification)


@pytest.mark.req("GW-6.5")
async def test_a_modern_client_hears_of_what_it_listens_to_only():
    service = FakeService()

    async with (
        asyncio.timeout(10),
        serving(service) as url,
        Client(url, mode="2026-07-28") as client,
        client.listen(tools_list_changed=True, resource_subscriptions=["x://1"]) as heard,
    ):
        listener, uri = service.subscribed[0]
        service.feed.publish(Notice(method="notifications/prompts/list_changed"))
        service.feed.publish(Notice(method="notifications/resources/updated", params={"uri": uri}))
        await client.call_tool("change", {})
        updated = Notice(method="notifications/resources/updated", params={"uri": uri}, to=frozenset({listener}))
        service.feed.publish(updated)
        events = [await anext(heard), await anext(heard)]

    assert [type(event).__name__ for event in events] == ["ToolsListChanged", "ResourceUpdated"]


async def test_a_modern_client_that_stops_listening_leaves_nothing_behind():
    service = FakeService()

    async with asyncio.timeout(10), serving(service) as url, Client(url, mode="2026-07-28") as client:
        async with client.listen(resource_subscriptions=["x://1"]):
            pass
        while service.subscribed:
            await client.call_tool("echo", {})

    assert service.subscribed == []


@pytest.mark.slow
@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("mode", MODES)
async def test_fifty_official_clients_at_once_each_get_their_own_answers(mode):
    async def talk(number: int) -> list[str]:
        async with Client(streamable_http_client(url, http_client=connections), mode=mode) as client:
            answers = [client.call_tool("echo", {"nonce": f"{number}-{each}"}) for each in range(4)]
            return [result.content[0].text for result in await asyncio.gather(*answers)]

    service = FakeService()
    # One pool for all: loading the certificates of the machine fifty times is what would take the time.
    connections = httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None), timeout=120, verify=False)
    async with asyncio.timeout(120), serving(service) as url, connections:
        said = await asyncio.gather(*(talk(number) for number in range(50)))

    assert said == [[f"{number}-{each}" for each in range(4)] for number in range(50)]
