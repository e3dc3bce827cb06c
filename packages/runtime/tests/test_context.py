"""What a running tool is told about its call, and what it tells back."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest
from small_toolboxes import as_tool, box, called, held_up, until_set

from toolcrib_core import ToolContext
from toolcrib_core.context import Principal
from toolcrib_runtime import Cancellation, Policy, RuntimeToolContext, ToolCall, ToolEvent, deny
from toolcrib_runtime.testing import EventRecorder, FakeClock, fake_tool

pytestmark = pytest.mark.req("RT-4")


@pytest.mark.req("D1-0q", "D1-4e", "D1-4f")
async def test_a_tool_is_told_who_asks_in_which_run_and_by_which_call() -> None:
    told: list[RuntimeToolContext] = []

    async def look(x: int, context: RuntimeToolContext) -> None:
        told.append(context)

    given = ToolContext(
        run_id="run-1",
        request_id="request-1",
        user=Principal(id="ann"),
        tenant=Principal(id="acme"),
        logger=logging.getLogger("test"),
    )
    call = ToolCall("look", {"x": 1}, id="c1")
    await box(look, context={"region": "north"}).execute(call, context=given)

    (context,) = told
    assert isinstance(context, ToolContext)
    assert (context.run_id, context.request_id, context.user, context.tenant) == (
        "run-1",
        "request-1",
        Principal(id="ann"),
        Principal(id="acme"),
    )
    assert context.logger is given.logger
    assert (context.tool_call, context.attempt, context.values) == (call, 1, {"region": "north"})
    assert not context.cancellation.is_cancelled


async def test_without_a_context_of_the_caller_there_is_one_all_the_same() -> None:
    async def look(context: RuntimeToolContext) -> object:
        return [context.run_id, context.user and context.user.id, dict(context.values)]

    assert (await called(look)).unwrap() == [None, None, {}]


@pytest.mark.req("RT-5", "D1-4g")
async def test_a_tool_can_ask_how_much_time_is_left() -> None:
    clock = FakeClock()
    seen = []

    async def look(context: RuntimeToolContext) -> None:
        seen.append((context.deadline, context.remaining))
        await clock.advance(4)
        seen.append((context.deadline, context.remaining))

    await called(as_tool(look, timeout=10), clock=clock)

    assert seen == [(1_010.0, 10.0), (1_010.0, 6.0)]


async def test_without_a_deadline_there_is_no_time_left_to_count() -> None:
    async def look(context: RuntimeToolContext) -> object:
        return [context.deadline, context.remaining]

    assert (await called(look, timeout=None)).unwrap() == [None, None]


def speak(context: RuntimeToolContext) -> str:
    context.progress(1, 3, "one of three")
    context.log("half way", level="warning", city="Oslo")
    context.stream({"part": 1})
    context.emit("found", {"number": 2})
    return threading.current_thread().name


_SPOKEN: list[tuple[str, dict[str, Any]]] = [
    ("progress", {"done": 1, "total": 3, "message": "one of three"}),
    ("log", {"level": "warning", "message": "half way", "data": {"city": "Oslo"}}),
    ("chunk", {"chunk": {"part": 1}}),
    ("custom", {"name": "found", "data": {"number": 2}}),
]


@pytest.mark.parametrize("where", ["on the loop", "in a thread", "on a loop in a thread"])
async def test_what_a_tool_tells_arrives_in_order_on_the_thread_of_the_loop(where: str) -> None:
    heard, threads = EventRecorder(), set()

    def listen(event: ToolEvent) -> None:
        heard(event)
        threads.add(threading.current_thread())

    async def speak_async(context: RuntimeToolContext) -> str:
        return speak(context)

    function = speak_async if where == "on a loop in a thread" else speak
    tool = as_tool(function, name="speak", blocking=where != "on the loop")
    result = await called(tool, listeners=(listen,))

    assert result.unwrap() == ("toolcrib-worker" if "thread" in where else threading.current_thread().name)
    spoken = [(each.kind, dict(each.data)) for each in heard.events if each.kind in {kind for kind, _ in _SPOKEN}]
    assert spoken == _SPOKEN
    assert {each.call_id for each in heard.events} == {result.call_id}
    assert threads == {threading.current_thread()}
    assert heard.kinds()[-1] == "finished"


async def test_nobody_hears_what_a_tool_says_after_its_call() -> None:
    heard = EventRecorder()
    kept: list[RuntimeToolContext] = []

    async def keep(context: RuntimeToolContext) -> None:
        kept.append(context)

    await called(keep, listeners=(heard,))
    number = len(heard.events)
    kept[0].progress(1)
    await asyncio.to_thread(kept[0].log, "still here")
    await asyncio.sleep(0)

    assert len(heard.events) == number


def test_a_tool_may_speak_after_its_loop_has_closed() -> None:
    kept: list[RuntimeToolContext] = []

    async def keep(context: RuntimeToolContext) -> None:
        kept.append(context)

    asyncio.run(called(keep))

    kept[0].progress(1)


@pytest.mark.req("RT-5", "RT-6")
@pytest.mark.parametrize("how", ["timeout", "switch", "task"])
async def test_a_plain_function_sees_that_its_call_was_stopped(how: str) -> None:
    switch, started, seen = Cancellation(), threading.Event(), threading.Event()

    with held_up() as over:

        def work(context: RuntimeToolContext) -> None:
            context.cancellation.on_cancel(seen.set)
            started.set()
            over.wait(10)

        async with asyncio.timeout(10):
            options: Any = {"timeout": 0.05 if how == "timeout" else 30, "cancellation": switch}
            task = asyncio.create_task(box(work).call("work", **options))
            await until_set(started)
            if how == "switch":
                switch.cancel()
            elif how == "task":
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await until_set(seen)

    assert seen.is_set()


async def test_the_switch_of_a_context_is_turned_when_its_call_has_ended() -> None:
    kept: list[RuntimeToolContext] = []

    async def keep(context: RuntimeToolContext) -> None:
        kept.append(context)
        await asyncio.sleep(0)
        assert not context.cancellation.is_cancelled

    await called(keep)

    assert kept[0].cancellation.is_cancelled


@pytest.mark.req("D1-4h")
async def test_a_tool_can_call_another_one_as_a_step_of_its_own_call() -> None:
    heard, other = EventRecorder(), fake_tool("other", returns=2)

    async def outer(context: RuntimeToolContext) -> object:
        return await context.call(other, {"x": 1})

    result = await box(outer, listeners=(heard,)).call("outer")

    assert result.unwrap() == 2
    assert other.calls == [{"x": 1}]
    of_step = [each for each in heard.events if each.parent_call_id is not None]
    assert {each.parent_call_id for each in of_step} == {result.call_id}
    assert [each.kind for each in of_step] == ["started", "validated", "attempt", "finished"]


async def test_a_step_is_under_the_rules_and_the_deadline_of_the_call() -> None:
    clock = FakeClock()
    seen = []

    async def look(context: RuntimeToolContext) -> None:
        seen.append(context.remaining)

    inner, denied = as_tool(look, timeout=100), fake_tool("secret")

    async def outer(context: RuntimeToolContext) -> None:
        await context.call(inner, {})
        await context.call(denied, {})

    policy = Policy(rules=(deny("*:secret"),), by_risk=None)
    result = await box(as_tool(outer, timeout=7), policy=policy, clock=clock).call("outer")

    assert seen == [7.0]
    assert result.error is not None
    assert (result.error.code, denied.calls) == ("toolbox.not-permitted", [])


async def test_tools_that_are_made_anew_for_every_step_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib_runtime.call.MAX_STEPS", 10)

    async def outer(context: RuntimeToolContext) -> object:
        return await context.call(fake_tool("inner", returns=1), {})

    toolbox = box(outer)
    results = [await toolbox.call("outer") for _ in range(50)]

    assert all(each.unwrap() == 1 for each in results)
    assert toolbox._settings is not None
    assert len(toolbox._settings.steps) <= 10


async def test_the_context_says_which_attempt_it_is() -> None:
    from toolcrib_runtime import RetryPolicy

    seen = []

    async def work(context: RuntimeToolContext) -> None:
        seen.append(context.attempt)
        raise ConnectionError

    await called(as_tool(work, retries=RetryPolicy(attempts=3, first_delay=0)))

    assert seen == [1, 2, 3]


@pytest.mark.req("RT-5")
async def test_the_deadline_of_the_callers_context_is_told_to_the_tool_when_it_is_the_earlier_one() -> None:
    async def look(context: RuntimeToolContext) -> float | None:
        return context.deadline

    deadline = time.monotonic() + 5

    assert (await box(look).call("look", context=ToolContext(deadline=deadline))).unwrap() == deadline
    later = ToolContext(deadline=deadline + 1_000)
    assert (await box(look).call("look", context=later)).unwrap() < deadline + 1_000
