"""The proxy as clients of either era meet it, with servers of either era behind it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import Client, MCPError
from proxy_cases import error_of, proxied
from relay_cases import ANSWERS, OFFERS, PAIRS, answering, failure_of, text_of
from relay_servers import EVERY_BLOCK, RelayServer
from scripted_servers import HANDSHAKE, ScriptedServer
from toolbox_cases import sdk_streams

from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.upstreams.eras import Era

both_sides = pytest.mark.parametrize(("front", "behind"), PAIRS)
sdk_modes = pytest.mark.parametrize("mode", ["legacy", "auto"])


def executing(tool_id: str, **args: Any) -> dict[str, Any]:
    return {"name": "tool_execute", "arguments": {"tool_id": tool_id, "args": args}}


@pytest.mark.req("GW-4.1", "GW-6.2")
@both_sides
async def test_a_client_lists_hydrates_and_runs_a_tool_whatever_the_eras(front: Era, behind: Era) -> None:
    async with proxied({"fixture": RelayServer(era=behind)}) as case, case.client(front) as client:
        listed = await client.ask("tools/list")
        name = next(tool["name"] for tool in listed["tools"] if "every" in tool["name"])
        hydrated = await client.ask("tools/call", {"name": "tool_hydrate", "arguments": {"tool_id": name}})
        result = await client.ask("tools/call", executing(name))
        direct = await client.ask("tools/call", {"name": name, "arguments": {}})

    assert json.loads(hydrated["content"][0]["text"])["tool"]["name"] == "every"
    kept = {key: result[key] for key in EVERY_BLOCK if key != "_meta"}
    assert kept == {key: value for key, value in EVERY_BLOCK.items() if key != "_meta"}
    assert EVERY_BLOCK["_meta"].items() <= result["_meta"].items()
    assert "`tool_execute`" in error_of(direct)["hint"]


@pytest.mark.req("GW-6.6")
@both_sides
async def test_progress_of_a_run_comes_under_the_clients_token(front: Era, behind: Era) -> None:
    seen: list[Any] = []

    async def on_progress(params: dict[str, Any]) -> None:
        seen.append(params["progress"])

    async with proxied({"fixture": RelayServer(era=behind)}) as case, case.client(front) as client:
        await client.ask("tools/call", executing("fixture__progress"), on_progress=on_progress)

    assert seen == [1, 2, 3]


@pytest.mark.req("GW-6.6")
@both_sides
async def test_a_granted_server_asks_the_client_in_the_middle_of_a_run(front: Era, behind: Era) -> None:
    answer, asked = answering()
    ours = {"servers": {"fixture": {"grants": ["elicitation"]}}}
    servers = {"fixture": RelayServer(era=behind)}
    async with (
        proxied(servers, ours=ours) as case,
        case.client(front, capabilities=OFFERS, on_request=answer) as client,
    ):
        await client.ask("tools/list")
        result = await client.ask("tools/call", executing("fixture__ask"))
        if front is Era.MODERN:
            assert result["resultType"] == "input_required"
            (key,) = result["inputRequests"]
            more = {"requestState": result["requestState"], "inputResponses": {key: ANSWERS["elicitation/create"]}}
            result = await client.ask("tools/call", {**executing("fixture__ask"), **more})

    assert text_of(result) == "accept {'colour': 'red'}"
    assert len(asked) == (0 if front is Era.MODERN else 1)


@pytest.mark.req("GW-6.6")
@both_sides
async def test_resources_prompts_and_completion_pass_through(front: Era, behind: Era) -> None:
    servers = {name: RelayServer(name, era=behind) for name in ("one", "two")}
    async with proxied(servers) as case, case.client(front) as client:
        prompts = await client.ask("prompts/list")
        prompt = await client.ask("prompts/get", {"name": "two__greet"})
        read = await client.ask("resources/read", {"uri": "only:///two"})
        ref = {"type": "ref/prompt", "name": "one__greet"}
        completed = await client.ask("completion/complete", {"ref": ref, "argument": {"name": "who", "value": "A"}})
        unknown = await failure_of(client.ask("novel/method"), Exception)

    assert [each["name"] for each in prompts["prompts"]] == ["one__greet", "two__greet"]
    assert prompt["messages"][0]["content"]["text"].startswith("two greet")
    assert read["contents"][0]["text"] == "two has only:///two"
    assert completed["completion"]["values"] == ["one greet A"]
    assert unknown.rpc_code == -32601


@pytest.mark.req("GW-6.6")
async def test_a_client_hears_of_a_resource_until_it_no_longer_wants_to() -> None:
    server = RelayServer(era=Era.HANDSHAKE)
    async with proxied({"fixture": server}) as case, case.client(Era.HANDSHAKE) as client:
        await client.ask("resources/subscribe", {"uri": "file:///a"})
        await client.ask("tools/call", executing("fixture__touch"))
        told = await client.until_told("notifications/resources/updated")
        await client.ask("resources/unsubscribe", {"uri": "file:///a"})
        client.told.clear()
        await client.ask("tools/call", executing("fixture__touch"))

    assert told["uri"] == "file:///a"
    assert "notifications/resources/updated" not in [method for method, _ in client.told]


@pytest.mark.req("GW-6.5")
async def test_a_client_is_told_that_its_list_changed() -> None:
    servers = {"fixture": RelayServer(era=Era.HANDSHAKE)}
    async with proxied(servers) as case, case.client(Era.HANDSHAKE) as client:
        await client.ask("tools/list")
        await client.until_told("notifications/tools/list_changed")
        client.told.clear()
        await client.ask("tools/call", executing("fixture__change"))
        await client.until_told("notifications/tools/list_changed")
        listed = await client.ask("tools/list")

    assert any("novelty" in tool["name"] for tool in listed["tools"])


async def test_the_face_has_the_proxys_tools_and_what_the_servers_can_do_beside() -> None:
    told = {"tools": {}, "prompts": {"listChanged": True}, "tasks": {}, "experimental": {"x": {}}, "logging": {}}
    server = ScriptedServer(initialize={**HANDSHAKE, "capabilities": told})
    async with proxied({"files": server}) as case:
        await case.hub.shared("files").start()
        face = await case.service.face()

    assert face.capabilities == {"tools": {"listChanged": True}, "prompts": {"listChanged": True}}
    assert face.instructions is not None
    assert "tool_execute" in face.instructions
    assert case.service.info["name"] == "toolcrib"


async def test_a_client_is_greeted_although_the_only_server_is_not_there() -> None:
    server = ScriptedServer()
    server.refuses = UpstreamUnavailable("It is not there.", retryable=False, details={"sent": False})
    ours = {"servers": {"dead": {"startTimeout": 0.3}}}
    async with proxied({"dead": server}, ours=ours) as case:
        face = await case.service.face()

    assert face.capabilities["tools"] == {"listChanged": True}
    assert {"resources", "prompts", "completions"} <= face.capabilities.keys()


@pytest.mark.req("GW-4.1")
@sdk_modes
@pytest.mark.parametrize("names", ["id", "percent", "safe"])
async def test_the_official_client_finds_its_way(mode: Any, names: Any) -> None:
    async with (
        asyncio.timeout(20),
        proxied({"fixture": RelayServer()}, names=names) as case,
        Client(sdk_streams(case.service), mode=mode, cache=None) as client,
    ):
        listed = (await client.list_tools()).tools
        name = next(tool.name for tool in listed if "echo" in tool.name)
        hydrated = await client.call_tool("tool_hydrate", {"tool_id": name})
        result = await client.call_tool("tool_execute", {"tool_id": name, "args": {"nonce": "n1"}})
        broken = await client.call_tool("tool_execute", {"tool_id": "fixture__broken"})
        direct = await client.call_tool(name, {"nonce": "n1"})
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})

    assert [tool.name for tool in listed[:2]] == ["tool_hydrate", "tool_execute"]
    assert json.loads(hydrated.content[0].text)["tool"]["name"] == "echo"
    assert result.content[0].text == "fixture echo n1"
    assert broken.is_error
    assert broken.content[0].text == "boom"
    assert direct.is_error
    assert "tool_execute" in direct.content[0].text
    assert unknown.value.error.code == -32602
