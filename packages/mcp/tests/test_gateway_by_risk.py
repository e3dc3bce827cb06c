"""The surface with one tool each for reading, writing and destroying, so that allow-lists of hosts keep working."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from gateway_cases import GatewayCase, gatewayed
from proxy_cases import error_of
from scripted_servers import ECHO, ScriptedServer

from toolcrib_core import ToolRisk, count_tokens
from toolcrib_core.schema.compiled import compile_schema
from toolcrib_mcp.gateway.meta_tools import (
    EXECUTE_DESTRUCTIVE,
    EXECUTE_READ,
    EXECUTE_WRITE,
    INSTRUCTIONS_BY_RISK,
    META_TOOLS_BY_RISK,
)
from toolcrib_mcp.policy.risks import risk_class
from toolcrib_mcp.rpc import RpcError

HINTS: dict[str, dict[str, Any]] = {
    "look": {"readOnlyHint": True},
    "save": {"readOnlyHint": False, "destructiveHint": False},
    "drop": {"readOnlyHint": False, "destructiveHint": True},
    "some": {},
}
RIGHT = {"look": EXECUTE_READ, "save": EXECUTE_WRITE, "drop": EXECUTE_DESTRUCTIVE, "some": EXECUTE_DESTRUCTIVE}
ORDER = [EXECUTE_READ, EXECUTE_WRITE, EXECUTE_DESTRUCTIVE]


@asynccontextmanager
async def split(*, trusted: bool = True, **servers: Any) -> AsyncIterator[tuple[GatewayCase, list[str]]]:
    """A gateway over a server with one tool of each kind, and the names of those that were called."""
    called: list[str] = []

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        called.append(params["name"])
        return {"content": [{"type": "text", "text": "done"}]}

    tools = [{**ECHO, "name": name, "inputSchema": {"type": "object"}, "annotations": HINTS[name]} for name in HINTS]
    box = ScriptedServer(**{"tools/list": {"tools": tools}, "tools/call": answer})
    ours = {"execute": "by-risk", "servers": {"box": {"trusted": trusted, **servers}}}
    async with gatewayed({"box": box}, ours=ours) as case:
        await case.ask("tools/call", name="tool_browse", arguments={"path": "/"})
        yield case, called


def id_of(case: GatewayCase, tool: str) -> str:
    return next(each for each in case.hub.catalog.snapshot().ids if each.startswith(f"box:{tool}#"))


@pytest.mark.req("GW-8.3", "GW-4.2")
def test_the_five_tools_cost_no_more_than_540_tokens_and_are_valid() -> None:
    listed = json.dumps({"tools": list(META_TOOLS_BY_RISK)}, separators=(",", ":"), ensure_ascii=False)

    assert count_tokens(listed) <= 540
    assert count_tokens(INSTRUCTIONS_BY_RISK) <= 100
    for each in META_TOOLS_BY_RISK:
        compile_schema(each["inputSchema"])


@pytest.mark.req("GW-8.3", "D4-4.2a")
async def test_the_list_has_one_tool_for_each_risk_and_says_what_each_may_do() -> None:
    async with split() as (case, _):
        listed = await case.ask("tools/list")
        face = await case.service.face()

    annotations = {tool["name"]: tool["annotations"] for tool in listed["tools"]}
    assert list(annotations) == ["tool_browse", *ORDER, "tool_view"]
    assert [annotations[each] for each in ORDER] == [
        {"readOnlyHint": True},
        {"destructiveHint": False},
        {"destructiveHint": True},
    ]
    assert face.instructions == f"{INSTRUCTIONS_BY_RISK} Servers: box: look"


@pytest.mark.req("GW-8.3")
@pytest.mark.fault("F14")
@pytest.mark.parametrize("through", ORDER)
@pytest.mark.parametrize("tool", HINTS)
async def test_a_tool_runs_through_its_class_and_those_above_and_is_refused_below(tool: str, through: str) -> None:
    async with split() as (case, called):
        result = await case.call(through, {"tool_id": id_of(case, tool)})

    right = RIGHT[tool]
    if ORDER.index(through) >= ORDER.index(right):
        assert result["content"][0]["text"] == "done"
        assert called == [tool]
        return
    told = error_of(result)
    assert told["error"] == "POLICY_DENIED"
    assert told["details"]["use"] == right
    assert told["hint"] == f"Nothing was run. Call `{right}` with the same arguments."
    assert called == []


@pytest.mark.req("GW-8.3", "CL-19", "CL-21")
async def test_a_tool_that_its_server_declares_read_only_runs_through_the_tool_that_reads() -> None:
    async with split(trusted=False) as (case, called):
        result = await case.call(EXECUTE_READ, {"tool_id": id_of(case, "look")})
        told = await case.failed(EXECUTE_READ, tool_id=id_of(case, "some"))

    assert result["content"][0]["text"] == "done"
    assert told["message"].startswith("`tool_execute_read` runs only tools that only read, and `box:some#")
    assert told["message"].endswith(" does not declare what it does.")
    assert called == ["look"]


@pytest.mark.req("GW-8.3")
async def test_what_the_operator_says_of_a_tool_decides() -> None:
    risk = {"some": {"effects": "read"}, "look": {"destructive": True}}
    async with split(risk=risk) as (case, called):
        result = await case.call(EXECUTE_READ, {"tool_id": id_of(case, "some")})
        told = await case.failed(EXECUTE_WRITE, tool_id=id_of(case, "look"))

    assert result["content"][0]["text"] == "done"
    assert "may delete or overwrite" in told["message"]
    assert called == ["some"]


async def test_the_tool_for_everything_is_not_there() -> None:
    async with split() as (case, called):
        with pytest.raises(RpcError) as refused:
            await case.call("tool_execute", {"tool_id": "box:look"})

    assert "tool_execute_read" in json.dumps(refused.value.data)
    assert called == []


@pytest.mark.parametrize("through", ORDER)
async def test_an_unknown_tool_and_wrong_arguments_are_told_as_ever(through: str) -> None:
    async with split() as (case, called):
        unknown = await case.failed(through, tool_id="box:lok")
        wrong = await case.failed(through, tool_id=7)

    assert unknown["error"] == "TOOL_NOT_FOUND"
    assert wrong["error"] == "ARGS_INVALID"
    assert called == []


@pytest.mark.parametrize("effects", ["none", "read", "write", "unknown"])
@pytest.mark.parametrize("destructive", [False, True])
def test_no_class_is_below_what_a_tool_may_do(effects: Any, *, destructive: bool) -> None:
    risk = ToolRisk(effects=effects, destructive=destructive)

    assert (risk_class(risk, "nothing") == "read") is not risk.may_write
    assert risk_class(ToolRisk(effects=effects, destructive=True), "read") == "destructive"
