"""Events: every one once, to its own call, in order."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter

import pytest
from small_toolboxes import as_tool, box, called

from toolcrib_runtime import Budget, Policy, RetryPolicy, RuntimeToolContext, ToolCall, ToolEvent
from toolcrib_runtime.testing import EventRecorder, fake_tool

pytestmark = pytest.mark.req("RT-15")


async def test_a_call_is_told_from_its_start_to_its_end_in_order() -> None:
    heard = EventRecorder()
    policy = Policy(rules=(lambda _: "allow",), by_risk=None)

    result = await called(fake_tool("work", returns=1), policy=policy, listeners=(heard,))

    assert heard.kinds() == ["started", "validated", "policy", "attempt", "finished"]
    assert {(each.call_id, each.tool_id, each.parent_call_id) for each in heard.events} == {
        (result.call_id, result.tool_id, None)
    }
    times = [each.at for each in heard.events]
    assert times == sorted(times)


async def test_the_end_says_how_it_came_out() -> None:
    heard = EventRecorder()
    tool = fake_tool("work", sequence=[ConnectionError(), "x"], retries=RetryPolicy(first_delay=0))

    await called(tool, listeners=(heard,))
    await called(fake_tool("work", raises=ValueError("secret")), listeners=(heard,))

    good, bad = heard.data("finished")
    assert {**good, "seconds": 0} == {
        "outcome": "success",
        "category": None,
        "code": None,
        "attempts": 2,
        "source": "run",
        "seconds": 0,
    }
    assert (bad["outcome"], bad["category"], bad["code"]) == ("error", "internal", "tool.default.work.failed")
    assert "secret" not in str(bad)


async def test_a_call_with_bad_arguments_is_told_as_started_and_finished_only() -> None:
    heard = EventRecorder()

    async def work(x: int) -> int:
        return x

    await called(work, {"x": "secret"}, listeners=(heard,))

    assert heard.kinds() == ["started", "finished"]
    assert "secret" not in str(heard.events)


async def test_every_attempt_and_every_retry_is_told() -> None:
    heard = EventRecorder()
    tool = fake_tool("work", raises=ConnectionError, retries=RetryPolicy(attempts=3, first_delay=0))

    await called(tool, listeners=(heard,))

    assert heard.kinds() == ["started", "validated", "attempt", "retry", "attempt", "retry", "attempt", "finished"]
    assert [each["number"] for each in heard.data("attempt")] == [1, 2, 3]


@pytest.mark.req("RT-8")
@pytest.mark.parametrize("number", [10, 100])
async def test_parallel_calls_of_one_tool_give_each_its_own_events_and_no_others(number: int) -> None:
    heard = EventRecorder()

    async def work(context: RuntimeToolContext) -> None:
        context.progress(1)
        await asyncio.sleep(0)
        context.progress(2)

    results = await box(work, listeners=(heard,)).execute([ToolCall("work")] * number)

    expected = ["started", "validated", "attempt", "progress", "progress", "finished"]
    assert len(heard.events) == number * len(expected)
    assert all(heard.kinds(each.call_id) == expected for each in results)


async def test_a_listener_of_some_calls_hears_those_and_the_toolboxs_hears_all() -> None:
    all_heard, some_heard = EventRecorder(), EventRecorder()
    toolbox = box(fake_tool("work"), listeners=[all_heard])

    await toolbox.call("work")
    result = await toolbox.call("work", on_event=some_heard)

    assert Counter(all_heard.kinds())["started"] == 2
    assert {each.call_id for each in some_heard.events} == {result.call_id}


async def test_listeners_are_told_in_the_order_in_which_they_were_given() -> None:
    order = []

    await box(fake_tool("work"), listeners=(lambda _: order.append(1), lambda _: order.append(2))).call(
        "work", on_event=lambda _: order.append(3)
    )

    assert order == [1, 2, 3] * 4


async def test_a_listener_that_fails_is_logged_and_spoils_nothing(caplog: pytest.LogCaptureFixture) -> None:
    heard = EventRecorder()

    def fail(_: ToolEvent) -> None:
        raise ValueError("listener")

    with caplog.at_level(logging.ERROR, logger="toolcrib.runtime"):
        result = await called(fake_tool("work", returns=1), listeners=(fail, heard))

    assert result.unwrap() == 1
    assert len(heard.events) == 4
    assert "a listener failed on `started`" in caplog.text


async def test_nothing_of_arguments_or_values_is_in_an_event() -> None:
    heard = EventRecorder()

    await called(fake_tool("work", returns="secret-1"), {"key": "secret-2"}, budget=Budget(), listeners=(heard,))

    assert "secret" not in str(heard.events)


async def test_what_was_given_as_a_list_cannot_be_changed_from_outside() -> None:
    heard, listeners = EventRecorder(), []
    toolbox = box(fake_tool("work"), listeners=listeners)

    listeners.append(heard)
    await toolbox.call("work")

    assert heard.events == []


async def test_the_source_of_a_value_that_was_not_made_now_is_told() -> None:
    from toolcrib_runtime import CachePolicy

    heard = EventRecorder()
    toolbox = box(as_tool(fake_tool("work", returns=1, cache=CachePolicy())), listeners=(heard,))

    await toolbox.call("work")
    heard.clear()
    await toolbox.call("work")

    assert "attempt" not in heard.kinds()
    assert heard.data("finished")[0]["source"] == "cache"
