"""The tools of real servers as runnable tools: definitions, values, content, errors, progress, time, lost answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp.types as t
import pytest
from mcp.server import MCPServer, Server
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from scripted_servers import ScriptedServer
from sdk_servers import SdkServer

from toolcrib_core import ToolErrorCategory, ToolRisk
from toolcrib_mcp.catalog import Catalog, UpstreamTerms
from toolcrib_mcp.errors import UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.rpc import RpcError, Wire
from toolcrib_mcp.toolboxes import import_tools
from toolcrib_mcp.upstreams import Era, RestartRules, Upstream, UpstreamSettings
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire
from toolcrib_runtime import Approvals, Cancellation, RetryPolicy, RunnableTool, Toolbox, create_toolbox
from toolcrib_runtime.testing import FakeClock

PIXEL = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
READ_ONLY = {"annotations": {"readOnlyHint": True}}
both_eras = pytest.mark.parametrize("era", [Era.HANDSHAKE, Era.MODERN])


def high_level_server() -> MCPServer:
    server = MCPServer("high")

    @server.tool(annotations=t.ToolAnnotations(read_only_hint=True))
    def double(number: int) -> int:
        """Twice as much."""
        return 2 * number

    @server.tool(structured_output=False, annotations=t.ToolAnnotations(read_only_hint=True))
    def say(text: str) -> list[t.TextContent | t.ImageContent]:
        """Say it with a picture."""
        return [
            t.TextContent(type="text", text=text),
            t.ImageContent(type="image", data="AAAA", mime_type="image/png"),
            t.TextContent(type="text", text="end"),
        ]

    @server.tool(annotations=t.ToolAnnotations(destructive_hint=True))
    def wreck(reason: str) -> str:
        """Fail."""
        raise SdkToolError(f"no way: {reason}")

    return server


@asynccontextmanager
async def upstream_to(server: MCPServer | Server[Any], era: Era = Era.MODERN) -> AsyncIterator[Upstream]:
    async def connect() -> Wire:
        return await open_in_process_wire(server)

    async with asyncio.timeout(20), Upstream("high", connect, settings=UpstreamSettings(era=era)) as upstream:
        yield upstream


@asynccontextmanager
async def scripted(tool: dict[str, Any], answer: Any, **options: Any) -> AsyncIterator[tuple[Toolbox, ScriptedServer]]:
    """A toolbox of one tool, `echo`, whose server answers as told; it runs without approval."""
    listed = {"name": "echo", "inputSchema": {"type": "object"}, **READ_ONLY, **tool}
    server = ScriptedServer(**{"tools/list": {"tools": [listed]}, "tools/call": answer})
    settings = UpstreamSettings(restarts=RestartRules(when="never"))
    async with asyncio.timeout(20), Upstream("files", server.connect, settings=settings) as upstream:
        tools = await import_tools(upstream, trusted=True)
        yield create_toolbox(tools, **options), server


def by_name(tools: list[RunnableTool]) -> dict[str, RunnableTool]:
    return {each.name: each for each in tools}


@pytest.mark.req("GW-9.1")
@both_eras
async def test_tools_have_the_definitions_that_the_catalogue_makes(era: Era) -> None:
    async with upstream_to(high_level_server(), era) as upstream:
        tools = await import_tools(upstream)
        raw = (await upstream.tools()).items

    catalog = Catalog()
    catalog.update("high", raw, terms=UpstreamTerms(server="high"))
    snapshot = catalog.snapshot()
    assert [each.id for each in tools] == list(snapshot.ids)
    assert [each.definition for each in tools] == [snapshot.hydrate(each).definition for each in snapshot.ids]


async def test_the_namespace_can_be_another() -> None:
    async with upstream_to(high_level_server()) as upstream:
        tools = await import_tools(upstream, namespace="sums")

    assert {each.definition.namespace for each in tools} == {"sums"}


@pytest.mark.req("GW-9.1", "GW-8.3")
async def test_hints_only_raise_the_risk_unless_the_server_is_trusted() -> None:
    async with upstream_to(high_level_server()) as upstream:
        doubted, trusted = await import_tools(upstream), await import_tools(upstream, trusted=True)

    assert by_name(doubted)["double"].definition.risk == ToolRisk()
    assert by_name(doubted)["wreck"].definition.risk == ToolRisk(destructive=True)
    assert by_name(trusted)["double"].definition.risk == ToolRisk(effects="read")


@pytest.mark.req("GW-9.1", "GW-8.3")
async def test_a_tool_of_a_server_that_is_not_trusted_is_asked_about() -> None:
    async with upstream_to(high_level_server()) as upstream:
        toolbox = create_toolbox(await import_tools(upstream), approvals=Approvals(secret=b"sixteen bytes or more"))
        waiting = await toolbox.call("high:double", {"number": 21})

    assert waiting.outcome == "action_required"


@pytest.mark.req("GW-9.1")
@both_eras
async def test_structured_content_is_the_value_and_all_content_is_kept(era: Era) -> None:
    async with upstream_to(high_level_server(), era) as upstream:
        toolbox = create_toolbox(await import_tools(upstream, trusted=True))
        doubled = await toolbox.call("high:double", {"number": 21})
        said = await toolbox.call("high:say", {"text": "look"})

    assert doubled.value == {"result": 42}
    assert said.value == "look\nend"
    assert [block["type"] for block in said.content] == ["text", "image", "text"]
    assert said.content[1]["data"] == "AAAA"


@pytest.mark.req("GW-9.1", "GW-4.4")
async def test_arguments_are_validated_before_anything_is_sent() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}

    async with scripted({"inputSchema": schema}, {"content": []}) as (toolbox, server):
        result = await toolbox.call("files:echo", {"path": 7})

        assert result.error is not None
        assert result.error.category is ToolErrorCategory.VALIDATION
        assert "tools/call" not in server.methods


async def test_arguments_go_as_they_are_even_one_that_is_called_arguments() -> None:
    schema = {"type": "object", "properties": {"arguments": {"type": "string"}, "context": {"type": "string"}}}

    async with scripted({"inputSchema": schema}, {"content": []}) as (toolbox, server):
        result = await toolbox.call("files:echo", {"arguments": "a", "context": "b", "more": 1})

        assert result.ok
        assert server.params_of("tools/call")["arguments"] == {"arguments": "a", "context": "b", "more": 1}
        assert server.params_of("tools/call")["name"] == "echo"


@pytest.mark.req("GW-9.1")
@both_eras
async def test_a_failure_that_a_server_tells_is_an_error_a_model_can_act_on(era: Era) -> None:
    async with upstream_to(high_level_server(), era) as upstream:
        wreck = by_name(await import_tools(upstream))["wreck"]
        toolbox = create_toolbox([wreck.replace(definition=wreck.definition.replace(risk=ToolRisk(effects="write")))])
        result = await toolbox.call("high:wreck", {"reason": "rain"})

    assert result.error is not None
    assert result.error.code == "tool.high.wreck.failed"
    assert "no way: rain" in result.error.message
    assert result.error.retryable is False


@pytest.mark.parametrize(
    ("answer", "message", "details"),
    [
        ({"content": [], "isError": True}, "did not say why", {}),
        (
            {"content": [{"type": "text", "text": "no"}, PIXEL], "structuredContent": {"why": 1}, "isError": True},
            "no",
            {"content": [{"type": "text", "text": "no"}, PIXEL], "structuredContent": {"why": 1}},
        ),
        (
            {"content": [{"type": "text", "text": "no"}], "isError": True, "_meta": {"io.toolcrib/error": {"x": 1}}},
            "no",
            {},
        ),
    ],
)
async def test_whatever_a_failure_comes_with_is_kept(answer: Any, message: str, details: dict[str, Any]) -> None:
    async with scripted({}, answer) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert result.error is not None
    assert message in result.error.message
    assert result.error.details == details


async def test_a_very_long_complaint_is_shortened_and_kept() -> None:
    blocks = [{"type": "text", "text": "x" * 20_000}]

    async with scripted({}, {"content": blocks, "isError": True}) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert result.error is not None
    assert len(result.error.message) == 10_000
    assert result.error.details["content"] == blocks


async def test_an_error_of_the_protocol_is_kept_as_it_came() -> None:
    async with scripted({}, RpcError(-32602, "Unknown tool: echo")) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert isinstance(result.error, UpstreamFailed)
    assert result.error.rpc_code == -32602
    assert "Unknown tool" in result.error.message


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ({"content": [{"type": "text", "text": "a"}], "structuredContent": None}, "a"),
        ({"content": [{"type": "text", "text": "a"}], "structuredContent": [1]}, [1]),
        ({"content": [PIXEL]}, None),
        ({"structuredContent": False}, False),
        ({"content": [{"type": "text"}, {"type": "hologram", "text": "?"}]}, None),
    ],
)
async def test_the_value_is_what_the_server_meant(answer: dict[str, Any], value: object) -> None:
    async with scripted({}, answer) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert result.ok
    assert result.value == value
    assert list(result.content) == answer.get("content", [])


async def test_null_is_a_value_where_the_schema_promises_one() -> None:
    answer = {"content": [{"type": "text", "text": "null"}], "structuredContent": None}

    async with scripted({"outputSchema": {"type": "null"}}, answer) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert result.ok
    assert result.value is None


async def test_a_value_against_the_promised_schema_is_an_error_of_the_output() -> None:
    answer = {"content": [], "structuredContent": {"n": "x"}}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    async with scripted({"outputSchema": schema}, answer) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.OUTPUT_VALIDATION


@pytest.mark.parametrize("content", ["text", [1], None])
async def test_content_that_is_none_is_a_fault_of_the_server(content: object) -> None:
    async with scripted({}, {"content": content}) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert result.error is not None
    assert result.error.code == "toolbox.upstream-malformed"


async def test_a_server_that_asks_for_something_first_is_told_apart_from_one_that_answers() -> None:
    async with scripted({}, {"resultType": "input_required", "requestState": "s"}) as (toolbox, _):
        result = await toolbox.call("files:echo")

    assert result.error is not None
    assert result.error.code == "toolbox.upstream-error"
    assert result.error.retryable is False


@pytest.mark.req("GW-9.1")
@both_eras
async def test_progress_of_the_server_is_told_as_events(era: Era) -> None:
    told: list[Any] = []

    async def list_tools(_context: Any, _params: Any) -> t.ListToolsResult:
        hints = t.ToolAnnotations(read_only_hint=True)
        tools = [t.Tool(name=name, input_schema={"type": "object"}, annotations=hints) for name in ("progress", "hang")]
        return t.ListToolsResult(tools=tools)

    fixture = SdkServer()
    fixture.server.add_request_handler("tools/list", t.PaginatedRequestParams, list_tools)
    async with upstream_to(fixture.server, era) as upstream:
        toolbox = create_toolbox(await import_tools(upstream, trusted=True))
        await toolbox.call("high:progress", {}, on_event=told.append)

    progress = [event.data for event in told if event.kind == "progress"]
    assert progress == [{"done": n, "total": 3, "message": f"step {n}"} for n in (1, 2, 3)]


async def test_progress_that_is_no_number_is_not_told() -> None:
    told: list[Any] = []

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        token = params["_meta"]["progressToken"]
        for done in ("x", None, True, 4):
            await server.tell("notifications/progress", progressToken=token, progress=done, total="?", message=7)
        return {"content": []}

    async with scripted({}, answer) as (toolbox, server):
        await toolbox.call("files:echo", on_event=told.append)

    assert [event.data for event in told if event.kind == "progress"] == [{"done": 4, "total": None, "message": None}]


@pytest.mark.req("GW-9.1")
@both_eras
@pytest.mark.parametrize("stop", ["switch", "timeout", "task"])
async def test_a_call_that_is_taken_back_here_is_taken_back_there(era: Era, stop: str) -> None:
    async def list_tools(_context: Any, _params: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[t.Tool(name="hang", input_schema={"type": "object"}, annotations=hints)])

    hints = t.ToolAnnotations(read_only_hint=True)
    fixture, switch = SdkServer(), Cancellation()
    fixture.server.add_request_handler("tools/list", t.PaginatedRequestParams, list_tools)
    async with upstream_to(fixture.server, era) as upstream:
        toolbox = create_toolbox(await import_tools(upstream, trusted=True), retries=None)
        timeout = 0.2 if stop == "timeout" else None
        calling = asyncio.create_task(toolbox.call("high:hang", {}, cancellation=switch, timeout=timeout))
        await fixture.hanging.wait()
        if stop == "switch":
            switch.cancel("enough")
        elif stop == "task":
            calling.cancel()
        await asyncio.wait([calling])
        await fixture.cancelled.wait()

    if stop == "task":
        assert calling.cancelled()
    else:
        error = calling.result().error
        assert error is not None
        assert error.category.value == ("cancelled" if stop == "switch" else "timeout")


@pytest.mark.req("GW-9.1")
@pytest.mark.parametrize(
    ("hints", "category", "retryable"),
    [
        ({"readOnlyHint": True}, "unavailable", True),
        ({"readOnlyHint": False, "destructiveHint": False}, "unknown_outcome", False),
    ],
)
async def test_a_lost_answer_leaves_the_outcome_open_where_that_matters(
    hints: dict[str, bool],
    category: str,
    retryable: bool,  # noqa: FBT001  # a case
) -> None:
    async def answer(_params: dict[str, Any]) -> dict[str, Any]:
        await server.die()
        return {}

    async with scripted({"annotations": hints}, answer, retries=None) as (toolbox, server):
        result = await toolbox.call("files:echo")

    assert result.error is not None
    assert (result.error.category.value, result.error.retryable) == (category, retryable)


@pytest.mark.req("GW-9.1")
async def test_a_call_that_was_not_sent_leaves_nothing_open() -> None:
    async with scripted({"annotations": {"readOnlyHint": False, "destructiveHint": False}}, {"content": []}) as (
        toolbox,
        server,
    ):
        server.refuses = ConnectionRefusedError("gone")
        await server.die()
        result = await toolbox.call("files:echo")

    assert isinstance(result.error, UpstreamUnavailable)
    assert result.error.details["sent"] is False
    assert result.error.retryable is True


@pytest.mark.req("GW-9.1")
async def test_a_call_that_may_be_repeated_is_tried_again_when_the_server_comes_back() -> None:
    results = iter([None, {"content": [{"type": "text", "text": "back"}]}])

    async def answer(_params: dict[str, Any]) -> dict[str, Any]:
        result = next(results)
        if result is None:
            await server.die(status=1)
            return {}
        return result

    listed = {"name": "echo", "inputSchema": {"type": "object"}, **READ_ONLY}
    answers: dict[str, Any] = {"tools/list": {"tools": [listed]}, "tools/call": answer}
    server = ScriptedServer(**answers)
    settings = UpstreamSettings(restarts=RestartRules(first_delay=0.01))
    async with asyncio.timeout(20), Upstream("files", server.connect, settings=settings) as upstream:
        tools = await import_tools(upstream, trusted=True)
        toolbox = create_toolbox(tools, retries=RetryPolicy(first_delay=0.01))
        result = await toolbox.call("files:echo")

    assert (result.value, result.attempts) == ("back", 2)


async def test_the_time_of_the_toolbox_is_the_time_of_the_server() -> None:
    clock = FakeClock()

    async with scripted({}, None, clock=clock, timeout=7, retries=None) as (toolbox, server):
        calling = asyncio.create_task(toolbox.call("files:echo"))
        await server.until_heard("tools/call")
        await clock.advance(8)
        result = await calling

    assert result.error is not None
    assert result.error.code == "toolbox.deadline-exceeded"
    assert "notifications/cancelled" in server.methods


async def test_a_tool_that_cannot_be_used_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    good = {"name": "echo", "inputSchema": {"type": "object"}}
    listed = {"tools": [good, {"name": "bad", "inputSchema": 7}, {"name": "twin"}, {"name": "twin", "title": "T"}]}
    server = ScriptedServer(**{"tools/list": listed})

    with caplog.at_level(logging.WARNING, logger="toolcrib.mcp"):
        async with asyncio.timeout(20), Upstream("files", server.connect) as upstream:
            tools = await import_tools(upstream)

    assert [each.name for each in tools] == ["echo"]
    logged: list[Any] = [record.args for record in caplog.records]
    assert [finding["name"] for finding in logged] == ["bad", "twin"]


async def test_a_server_that_is_not_there_is_an_error_and_not_an_empty_list() -> None:
    server = ScriptedServer()
    server.refuses = ConnectionRefusedError("gone")

    async with asyncio.timeout(20), Upstream("files", server.connect) as upstream:
        with pytest.raises(UpstreamUnavailable):
            await import_tools(upstream)
