"""A toolbox, served, imported again: the same schemas, the same behaviour, the same errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from toolbox_cases import EVERY_TOOL, PIXEL, boxed

from toolcrib_mcp.front.in_process import connect_service
from toolcrib_mcp.toolboxes import ToolboxService, import_tools
from toolcrib_mcp.upstreams import Era, Upstream, UpstreamSettings
from toolcrib_runtime import Toolbox, allow_only, create_toolbox
from toolcrib_runtime.policy.rules import Policy

both_eras = pytest.mark.parametrize("era", [Era.HANDSHAKE, Era.MODERN])
AS_IT_IS = Policy(by_risk=None)


@asynccontextmanager
async def imported(toolbox: Toolbox, era: Era = Era.MODERN, **options: Any) -> AsyncIterator[Toolbox]:
    connect = connect_service(ToolboxService(toolbox, version="1"), **options)
    async with asyncio.timeout(20), Upstream("box", connect, settings=UpstreamSettings(era=era)) as upstream:
        yield create_toolbox(await import_tools(upstream, trusted=True), policy=AS_IT_IS)


@pytest.mark.req("GW-9.1")
async def test_definitions_come_back_as_they_were() -> None:
    originals = {each.id: each.definition for each in EVERY_TOOL}

    async with imported(boxed()) as toolbox:
        copies = {each.definition.metadata["_meta"]["io.toolcrib/id"]: each.definition for each in toolbox}

    assert copies.keys() == originals.keys()
    for tool_id, original in originals.items():
        copy = copies[tool_id]
        assert copy.input_schema == original.input_schema
        assert copy.output_schema == original.output_schema
        assert (copy.title, copy.description, copy.version) == (original.title, original.description, original.version)
        # The hints of the protocol do not tell a tool that reads from one that does nothing at all.
        effects = "read" if original.risk.effects == "none" else original.risk.effects
        assert copy.risk == original.risk.model_copy(update={"effects": effects})


@pytest.mark.req("GW-9.1")
@both_eras
async def test_values_and_content_come_back_as_they_were(era: Era) -> None:
    async with imported(boxed(), era) as toolbox:
        weather = await toolbox.call("box:weather__forecast", {"city": "Oslo"})
        drawn = await toolbox.call("box:picture")
        greeting = await toolbox.call("box:greet", {"name": "Ann"})
        total = await toolbox.call("box:add", {"a": 1, "b": 2})

    assert weather.value == {"Oslo": 3}
    assert (drawn.value, drawn.content[0]) == ({"width": 1}, PIXEL)
    assert greeting.value == "Hello, Ann!"
    assert total.value == (3 if era is Era.MODERN else {"result": 3})


@pytest.mark.req("GW-9.1")
@both_eras
async def test_errors_keep_their_code_category_and_hint(era: Era) -> None:
    original = boxed()
    direct = await original.call("break_down", {"why": "gone"})

    async with imported(original, era) as toolbox:
        copied = await toolbox.call("box:break_down", {"why": "gone"})

    assert direct.error is not None
    assert copied.error == direct.error


@pytest.mark.req("GW-9.1", "GW-8.4")
@both_eras
async def test_a_call_that_needs_approval_there_says_so_here(era: Era) -> None:
    async with imported(boxed(), era) as toolbox:
        result = await toolbox.call("box:wipe", {"disk": "sda"})

    assert result.error is not None
    assert result.error.code == "toolbox.approval-required"
    assert result.error.category.value == "approval_required"


@pytest.mark.req("GW-9.1")
@both_eras
async def test_progress_and_principals_pass_through(era: Era) -> None:
    told: list[Any] = []

    async with imported(boxed(), era, principal="ann") as toolbox:
        await toolbox.call("box:crawl", {"pages": 2}, on_event=told.append)
        who = await toolbox.call("box:whoami")

    assert [event.data["done"] for event in told if event.kind == "progress"] == [1, 2]
    assert who.content[0]["text"] == "ann"


async def test_what_a_rule_denies_there_is_denied_here() -> None:
    async with imported(boxed(policy=Policy(rules=(allow_only("*:add"),)))) as toolbox:
        result = await toolbox.call("box:greet", {"name": "Ann"})

    assert result.error is not None
    assert result.error.code == "toolbox.not-permitted"
