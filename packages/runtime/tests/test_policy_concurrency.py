"""How many calls run at a time: per tool, per key and per toolbox, and what happens to those who wait."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from typing import Any, Unpack

import pytest

from toolcrib_core import Principal, ToolContext, ToolErrorCategory
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.policy.concurrency import ConcurrencyStage
from toolcrib_runtime.runnable import RunnableTool, create_tool
from toolcrib_runtime.testing import EventRecorder, FakeClock
from toolcrib_runtime.toolbox import ExecuteOptions, Toolbox, create_toolbox


class Workshop:
    """Tools that work until the test lets them go, and the most that worked at a time."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.begun: list[str] = []
        self.inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    def tool(self, name: str, /, *, concurrency: int | None = None, tag: str = "any") -> RunnableTool:
        async def work(job: str = "") -> str:
            self.begun.append(job)
            self.inside.update((name, "all"))
            for each in (name, "all"):
                self.most[each] = max(self.most[each], self.inside[each])
            try:
                await self.let_go.wait()
            finally:
                self.inside.subtract((name, "all"))
            return name

        made = create_tool(work, name=name, namespace="t", description="Work.", effects="read", tags=[tag])
        return made.replace(concurrency=concurrency)


def stage_of(box: Toolbox) -> ConcurrencyStage:
    assert box._settings is not None
    return box._settings.stages._concurrency


def user(name: str) -> ToolContext:
    return ToolContext(user=Principal(id=name))


async def settle() -> None:
    """Let every task run until it waits for something that does not come by itself."""
    for _ in range(20):
        await asyncio.sleep(0)


def started(box: Toolbox, names: str, **options: Unpack[ExecuteOptions]) -> asyncio.Task[list[ToolResult]]:
    calls = [ToolCall(tool=f"t:{name}", arguments={"job": name}) for name in names]
    return asyncio.create_task(box.execute(calls, **options))


@pytest.mark.req("RT-8", "D1-7i")
async def test_no_more_calls_of_a_tool_run_than_it_allows() -> None:
    shop = Workshop()
    box = create_toolbox([shop.tool("a", concurrency=2), shop.tool("b")])

    async with asyncio.timeout(5):
        running = started(box, "aaaaabbb")
        await settle()
        shop.let_go.set()
        results = await running

    assert all(each.ok for each in results)
    assert (shop.most["a"], shop.most["b"]) == (2, 3)


@pytest.mark.req("RT-8", "D1-7i")
async def test_no_more_calls_run_than_the_toolbox_allows_of_all_its_tools_together() -> None:
    shop = Workshop()
    box = create_toolbox([shop.tool("a"), shop.tool("b")], concurrency=3)

    async with asyncio.timeout(5):
        running = started(box, "abababab")
        await settle()
        shop.let_go.set()
        await running

    assert shop.most["all"] == 3


@pytest.mark.req("RT-8")
async def test_no_more_calls_with_the_same_key_run_than_a_key_allows() -> None:
    shop = Workshop()
    tools = [shop.tool(name, tag="left" if name in "ab" else "right") for name in "abc"]
    box = create_toolbox(tools, key_concurrency=2, concurrency_key=lambda call: call.definition.tags[0])

    async with asyncio.timeout(5):
        running = started(box, "aabbabcccc")
        await settle()
        now = dict(shop.inside)
        shop.let_go.set()
        await running

    assert (now["a"] + now.get("b", 0), now["c"]) == (2, 2)


@pytest.mark.req("RT-8")
async def test_the_key_of_a_call_is_its_user_unless_a_function_says_otherwise() -> None:
    shop = Workshop()
    box = create_toolbox([shop.tool("a")], key_concurrency=1)

    async with asyncio.timeout(5):
        running = [started(box, "aaa", context=user(name)) for name in ("ann", "bob")]
        running.append(started(box, "aaa"))
        await settle()
        now = shop.inside["a"]
        shop.let_go.set()
        await asyncio.gather(*running)

    assert now == 3


@pytest.mark.req("RT-8")
async def test_a_busy_tool_does_not_take_the_places_of_the_toolbox() -> None:
    shop = Workshop()
    box = create_toolbox([shop.tool("slow", concurrency=1), shop.tool("b")], concurrency=2)

    async with asyncio.timeout(5):
        crowd = asyncio.create_task(box.execute([ToolCall(tool="t:slow")] * 50))
        await settle()
        other = started(box, "b")
        await settle()
        now = dict(shop.inside)
        shop.let_go.set()
        await asyncio.gather(crowd, other)

    assert (now["slow"], now["b"]) == (1, 1)


@pytest.mark.req("RT-8")
async def test_users_take_turns_at_a_tool() -> None:
    shop = Workshop()
    box = create_toolbox([shop.tool("a", concurrency=1)])

    async def call(name: str) -> None:
        await box.call("t:a", {"job": name}, context=user(name))

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(call("crowd"))
        group.create_task(call("single"))
        await settle()
        shop.let_go.set()

    assert shop.begun.index("single") == 2


