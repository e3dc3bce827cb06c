"""The switch that takes calls back, and the scope around one call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine

import pytest
from small_toolboxes import background

from toolcrib_runtime import CallCancelled, Cancellation, DeadlineExceeded
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import SYSTEM_CLOCK
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("RT-6")


def scope_of(
    clock: FakeClock | None = None, *, within: float | None = None, by: Cancellation | None = None
) -> CallScope:
    used = clock or SYSTEM_CLOCK
    deadline = None if within is None else used.monotonic() + within
    return CallScope(clock=used, deadline=deadline, cancellation=by)


async def forever() -> None:
    await asyncio.Event().wait()


async def cancel_once(
    started: asyncio.Event, work: Callable[[], Coroutine[None, None, object]], *why: str
) -> BaseException:
    """Cancel the task that runs some work in a scope once it has started; gives the cancellation that comes out."""

    async def run() -> None:
        await scope_of(within=60).run(work())

    async with asyncio.timeout(5):
        task = asyncio.create_task(run())
        await started.wait()
        task.cancel(*why)
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
    return cancelled.value


def test_a_switch_is_turned_once_and_keeps_its_first_reason() -> None:
    switch, heard = Cancellation(), []
    switch.on_cancel(lambda: heard.append(1))

    switch.cancel("first")
    switch.cancel("second")

    assert (switch.is_cancelled, switch.reason, heard) == (True, "first", [1])
    assert str(switch.error()) == "The call was cancelled: first."


def test_a_reason_is_shown_on_one_bounded_line() -> None:
    switch = Cancellation()

    switch.cancel("a\nb" + "x" * 1_000)

    assert switch.reason is not None
    assert "\n" not in switch.reason
    assert len(switch.reason) < 200


def test_a_listener_that_comes_late_hears_at_once() -> None:
    switch, heard = Cancellation(), []
    switch.cancel()

    switch.on_cancel(lambda: heard.append(1))

    assert heard == [1]


def test_a_listener_that_was_taken_off_hears_nothing() -> None:
    switch, heard = Cancellation(), []
    off = switch.on_cancel(lambda: heard.append(1))

    off()
    off()
    switch.cancel()

    assert heard == []


def test_an_error_before_any_reason_says_that_there_is_none() -> None:
    assert "no reason given" in Cancellation().error().message


async def test_work_that_ends_in_time_gives_its_value_and_leaves_no_timer() -> None:
    clock, switch = FakeClock(), Cancellation()

    async def work() -> int:
        await asyncio.sleep(0)
        return 1

    value = await scope_of(clock, within=5, by=switch).run(work())

    assert (value, clock.waiting, switch._listeners) == (1, 0, {})


@pytest.mark.req("RT-5")
async def test_work_that_does_not_end_in_time_is_stopped_and_its_finally_blocks_run() -> None:
    clock, ended = FakeClock(), []

    async def work() -> None:
        try:
            await forever()
        finally:
            ended.append(True)

    async def run() -> None:
        await scope_of(clock, within=5).run(work())

    async with background(run()) as task:
        await clock.until_waiting()
        await clock.advance(5)
        with pytest.raises(DeadlineExceeded):
            await task

    assert ended == [True]


async def test_a_scope_that_is_over_before_it_begins_says_so() -> None:
    switch = Cancellation()
    switch.cancel("gone")

    with pytest.raises(CallCancelled, match="gone"):
        scope_of(by=switch).check()
    with pytest.raises(DeadlineExceeded):
        scope_of(within=0).check()
    scope_of(within=60, by=Cancellation()).check()


async def test_a_switch_may_be_turned_by_another_thread() -> None:
    switch, started = Cancellation(), asyncio.Event()

    async def work() -> None:
        started.set()
        await forever()

    async def run() -> None:
        await scope_of(by=switch).run(work())

    async with asyncio.timeout(5), background(run()) as task:
        await started.wait()
        threading.Thread(target=switch.cancel, args=("from outside",)).start()
        with pytest.raises(CallCancelled, match="from outside"):
            await task


async def test_a_switch_may_be_turned_by_the_very_work_that_it_stops() -> None:
    switch = Cancellation()

    async def work() -> None:
        await asyncio.sleep(0)
        switch.cancel("enough")
        await forever()

    async with asyncio.timeout(5):
        with pytest.raises(CallCancelled, match="enough"):
            await scope_of(by=switch).run(work())

    assert await asyncio.sleep(0, "the task goes on") == "the task goes on"


async def test_the_callers_own_cancellation_passes_also_when_it_meets_one_of_ours() -> None:
    clock, switch, started = FakeClock(), Cancellation(), asyncio.Event()

    async def work() -> None:
        started.set()
        await forever()

    async def run() -> None:
        await scope_of(clock, within=5, by=switch).run(work())

    async with asyncio.timeout(5):
        task = asyncio.create_task(run())
        await started.wait()
        switch.cancel()
        task.cancel()
        await clock.advance(5)
        with pytest.raises(asyncio.CancelledError):
            await task

    assert task.cancelled()


async def test_a_deadline_and_a_switch_at_the_same_time_are_one_error_and_the_task_goes_on() -> None:
    clock, switch, started = FakeClock(), Cancellation(), asyncio.Event()

    async def work() -> None:
        started.set()
        await forever()

    async def run() -> str:
        with pytest.raises((CallCancelled, DeadlineExceeded)):
            await scope_of(clock, within=5, by=switch).run(work())
        return await asyncio.sleep(0, "goes on")

    async with asyncio.timeout(5), background(run()) as task:
        await started.wait()
        switch.cancel()
        await clock.advance(5)
        assert await task == "goes on"


async def test_a_cancellation_that_the_work_swallows_is_not_lost() -> None:
    started = asyncio.Event()

    async def work() -> str:
        started.set()
        try:
            await forever()
        except asyncio.CancelledError:
            return "nothing happened"
        return "never"

    await cancel_once(started, work)


async def test_a_cancellation_that_the_work_turns_into_something_else_is_not_lost() -> None:
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await forever()
        except asyncio.CancelledError:
            raise ValueError("something else") from None

    await cancel_once(started, work)


async def test_the_message_of_a_cancellation_arrives_with_it() -> None:
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        await forever()

    cancelled = await cancel_once(started, work, "shutting down")

    assert cancelled.args == ("shutting down",)


async def test_a_scope_within_a_cancelled_task_still_keeps_its_own_time() -> None:
    clock, started, outcome = FakeClock(), asyncio.Event(), []

    async def run() -> None:
        try:
            started.set()
            await forever()
        except asyncio.CancelledError:
            try:
                await scope_of(clock, within=5).run(forever())
            except DeadlineExceeded:
                outcome.append("cleaned up in time")
            raise

    async with asyncio.timeout(5):
        task = asyncio.create_task(run())
        await started.wait()
        task.cancel()
        await clock.until_waiting()
        await clock.advance(5)
        with pytest.raises(asyncio.CancelledError):
            await task

    assert outcome == ["cleaned up in time"]


async def test_a_scope_inside_a_scope_gives_the_error_of_the_one_that_was_over() -> None:
    clock = FakeClock()

    async def inner() -> None:
        await scope_of(clock, within=9).run(forever())

    async def run() -> None:
        await scope_of(clock, within=5).run(inner())

    async with background(run()) as task:
        await clock.until_waiting(2)
        await clock.advance(5)
        with pytest.raises(DeadlineExceeded):
            await task

    assert clock.waiting == 0


async def test_a_switch_that_is_turned_in_the_moment_the_work_ends_changes_nothing() -> None:
    switch, ready = Cancellation(), asyncio.get_running_loop().create_future()

    async def work() -> int:
        value: int = await ready
        switch.cancel()
        return value

    ready.set_result(1)
    value = await scope_of(by=switch).run(work())

    assert (value, await asyncio.sleep(0, "goes on")) == (1, "goes on")


async def test_of_two_causes_at_the_same_time_the_first_is_told() -> None:
    started, scope = asyncio.Event(), scope_of()

    async def work() -> None:
        started.set()
        await forever()

    async def run() -> None:
        await scope.run(work())

    async with asyncio.timeout(5), background(run()) as task:
        await started.wait()
        scope._interrupt(CallCancelled("first"))
        scope._interrupt(DeadlineExceeded("second"))
        with pytest.raises(CallCancelled, match="first"):
            await task


def test_a_scope_outside_any_task_ends_without_a_word() -> None:
    async def arm() -> CallScope:
        return scope_of()

    scope = asyncio.run(arm())

    scope.disarm()


def test_a_switch_that_is_turned_when_the_loop_has_closed_harms_nothing() -> None:
    switch = Cancellation()
    scopes = []

    async def run() -> None:
        scopes.append(scope_of(by=switch))
        scopes[0].arm()

    asyncio.run(run())

    switch.cancel()
    assert switch.is_cancelled
