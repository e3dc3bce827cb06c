"""Trying again: what is tried again, how often, and how long the waits are."""

from __future__ import annotations

import asyncio
import math
from random import Random
from typing import Any, Unpack

import pytest

from toolcrib_core import JsonValue, ToolError, ToolErrorCategory
from toolcrib_core.risk import Effects
from toolcrib_runtime.calls import ToolResult
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.invocation import Invocation, Proceed
from toolcrib_runtime.policy.retries import MAX_ENDLESS_WAIT, RetryPolicy, RetryStage
from toolcrib_runtime.policy.rules import Policy
from toolcrib_runtime.settings import ToolboxOptions
from toolcrib_runtime.testing import EventRecorder, FakeClock, FakeTool, fake_tool
from toolcrib_runtime.toolbox import create_toolbox

_NEVER_RETRIED = set(ToolErrorCategory) - {
    ToolErrorCategory.TRANSIENT,
    ToolErrorCategory.TIMEOUT,
    ToolErrorCategory.UNAVAILABLE,
}


class SkippingClock(FakeClock):
    """A clock on which every sleep is over at once, and noted."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        await self.advance(seconds)


class Longest(Random):
    """Draws the end of every range."""

    def random(self) -> float:
        return 1.0


def failure(category: ToolErrorCategory = ToolErrorCategory.TRANSIENT, **details: object) -> ToolError:
    return ToolError("The upstream is busy.", code="tool.busy", category=category, retryable=True, details=details)


async def called(tool: FakeTool, **settings: Unpack[ToolboxOptions]) -> ToolResult:
    settings.setdefault("clock", SkippingClock())
    return await create_toolbox([tool], **settings).call(tool.id)


async def ceilings(policy: RetryPolicy) -> list[float]:
    """The waits of a call that always fails, where each is as long as it may be."""
    stage, clock = RetryStage(Longest()), SkippingClock()

    async def failing(invocation: Invocation) -> JsonValue:
        raise failure()

    async def instead(invocation: Invocation, proceed: Proceed) -> JsonValue:
        return await stage(invocation, failing)

    box = create_toolbox([fake_tool("t:get")], clock=clock, timeout=None, retries=policy, middleware=(instead,))
    await box.call("t:get")
    return clock.slept


@pytest.mark.req("RT-7", "D1-7h")
@pytest.mark.fault("I4")
async def test_a_call_that_fails_twice_gives_the_value_of_the_third_try() -> None:
    tool = fake_tool("t:get", sequence=[failure(), failure(), "done"])

    result = await called(tool)

    assert (result.value, result.attempts, len(tool.calls)) == ("done", 3, 3)


@pytest.mark.req("RT-7")
@pytest.mark.fault("I4")
async def test_a_call_that_always_fails_ends_with_its_last_error_after_all_the_tries() -> None:
    tool = fake_tool("t:get", sequence=[failure(number=1), failure(number=2), failure(number=3), failure(number=4)])

    result = await called(tool)

    assert len(tool.calls) == 3
    assert result.error is not None
    assert result.error.details == {"number": 3, "attempts": 3}


@pytest.mark.req("RT-7")
@pytest.mark.fault("I4")
@pytest.mark.parametrize("effects", ["write", "unknown"])
async def test_a_tool_that_may_not_run_twice_is_started_once(effects: Effects) -> None:
    clock = SkippingClock()
    tool = fake_tool("t:pay", raises=failure(), effects=effects, retries=RetryPolicy(attempts=5))

    result = await called(tool, clock=clock, policy=Policy(by_risk=None), middleware=(RetryStage(),))

    assert not result.ok
    assert (len(tool.calls), clock.slept) == (1, [])


@pytest.mark.req("RT-7")
async def test_a_tool_that_writes_but_is_idempotent_is_tried_again() -> None:
    tool = fake_tool("t:put", sequence=[failure(), "done"], effects="write", idempotent=True)

    result = await called(tool)

    assert (result.value, result.attempts) == ("done", 2)


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("category", sorted(_NEVER_RETRIED))
async def test_an_error_that_will_not_pass_is_never_retried_even_if_it_says_so(category: ToolErrorCategory) -> None:
    tool = fake_tool("t:get", raises=failure(category))

    result = await called(tool)

    assert result.error is not None
    assert (len(tool.calls), "attempts" in result.error.details) == (1, False)


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("category", sorted(set(ToolErrorCategory) - _NEVER_RETRIED))
async def test_an_error_that_may_pass_is_retried_unless_it_says_that_it_will_not(category: ToolErrorCategory) -> None:
    passing = fake_tool("t:get", sequence=[failure(category), "done"])
    lasting = fake_tool("t:get", raises=ToolError("Gone.", category=category, retryable=False))

    assert (await called(passing)).value == "done"
    assert (await called(lasting)).attempts == 1


@pytest.mark.req("RT-7")
async def test_a_second_error_that_will_not_pass_ends_the_tries_and_says_how_many_there_were() -> None:
    tool = fake_tool("t:get", sequence=[failure(), ToolError("No.", category=ToolErrorCategory.NOT_FOUND)])

    result = await called(tool)

    assert result.error is not None
    assert result.error.details == {"attempts": 2}


@pytest.mark.req("RT-7")
async def test_the_waits_grow_by_the_factor_up_to_the_longest() -> None:
    policy = RetryPolicy(attempts=6, first_delay=1, factor=3, max_delay=20)

    assert await ceilings(policy) == [1, 3, 9, 20, 20]


async def test_a_first_delay_over_the_longest_is_cut_to_it() -> None:
    assert await ceilings(RetryPolicy(attempts=3, first_delay=50, max_delay=2)) == [2, 2]


async def test_a_huge_factor_does_not_overflow() -> None:
    policy = RetryPolicy(attempts=1_200, first_delay=1e-300, factor=1e300, max_delay=5)

    assert (await ceilings(policy))[-1] == 5


@pytest.mark.req("RT-7")
async def test_every_wait_is_a_random_part_of_the_longest_it_may_be() -> None:
    clock = SkippingClock()
    tool = fake_tool("t:get", raises=failure())

    await called(tool, clock=clock, timeout=None, retries=RetryPolicy(attempts=50, first_delay=1, factor=1))

    assert all(0 <= delay <= 1 for delay in clock.slept)
    assert len(set(clock.slept)) == 49


@pytest.mark.req("RT-7")
async def test_the_wait_is_at_least_what_the_error_asks_for() -> None:
    clock = SkippingClock()
    tool = fake_tool("t:get", sequence=[failure(retryAfter=25), "done"])

    result = await called(tool, clock=clock)

    assert (result.value, clock.slept) == ("done", [25])


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("asked", [60, 61.5, math.inf])
async def test_the_error_comes_back_at_once_if_the_wait_it_asks_for_does_not_fit_the_deadline(asked: float) -> None:
    clock = SkippingClock()
    tool = fake_tool("t:get", raises=failure(retryAfter=asked))

    result = await called(tool, clock=clock, timeout=60)

    assert result.error is not None
    assert (result.error.code, result.error.details["attempts"]) == ("tool.busy", 1)
    assert (len(tool.calls), clock.slept) == (1, [])


async def test_without_a_deadline_an_error_cannot_ask_for_an_endless_wait() -> None:
    clock = SkippingClock()
    tool = fake_tool("t:get", sequence=[failure(retryAfter=MAX_ENDLESS_WAIT), failure(retryAfter=MAX_ENDLESS_WAIT + 1)])

    result = await called(tool, clock=clock, timeout=None)

    assert (result.ok, clock.slept) == (False, [MAX_ENDLESS_WAIT])


@pytest.mark.parametrize("asked", ["soon", True, -5, math.nan, None, [1]])
async def test_a_retry_after_that_is_no_time_is_as_none(asked: object) -> None:
    clock = SkippingClock()
    tool = fake_tool("t:get", sequence=[failure(retryAfter=asked), "done"])

    result = await called(tool, clock=clock)

    assert result.value == "done"
    assert 0 <= clock.slept[0] <= 0.2


@pytest.mark.req("RT-7")
@pytest.mark.fault("I4")
async def test_a_deadline_shorter_than_the_wait_ends_the_call_at_once_with_the_error() -> None:
    clock = SkippingClock()
    tool = fake_tool("t:get", raises=failure(retryAfter=5))

    result = await called(tool, clock=clock, timeout=4, retries=RetryPolicy(attempts=10))

    assert result.error is not None
    assert (result.error.code, len(tool.calls), clock.slept) == ("tool.busy", 1, [])


@pytest.mark.req("RT-7")
@pytest.mark.fault("I4")
async def test_no_try_starts_after_the_deadline_even_if_the_wait_took_too_long() -> None:
    class Oversleeping(FakeClock):
        async def sleep(self, seconds: float, /) -> None:
            self._now += 3_600

    tool = fake_tool("t:get", raises=failure())

    result = await called(tool, clock=Oversleeping(), timeout=60)

    assert result.error is not None
    assert (result.error.code, len(tool.calls)) == ("tool.busy", 1)


@pytest.mark.req("RT-6", "RT-7")
async def test_a_call_that_waits_for_its_next_try_is_taken_back_at_once() -> None:
    clock, switch = FakeClock(), Cancellation()
    tool = fake_tool("t:get", raises=failure(retryAfter=30))
    box = create_toolbox([tool], clock=clock)

    async with asyncio.timeout(5):
        running = asyncio.create_task(box.call("t:get", cancellation=switch))
        await clock.until_waiting(2)  # the deadline and the wait
        switch.cancel()
        result = await running

    assert result.error is not None
    assert (result.error.category, len(tool.calls), clock.waiting) == (ToolErrorCategory.CANCELLED, 1, 0)


@pytest.mark.req("RT-7", "RT-15")
async def test_every_retry_is_told_once_with_the_try_that_failed_the_wait_and_the_code() -> None:
    clock, recorder = SkippingClock(), EventRecorder()
    tool = fake_tool("t:get", raises=failure(retryAfter=2))
    box = create_toolbox([tool], clock=clock, listeners=(recorder,))

    await box.call("t:get")

    assert recorder.data("retry") == [
        {"attempt": 1, "delay": 2, "code": "tool.busy"},
        {"attempt": 2, "delay": 2, "code": "tool.busy"},
    ]


@pytest.mark.req("RT-7")
async def test_the_policy_of_the_tool_goes_before_that_of_the_toolbox() -> None:
    tool = fake_tool("t:get", raises=failure(), retries=RetryPolicy(attempts=2))

    result = await called(tool, retries=RetryPolicy(attempts=9))

    assert result.attempts == 2


@pytest.mark.req("RT-7")
async def test_nothing_is_retried_where_no_policy_says_so() -> None:
    tool = fake_tool("t:get", raises=failure())

    result = await called(tool, retries=None, middleware=(RetryStage(),))

    assert result.attempts == 1


async def test_the_details_that_a_tool_gave_its_error_are_not_written_to() -> None:
    error = failure()
    details = error.details

    await called(fake_tool("t:get", raises=error))

    assert details == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attempts", 0),
        ("attempts", 1.5),
        ("attempts", True),
        ("first_delay", -0.1),
        ("first_delay", math.inf),
        ("factor", 0.5),
        ("factor", math.nan),
        ("max_delay", -1),
        ("max_delay", "10"),
    ],
)
def test_a_policy_refuses_a_number_that_makes_no_sense_and_names_it(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^`{name}` must be a (whole|finite) number, [01] or more$"):
        RetryPolicy(**{name: value})
