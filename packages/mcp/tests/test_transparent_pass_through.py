"""One server behind a transparent service: whatever the eras of both sides, everything passes as it is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from relay_cases import PAIRS, failure_of, text_of, transparent, until
from relay_servers import EVERY_BLOCK, RelayServer

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_mcp.upstreams.eras import Era

pytestmark = pytest.mark.parametrize(("front", "behind"), PAIRS)

MODERN_ONLY = {"resultType", "ttlMs", "cacheScope"}


def plain(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what its era adds."""
    rest = {name: value for name, value in result.items() if name not in MODERN_ONLY}
    meta = {k: v for k, v in rest.pop("_meta", {}).items() if not k.startswith("io.modelcontextprotocol/")}
    return rest | ({"_meta": meta} if meta else {})


@pytest.mark.req("GW-6.6")
@pytest.mark.req("GW-6.2")
async def test_every_kind_of_block_and_every_unknown_field_arrives(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        result = await client.call("every")

    assert plain(result) == EVERY_BLOCK


@pytest.mark.req("GW-6.6")
async def test_the_words_of_a_client_reach_the_server_and_its_envelope_does_not(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        await client.call("echo", novel=[1], _meta={"io.example/trace": "t1"})
        params = case.servers["fixture"].params_of("tools/call")

    meta = params.pop("_meta")
    assert params == {"name": "echo", "arguments": {}, "novel": [1]}
    assert meta["io.example/trace"] == "t1"
    if behind is Era.HANDSHAKE:
        assert set(meta) == {"io.example/trace"}
    else:
        assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "toolcrib"


@pytest.mark.req("GW-6.6")
async def test_progress_comes_in_order_under_the_clients_token(front: Era, behind: Era) -> None:
    seen: list[dict[str, Any]] = []

    async def on_progress(params: dict[str, Any]) -> None:
        seen.append(params)

    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        await client.ask("tools/call", {"name": "progress"}, on_progress=on_progress)

    assert [(each["progress"], each["total"], each["message"]) for each in seen] == [
        (step, 3, f"step {step}") for step in (1, 2, 3)
    ]


@pytest.mark.req("GW-6.6")
async def test_a_server_sees_that_a_call_was_cancelled(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        server = case.servers["fixture"]
        call = asyncio.create_task(client.call("hang"))
        await server.hanging.wait()
        call.cancel()

        await server.cancelled.wait()

    assert call.cancelled()


@pytest.mark.req("GW-6.8")
async def test_an_error_of_the_server_keeps_code_message_and_data(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        error = await failure_of(client.call("fail"), UpstreamFailed)

    assert (error.rpc_code, error.rpc_message, error.rpc_data) == (-32050, "No luck.", {"why": ["moon"]})


@pytest.mark.req("GW-6.6")
async def test_a_failed_tool_is_a_result(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        result = await client.call("broken")

    assert result["isError"] is True
    assert text_of(result) == "boom"


@pytest.mark.req("GW-6.6")
async def test_lists_and_cursors_are_the_servers_own(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        first = await client.ask("tools/list")
        second = await client.ask("tools/list", {"cursor": first["nextCursor"]})

    assert first["nextCursor"] == "more"
    assert "nextCursor" not in second
    assert {"echo", "ask", "touch"} <= {tool["name"] for page in (first, second) for tool in page["tools"]}


@pytest.mark.req("GW-6.6")
async def test_resources_prompts_and_completion_pass(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        resources = await client.ask("resources/list")
        templates = await client.ask("resources/templates/list")
        read = await client.ask("resources/read", {"uri": "file:///a"})
        prompts = await client.ask("prompts/list")
        prompt = await client.ask("prompts/get", {"name": "greet", "arguments": {"who": "you"}})
        ref = {"type": "ref/prompt", "name": "greet"}
        completed = await client.ask("completion/complete", {"ref": ref, "argument": {"name": "who", "value": "y"}})

    assert [each["uri"] for each in resources["resources"]] == ["file:///a", "only:///fixture"]
    assert [each["uriTemplate"] for each in templates["resourceTemplates"]] == ["fixture:///{path}"]
    assert read["contents"][0]["text"] == "fixture has file:///a"
    assert [each["name"] for each in prompts["prompts"]] == ["greet"]
    assert prompt["messages"][0]["content"]["text"] == "fixture greet {'who': 'you'}"
    assert completed["completion"]["values"] == ["fixture greet y"]


@pytest.mark.req("GW-6.6")
async def test_a_change_of_a_resource_is_told_to_whoever_listens(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        if front is Era.HANDSHAKE:
            await client.ask("resources/subscribe", {"uri": "file:///a"})
            listening = None
        else:
            wanted = {"notifications": {"resourceSubscriptions": ["file:///a"]}}
            listening = asyncio.create_task(client.ask("subscriptions/listen", wanted))
            await client.until_told("notifications/subscriptions/acknowledged")
        await client.call("touch")

        updated = await client.until_told("notifications/resources/updated")
        if listening is not None:
            listening.cancel()
            await asyncio.wait([listening])
        else:
            await client.ask("resources/unsubscribe", {"uri": "file:///a"})

    assert updated["uri"] == "file:///a"


@pytest.mark.req("GW-6.5")
async def test_a_change_of_the_tools_is_told(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        listening = None
        if front is Era.MODERN:
            wanted = {"notifications": {"toolsListChanged": True}}
            listening = asyncio.create_task(client.ask("subscriptions/listen", wanted))
            await client.until_told("notifications/subscriptions/acknowledged")
        await until(lambda: case.hub.shared("fixture").known_tools)
        client.told.clear()
        await client.call("change")

        await client.until_told("notifications/tools/list_changed")
        second = await client.ask("tools/list", {"cursor": "more"})
        if listening is not None:
            listening.cancel()
            await asyncio.wait([listening])

    assert "novelty" in [tool["name"] for tool in second["tools"]]


@pytest.mark.req("GW-6.2")
async def test_the_face_is_the_servers_own(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind), solo=True) as case, case.client(front) as client:
        seen = client.session.agreement
        own = case.hub.shared("fixture").agreement

    assert own is not None
    assert own.era is behind
    assert seen.capabilities == own.capabilities
    assert {"tools", "resources", "prompts", "completions", "logging"} <= set(seen.capabilities)
    assert seen.instructions == own.instructions == "Use fixture well."


@pytest.mark.req("GW-6.6")
async def test_a_method_that_nobody_here_knows_is_refused(front: Era, behind: Era) -> None:
    async with transparent(RelayServer(era=behind)) as case, case.client(front) as client:
        with pytest.raises(UpstreamFailed) as refused:
            await client.ask("novel/method", {"a": 1})

    assert refused.value.rpc_code == METHOD_NOT_FOUND
