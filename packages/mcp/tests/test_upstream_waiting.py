from __future__ import annotations

import asyncio

import pytest

from toolcrib_mcp.errors import UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.upstreams.waiting import Waiters
from toolcrib_runtime.testing import FakeClock


def too_late() -> UpstreamUnavailable:
    return UpstreamUnavailable("too late")


async def waiting(waiters: Waiters[int], deadline: float = 2_000) -> asyncio.Task[int]:
    task = asyncio.create_task(waiters.wait(deadline, too_late=too_late))
    await asyncio.sleep(0)
    return task


async def test_all_who_wait_get_the_same_outcome() -> None:
    waiters: Waiters[int] = Waiters(clock=FakeClock())
    tasks = [await waiting(waiters) for _ in range(3)]

    waiters.release(7)

    assert await asyncio.gather(*tasks) == [7, 7, 7]
    assert not waiters


async def test_a_failure_is_told_to_each_by_an_error_of_its_own_that_says_all() -> None:
    waiters: Waiters[int] = Waiters(clock=FakeClock())
    tasks = [await waiting(waiters) for _ in range(2)]

    waiters.fail(UpstreamFailed("It failed.", rpc_code=-1, rpc_message="boom", rpc_data={"a": 1}))
    first, second = await asyncio.gather(*tasks, return_exceptions=True)

    assert first == second
    assert first is not second
    assert (first.rpc_code, first.rpc_message, first.rpc_data) == (-1, "boom", {"a": 1})


async def test_each_waits_no_longer_than_its_own_deadline() -> None:
    clock = FakeClock()
    waiters: Waiters[int] = Waiters(clock=clock)
    patient, hasty = await waiting(waiters), await waiting(waiters, clock.monotonic() + 1)

    await clock.advance(1)

    with pytest.raises(UpstreamUnavailable, match="too late"):
        await hasty
    assert not patient.done()
    waiters.release(7)
    assert await patient == 7
    assert clock.waiting == 0


@pytest.mark.parametrize("outcome", ["released", "failed"])
async def test_who_was_cancelled_meanwhile_is_left_out(outcome: str) -> None:
    waiters: Waiters[int] = Waiters(clock=FakeClock())
    cancelled, other = await waiting(waiters), await waiting(waiters)

    cancelled.cancel()
    if outcome == "released":
        waiters.release(7)
    else:
        waiters.fail(too_late())
    await asyncio.gather(cancelled, other, return_exceptions=True)

    assert cancelled.cancelled()
    assert not other.cancelled()
