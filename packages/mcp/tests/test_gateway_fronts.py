"""The gateway as real clients meet it: in both eras, over servers of both, and with the three tools alone."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from front_http_cases import serving
from gateway_cases import HANDLE, SdkTools, envelope_of, gatewayed, tokens_sent
from hub_cases import hub_of
from mcp import Client, MCPError
from proxy_cases import error_of
from relay_cases import ANSWERS, OFFERS, PAIRS, answering, failure_of, text_of
from relay_servers import EVERY_BLOCK, RelayServer
from scripted_servers import HANDSHAKE, ScriptedServer
from toolbox_cases import sdk_streams

from toolcrib_core import count_tokens
from toolcrib_core.schema.compiled import compile_schema
from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.gateway import Gateway, GatewayBehaviour, open_gateway_service
from toolcrib_mcp.gateway.meta_tools import BROWSE, EXECUTE, INSTRUCTIONS, META_TOOLS, VIEW
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_store import Artifacts, StoreDamaged, open_store

both_sides = pytest.mark.parametrize(("front", "behind"), PAIRS)
sdk_modes = pytest.mark.parametrize("mode", ["legacy", "auto"])


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def calling(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def executing(tool_id: str, **args: Any) -> dict[str, Any]:
    return calling(EXECUTE, tool_id=tool_id, args=args)


@pytest.mark.req("GW-4.2")
def test_the_three_tools_leave_room_for_the_digest_and_the_instructions_cost_less_than_100_tokens() -> None:
    assert count_tokens(compact({"tools": list(META_TOOLS)})) <= 400
    assert count_tokens(INSTRUCTIONS) <= 100


@pytest.mark.req("GW-4.2")
def test_the_three_tools_are_valid_and_say_what_they_may_do() -> None:
    tools = {each["name"]: each for each in META_TOOLS}

    assert list(tools) == [BROWSE, EXECUTE, VIEW]
    for each in tools.values():
        compile_schema(each["inputSchema"])
    assert tools[BROWSE]["annotations"]["readOnlyHint"] is tools[VIEW]["annotations"]["readOnlyHint"] is True
    assert tools[EXECUTE]["annotations"] == {"destructiveHint": True}


@pytest.mark.req("GW-4.2", "GW-6.2", "D4-4.2a")
@both_sides
async def test_exactly_three_tools_are_listed_however_many_servers_there_are(front: Era, behind: Era) -> None:
    servers = {name: RelayServer(name, era=behind) for name in ("one", "two")}
    async with gatewayed(servers) as case, case.client(front) as client:
        listed = await client.ask("tools/list")

    assert [tool["name"] for tool in listed["tools"]] == ["tool_browse", "tool_execute", "tool_view"]
    assert "nextCursor" not in listed


@pytest.mark.req("GW-4.2")
async def test_the_list_waits_for_no_server() -> None:
    server = ScriptedServer()
    server.refuses = UpstreamUnavailable("It is not there.", details={"sent": False})
    async with gatewayed({"dead": server}, behaviour=GatewayBehaviour(patience=60)) as case:
        async with asyncio.timeout(5):
            listed = await case.ask("tools/list")

    assert len(listed["tools"]) == 3
    assert server.methods == []


@pytest.mark.req("GW-6.6", "GW-6.2")
@both_sides
async def test_every_block_and_unknown_field_of_a_small_result_passes(front: Era, behind: Era) -> None:
    async with gatewayed({"fixture": RelayServer(era=behind)}) as case, case.client(front) as client:
        result = await client.ask("tools/call", executing("fixture__every"))

    kept = {key: result[key] for key in EVERY_BLOCK if key != "_meta"}
    assert kept == {key: value for key, value in EVERY_BLOCK.items() if key != "_meta"}
    assert EVERY_BLOCK["_meta"].items() <= result["_meta"].items()


@pytest.mark.req("GW-6.6")
@both_sides
async def test_a_server_that_asks_is_answered_in_the_middle_of_a_call(tmp_path: Path, front: Era, behind: Era) -> None:
    answer, asked = answering()
    ours = {"servers": {"fixture": {"grants": ["elicitation"]}}}
    servers = {"fixture": RelayServer(era=behind)}
    async with (
        gatewayed(servers, ours=ours, file=tmp_path / "a.db") as case,
        case.client(front, capabilities=OFFERS, on_request=answer) as client,
    ):
        await client.ask("tools/call", calling(BROWSE, path="/"))
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
async def test_progress_resources_and_prompts_pass_through(front: Era, behind: Era) -> None:
    seen: list[Any] = []

    async def on_progress(params: dict[str, Any]) -> None:
        seen.append(params["progress"])

    servers = {name: RelayServer(name, era=behind) for name in ("one", "two")}
    async with gatewayed(servers) as case, case.client(front) as client:
        await client.ask("tools/call", executing("one__progress"), on_progress=on_progress)
        prompt = await client.ask("prompts/get", {"name": "two__greet"})
        read = await client.ask("resources/read", {"uri": "only:///two"})
        unknown = await failure_of(client.ask("novel/method"), Exception)

    assert seen == [1, 2, 3]
    assert prompt["messages"][0]["content"]["text"].startswith("two greet")
    assert read["contents"][0]["text"] == "two has only:///two"
    assert unknown.rpc_code == -32601


@pytest.mark.req("GW-6.6")
async def test_a_client_hears_of_a_resource_until_it_no_longer_wants_to() -> None:
    servers = {"fixture": RelayServer(era=Era.HANDSHAKE)}
    async with gatewayed(servers) as case, case.client(Era.HANDSHAKE) as client:
        await client.ask("resources/subscribe", {"uri": "file:///a"})
        await client.ask("tools/call", executing("fixture__touch"))
        told = await client.until_told("notifications/resources/updated")
        await client.ask("resources/unsubscribe", {"uri": "file:///a"})
        client.told.clear()
        await client.ask("tools/call", executing("fixture__touch"))

    assert told["uri"] == "file:///a"
    assert client.told == []


async def test_the_capabilities_are_tools_that_change_and_what_servers_can_do_beside() -> None:
    told = {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "tasks": {}}
    server = ScriptedServer(initialize={**HANDSHAKE, "capabilities": told})
    async with gatewayed({"files": server}) as case:
        await case.gateway.hub.start(timeout=30)
        face = await case.service.face()

    assert face.capabilities == {"tools": {"listChanged": True}, "prompts": {"listChanged": True}}
    assert face.instructions == f"{INSTRUCTIONS} Servers: files: echo"
    assert case.service.info["name"] == "toolcrib"


def shop() -> SdkTools:
    """A server of the SDK with a large result and a tool that takes it."""
    box = SdkTools("shop")

    @box.server.tool()
    def list_orders(year: int) -> list[dict[str, Any]]:
        """Lists all orders of a year."""
        box.calls.append(f"list {year}")
        return [{"id": number, "total": number % 97, "customer": f"customer {number % 10}"} for number in range(2_000)]

    @box.server.tool()
    def send_invoice(order: dict[str, Any]) -> str:
        """Sends the invoice of an order."""
        box.calls.append(f"send {order['id']}")
        return f"Sent {order['id']} to {order['customer']} with {order.get('note')}."

    return box


@pytest.mark.req("GW-3.1", "GW-3.3", "GW-4.4", "GW-4.5", "GW-4.6", "GW-7.5", "D4-1.6f")
@sdk_modes
async def test_the_official_client_goes_the_whole_way(tmp_path: Path, mode: Any) -> None:
    box = shop()
    async with (
        asyncio.timeout(30),
        gatewayed({"shop": box}, file=tmp_path / "a.db") as case,
        Client(sdk_streams(case.service), mode=mode, cache=None) as client,  # type: ignore[arg-type]  # a service as well
    ):

        async def call(name: str, **arguments: Any) -> str:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            return str(result.content[0].text)  # type: ignore[union-attr]  # always text

        names = [tool.name for tool in (await client.list_tools()).tools]
        found = await call("tool_browse", query="all orders of last year")
        tool_id = re.findall(r"shop:list_orders#\w+", found)[0]
        leaf = await call("tool_browse", path="/shop/list_orders")
        wrong = await client.call_tool("tool_execute", {"tool_id": tool_id, "args": {"yaer": 2025}})
        before = list(box.calls)
        summary = await call("tool_execute", tool_id=tool_id, args={"year": 2025})
        handle = re.findall(HANDLE, summary)[0]
        rows = await call(
            "tool_view",
            handle=handle,
            selector={"type": "rows", "where": [{"column": "total", "op": "=", "value": 96}], "count": 2},
        )
        one = await call("tool_view", handle=handle, selector={"type": "pointer", "pointer": "/96"})
        shape = await call("tool_view", handle=handle, selector={"type": "shape"})
        patch = [{"op": "add", "path": "/note", "value": "thanks"}]
        order = {"$artifact": handle, "pointer": "/96", "patch": patch}
        sent = await call("tool_execute", tool_id="shop__send_invoice", args={"order": order})
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("list_orders", {"year": 2025})

    assert names == ["tool_browse", "tool_execute", "tool_view"]
    assert tool_id in leaf
    assert wrong.is_error
    assert before == []
    assert count_tokens(summary) <= 400
    assert "96" in rows
    assert "customer 6" in one
    assert "customer" in shape
    assert sent == "Sent 96 to customer 6 with thanks."
    assert box.calls == ["list 2025", "send 96"]
    assert unknown.value.error.code == -32602


@pytest.mark.enable_socket
@pytest.mark.req("CL-1")
@pytest.mark.parametrize("over", ["stdio", "http"])
@sdk_modes
async def test_a_model_reads_the_same_of_structure_or_text_whichever_its_client_passes_on(
    tmp_path: Path, mode: Any, over: str
) -> None:
    box = shop()

    @box.server.tool()
    def count_orders(year: int) -> dict[str, int]:
        """Counts all orders of a year."""
        return {"orders": year}

    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(30))
        case = await stack.enter_async_context(gatewayed({"shop": box}, file=tmp_path / "a.db"))
        service: Any = case.service
        target: Any = sdk_streams(service)
        if over == "http":
            target = await stack.enter_async_context(serving(service))
        client = await stack.enter_async_context(Client(target, mode=mode, cache=None))

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            return result.model_dump(mode="json", by_alias=True, exclude_none=True)

        listed = (await client.list_tools()).tools
        page = await call(BROWSE, query="orders of a year")
        large = await call(EXECUTE, tool_id="shop__list_orders", args={"year": 2025})
        handle = envelope_of(large)["artifacts"][0]["handle"]
        part = await call(VIEW, handle=handle, selector={"type": "rows", "count": 1})
        small = await call(EXECUTE, tool_id="shop__count_orders", args={"year": 2025})
        errors = [
            await call(BROWSE, path="/nowhere"),
            await call(EXECUTE, tool_id="shop__list_orders", args={"yaer": 2025}),
            await call(VIEW, handle=handle, selector={"type": "rows", "columns": ["no such"]}),
        ]

    assert [each.output_schema for each in listed] == [None, None, None]
    assert not any("structuredContent" in each for each in (page, large, part))
    assert f'tool_view {{"handle":"{handle}"' in text_of(large)
    assert all(json.loads(text_of(each)) == each["structuredContent"] for each in errors)
    assert small["structuredContent"] == json.loads(text_of(small)) == {"orders": 2025}


@pytest.mark.req("GW-4.2", "D4-4.2c")
async def test_a_model_can_work_from_the_list_of_tools_alone(tmp_path: Path) -> None:
    """Every example in the descriptions, as it stands there, works."""
    async with gatewayed({"shop": shop()}, file=tmp_path / "a.db") as case:
        sent = await case.execute("shop__list_orders", year=2025)
        (handle,) = set(re.findall(HANDLE, sent["content"][0]["text"]))
        texts = {tool["name"]: tool["description"] for tool in META_TOOLS}
        (selector,) = re.findall(r"selector: (\{.*?\})", texts[VIEW])
        seen = await case.view(handle, **json.loads(selector))
        root = await case.browse(path="/")

    assert "isError" not in seen
    assert "isError" not in root
    assert '"$artifact"' in texts[EXECUTE]


@pytest.mark.req("GW-4.2", "GW-9.3")
async def test_a_program_without_a_client_uses_the_gateway_in_a_few_lines(tmp_path: Path) -> None:
    config = GatewayConfig(servers={}, settings=GatewaySettings(cache_stable=True, whole_tokens=200))
    with open_store(tmp_path / "artifacts.db") as store:
        async with (
            Hub(config, upstreams={"shop": shop().connect}) as hub,
            Gateway(hub, artifacts=Artifacts(store)) as gateway,
        ):
            page = await gateway.browse(query="list orders")
            result = await gateway.execute(page.cards[0].card.id, {"year": 2024})
            assert result.envelope is not None
            view = await gateway.view(result.envelope.artifacts[0].handle, {"type": "rows", "count": 1})

    assert "customer 0" in view.text
    assert page.to_json()["total"] >= 1


@pytest.mark.req("GW-7.4")
async def test_what_is_served_keeps_results_in_the_state_directory(tmp_path: Path) -> None:
    ours = {"artifacts": {"ttl": 3600}}
    handles: list[str] = []
    for _ in range(2):
        async with hub_of({"shop": shop().connect}, ours=ours) as hub:
            service = await open_gateway_service(hub, state_dir=tmp_path)
            try:
                result = await service.gateway.execute("shop__list_orders", {"year": 1})
                handles += [each["handle"] for each in envelope_of(result.result)["artifacts"]]
            finally:
                await service.aclose()

    assert (tmp_path / "artifacts.db").is_file()
    assert handles[0] == handles[1]
    assert tokens_sent(result.result) <= 400


async def test_without_a_state_directory_results_are_gone_at_the_end() -> None:
    async with hub_of({"shop": shop().connect}) as hub:
        service = await open_gateway_service(hub, state_dir=None)
        try:
            result = await service.gateway.execute("shop__list_orders", {"year": 1})
        finally:
            await service.aclose()

    assert result.envelope is not None


@pytest.mark.fault("G9")
async def test_a_damaged_database_is_told_at_the_start_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "artifacts.db"
    file.write_bytes(b"no database at all" * 100)
    async with hub_of({}) as hub:
        with pytest.raises(StoreDamaged):
            await open_gateway_service(hub, state_dir=tmp_path)

    assert file.read_bytes() == b"no database at all" * 100


@pytest.mark.parametrize("params", [{}, {"name": 3}, {"name": "tool_browse", "arguments": [1]}])
async def test_params_that_are_no_call_are_an_error_of_the_protocol(params: Mapping[str, Any]) -> None:
    async with gatewayed({"shop": shop()}) as case:
        error = await failure_of(case.ask("tools/call", **params), Exception)

    assert error.code == -32602


@pytest.mark.req("GW-6.8", "D4-3.4f")
async def test_an_error_says_the_same_in_text_and_in_structure_and_whether_to_try_again() -> None:
    async with gatewayed({"shop": shop()}) as case:
        error = error_of(await case.browse(path="/x/"))

    assert error.keys() >= {"error", "message", "path", "retryable"}
