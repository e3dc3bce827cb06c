"""Limits and composed tools: a call and its steps never wait for each other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from toolcrib_core import ToolError
from toolcrib_runtime.context import RuntimeToolContext
from toolcrib_runtime.runnable import RunnableTool, create_tool
from toolcrib_runtime.testing import FakeClock
from toolcrib_runtime.toolbox import Toolbox, create_toolbox


class Part:
    """A tool of which one call runs at a time, and only when the test lets it."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.begun = 0
        self.tool = create_tool(
            self._work, name="part", namespace="t", description="Work.", effects="read", concurrency=1, timeout=20
        )

    async def _work(self) -> str:
        self.begun += 1
        await self.let_go.wait()
        return "done"


def whole(body: Callable[[RuntimeToolContext], Awaitable[object]], name: str = "whole") -> RunnableTool:
    """A tool that calls others."""

    async def work(context: RuntimeToolContext) -> object:
        return await body(context)

    return create_tool(work, name=name, namespace="t", description="Call others.", effects="read")


def free_places(box: Toolbox) -> int:
    assert box._settings is not None
    gate = box._settings.stages._concurrency._toolbox
    assert gate is not None
    return gate._free


async def settle() -> None:
    """Let every task run until it waits for something that does not come by itself."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.req("RT-8", "RT-12")
async def test_a_step_needs_no_place_beside_that_of_its_own_call() -> None:
    part = Part()
    part.let_go.set()
    outer = whole(lambda context: context.call(part.tool, {}))
    box = create_toolbox([part.tool, outer], concurrency=1, key_concurrency=1)

    async with asyncio.timeout(5):
        results = [await box.call("t:whole"), await box.call("t:whole")]

    assert [each.value for each in results] == ["done", "done"]


@pytest.mark.req("RT-8", "RT-12")
async def test_the_steps_of_several_calls_keep_to_the_limit_of_their_tool() -> None:
    part = Part()
    box = create_toolbox([whole(lambda context: context.call(part.tool, {}))])

    async with asyncio.timeout(5):
        running = [asyncio.create_task(box.call("t:whole")) for _ in range(5)]
        await settle()
        begun = part.begun
        part.let_go.set()
        results = await asyncio.gather(*running)

    assert begun == 1
    assert all(each.ok for each in results)


@pytest.mark.req("RT-8", "RT-12")
async def test_a_tool_that_calls_itself_does_not_wait_for_itself() -> None:
    tools: list[RunnableTool] = []

    async def count_down(number: int, context: RuntimeToolContext) -> int:
        """Count down to nothing."""
        return 0 if number == 0 else int(str(await context.call(tools[0], {"number": number - 1}))) + 1

    tools.append(create_tool(count_down, namespace="t", effects="read", concurrency=1))
    box = create_toolbox(tools, concurrency=1)

    async with asyncio.timeout(5):
        result = await box.call("t:count_down", {"number": 5})

    assert result.value == 5


@pytest.mark.req("RT-8", "RT-12")
async def test_calls_that_hold_the_places_and_a_call_that_holds_the_tool_do_not_wait_for_each_other() -> None:
    part, ready = Part(), asyncio.Event()
    part.let_go.set()

    async def call_part_later(context: RuntimeToolContext) -> object:
        await ready.wait()
        return await context.call(part.tool, {})

    box = create_toolbox([part.tool, whole(call_part_later)], concurrency=2)

    async with asyncio.timeout(5):
        running = [asyncio.create_task(box.call("t:whole")) for _ in range(2)]
        await settle()
        running += [asyncio.create_task(box.call("t:part")) for _ in range(3)]
        await settle()
        ready.set()
        results = await asyncio.gather(*running)

    assert all(each.ok for each in results)
    assert free_places(box) == 2


@pytest.mark.req("RT-8", "RT-12")
@pytest.mark.parametrize("places", [1, 2])
async def test_many_steps_at_once_and_many_calls_beside_them_all_come_to_an_end(places: int) -> None:
    part = Part()
    part.let_go.set()

    async def call_parts(context: RuntimeToolContext) -> object:
        return list(await asyncio.gather(*(context.call(part.tool, {}) for _ in range(5))))

    box = create_toolbox([part.tool, whole(call_parts)], concurrency=places)

    async with asyncio.timeout(10):
        names = ["t:whole", "t:part", "t:part"] * 5
        results = await asyncio.gather(*(box.call(name) for name in names))

    assert all(each.ok for each in results)
    assert (part.begun, free_places(box)) == (35, places)


@pytest.mark.req("RT-8", "RT-12")
async def test_a_call_has_its_place_again_when_its_step_has_had_its_turn() -> None:
    part, ready = Part(), asyncio.Event()

    async def call_part_and_go_on(context: RuntimeToolContext) -> object:
        await context.call(part.tool, {})
        return await ready.wait()

    box = create_toolbox([part.tool, whole(call_part_and_go_on)], concurrency=2)

    async with asyncio.timeout(5):
        running = [asyncio.create_task(box.call(name)) for name in ("t:part", "t:whole")]
        await settle()
        while_waiting = free_places(box)
        part.let_go.set()
        await settle()
        afterwards = free_places(box)
        ready.set()
        await asyncio.gather(*running)

    assert (while_waiting, afterwards, free_places(box)) == (1, 1, 2)


@pytest.mark.req("RT-6", "RT-8")
async def test_no_place_is_lost_when_a_call_is_cancelled_while_its_step_waits() -> None:
    part = Part()
    box = create_toolbox([part.tool, whole(lambda context: context.call(part.tool, {}))], concurrency=2)

    async with asyncio.timeout(5):
        first = asyncio.create_task(box.call("t:part"))
        second = asyncio.create_task(box.call("t:whole"))
        await settle()
        second.cancel()
        await asyncio.wait([second])
        part.let_go.set()
        await first

    assert free_places(box) == 2


@pytest.mark.req("RT-6", "RT-8")
async def test_no_place_is_lost_when_a_step_gives_up_and_its_call_goes_on() -> None:
    part, clock = Part(), FakeClock()

    async def try_part(context: RuntimeToolContext) -> object:
        try:
            return await context.call(part.tool, {})
        except ToolError as error:
            return error.category

    box = create_toolbox([part.tool, whole(try_part)], concurrency=2, clock=clock, timeout=100)

    async with asyncio.timeout(5):
        first = asyncio.create_task(box.call("t:part", timeout=90))
        second = asyncio.create_task(box.call("t:whole"))
        await settle()
        await clock.advance(20)
        result = await second
        part.let_go.set()
        await first

    assert (result.value, free_places(box)) == ("timeout", 2)


@pytest.mark.req("RT-8")
async def test_no_place_is_lost_when_a_step_outlives_its_call() -> None:
    part, left_behind = Part(), list[asyncio.Future[object]]()

    async def leave_part_behind(context: RuntimeToolContext) -> object:
        left_behind.append(asyncio.ensure_future(context.call(part.tool, {})))
        await settle()
        return "gone"

    box = create_toolbox([part.tool, whole(leave_part_behind)], concurrency=2)

    async with asyncio.timeout(5):
        first = asyncio.create_task(box.call("t:part"))
        result = await box.call("t:whole")
        part.let_go.set()
        await asyncio.gather(first, *left_behind)

    assert (result.value, free_places(box)) == ("gone", 2)