@pytest.mark.req("RT-6", "RT-8")
async def test_a_queued_call_that_is_taken_back_leaves_the_queue_at_once() -> None:
    shop, switch = Workshop(), Cancellation()
    box = create_toolbox([shop.tool("a", concurrency=1)], concurrency=1, key_concurrency=5)

    async with asyncio.timeout(5):
        first = started(box, "a")
        await settle()
        queued = started(box, "aaa", cancellation=switch)
        await settle()
        switch.cancel()
        results = await queued
        shop.let_go.set()
        await first
        after = await box.call("t:a")

    assert [each.error.category for each in results if each.error] == [ToolErrorCategory.CANCELLED] * 3
    assert [each.attempts for each in results] == [0, 0, 0]
    assert after.ok


@pytest.mark.req("RT-5", "RT-8")
async def test_the_time_in_the_queue_counts_for_the_deadline_and_is_told() -> None:
    shop, clock = Workshop(), FakeClock()
    box = create_toolbox([shop.tool("a", concurrency=1)], clock=clock, timeout=30)

    async with asyncio.timeout(5):
        first = asyncio.create_task(box.call("t:a"))
        await settle()
        second = asyncio.create_task(box.call("t:a", timeout=10))
        await settle()
        await clock.advance(10)
        result = await second
        shop.let_go.set()
        await first

    assert result.error is not None
    assert (result.error.category, result.attempts, result.queued) == (ToolErrorCategory.TIMEOUT, 0, 10)


@pytest.mark.req("RT-8", "RT-15")
async def test_only_a_call_that_had_to_wait_is_told_as_queued_and_at_which_gate() -> None:
    shop, clock, recorder = Workshop(), FakeClock(), EventRecorder()
    box = create_toolbox([shop.tool("a", concurrency=1)], concurrency=9, clock=clock, listeners=(recorder,))

    async with asyncio.timeout(5):
        running = started(box, "aa")
        await settle()
        await clock.advance(4)
        shop.let_go.set()
        first, second = await running

    assert (first.queued, second.queued) == (0, 4)
    assert "queued" not in recorder.kinds(first.call_id)
    assert [event.data for event in recorder.of(second.call_id) if event.kind == "queued"] == [{"gate": "tool"}]


@pytest.mark.req("RT-8")
async def test_keys_and_tools_leave_nothing_behind_when_their_calls_have_ended() -> None:
    shop = Workshop()
    shop.let_go.set()
    box = create_toolbox([shop.tool("a", concurrency=9)], concurrency=9, key_concurrency=1)

    for number in range(1_000):
        await box.call("t:a", context=user(f"user{number}"))

    stage = stage_of(box)
    assert (len(stage._keys), len(stage._tools), len(stage._seats)) == (0, 0, 0)


@pytest.mark.req("RT-8")
def test_a_toolbox_may_be_used_in_one_event_loop_after_another() -> None:
    box = create_toolbox([_quick], concurrency=1, key_concurrency=1)

    def calls() -> list[ToolResult]:
        return asyncio.run(box.execute([ToolCall(tool="t:quick")] * 5))

    assert all(each.ok for each in calls() + calls())


@pytest.mark.req("RT-8")
async def test_a_thousand_parallel_calls_of_one_tool_cost_linear_time() -> None:
    async def cpu_of(count: int) -> float:
        box = create_toolbox([_quick.replace(concurrency=1)])
        calls = [ToolCall(tool="t:quick")] * count
        gc.collect()
        before = time.process_time()
        await box.execute(calls, max_parallel=count)
        return time.process_time() - before

    async with asyncio.timeout(60):
        await cpu_of(100)
        few = min([await cpu_of(200) for _ in range(3)])
        many = min([await cpu_of(1_000) for _ in range(3)])

    assert many / few < 10  # 5 if linear, 25 if quadratic


@pytest.mark.parametrize("limits", [{"toolbox_limit": 0}, {"key_limit": 1.5}])
def test_the_stage_refuses_a_limit_that_makes_no_sense(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a whole number, 1 or more"):
        ConcurrencyStage(**limits)


def test_the_stage_refuses_a_tool_whose_limit_makes_no_sense() -> None:
    with pytest.raises(ValueError, match=r"^`concurrency` must be a whole number, 1 or more$"):
        ConcurrencyStage().concerns(_quick.replace(concurrency=0))


def test_the_stage_concerns_only_tools_whose_calls_can_have_to_wait() -> None:
    assert not ConcurrencyStage().concerns(_quick)
    assert ConcurrencyStage().concerns(_quick.replace(concurrency=1))
    assert ConcurrencyStage(toolbox_limit=1).concerns(_quick)
    assert ConcurrencyStage(key_limit=1).concerns(_quick)


async def _quickly(job: str = "") -> str:
    await asyncio.sleep(0)
    return job


_quick = create_tool(_quickly, name="quick", namespace="t", description="Work a moment.", effects="read")
