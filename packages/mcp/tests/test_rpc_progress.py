"""Progress of requests: from the server to the listener, and never at the cost of the answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.chaos.scripted_peer import connected
from toolcrib_mcp.rpc.calls import MAX_PROGRESS
from toolcrib_runtime.testing import FakeClock


@pytest.mark.req("GW-6.6")
async def test_progress_is_reported_in_order_and_before_the_result() -> None:
    seen: list[object] = []

    async def listen(params: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        seen.append(params)

    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", {"name": "x"}, timeout=5, on_progress=listen))
        asking.add_done_callback(lambda _: seen.append("result"))
        request = await peer.take("tools/call")
        token = request["params"]["_meta"]["progressToken"]
        for number in range(3):
            await peer.progress(token, number)
        await peer.answer(request, {})
        await asking

    assert seen == [*({"progressToken": token, "progress": number} for number in range(3)), "result"]


async def test_a_token_of_somebody_else_is_replaced_by_ours_and_not_sent_where_nobody_listens() -> None:
    async def listen(_: dict[str, Any]) -> None:
        """Nothing."""

    params = {"name": "x", "_meta": {"progressToken": 1, "trace": "t"}}
    async with connected() as (connection, peer):
        for listener, expected in [(None, {"trace": "t"}), (listen, {"trace": "t", "progressToken": 2})]:
            asking = asyncio.create_task(connection.request("x", params, timeout=5, on_progress=listener))
            request = await peer.take("x")
            await peer.answer(request, {})
            await asking

            assert request["params"] == {"name": "x", "_meta": expected}
    assert params["_meta"] == {"progressToken": 1, "trace": "t"}


async def test_progress_that_nobody_asked_for_is_counted_and_dropped() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("x", timeout=5))
        request = await peer.take("x")
        for token in (request["id"], 99, "text", None):
            await peer.progress(token, 1)
        await peer.answer(request, {})

        assert await asking == {}
        assert connection.stats.stray_progress == 4


@pytest.mark.fault("F5")
async def test_a_slow_listener_misses_old_progress_and_delays_nobody_else() -> None:
    seen: list[int] = []
    release = asyncio.Event()

    async def listen(params: dict[str, Any]) -> None:
        seen.append(params["progress"])
        await release.wait()

    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("x", timeout=5, on_progress=listen))
        request = await peer.take("x")
        for number in range(MAX_PROGRESS + 50):
            await peer.progress(request["id"], number)
        await peer.answer(request, {"done": True})
        await peer.works(connection)
        release.set()

        assert await asking == {"done": True}
        assert seen[-1] == MAX_PROGRESS + 49
        assert len(seen) + connection.stats.dropped_progress == MAX_PROGRESS + 50
        assert connection.stats.dropped_progress >= 40


async def test_large_reports_of_progress_do_not_pile_up() -> None:
    release = asyncio.Event()

    async def listen(_: dict[str, Any]) -> None:
        await release.wait()

    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("x", timeout=5, on_progress=listen))
        request = await peer.take("x")
        params = {"progressToken": request["id"], "message": "x" * 200_000}
        for _ in range(10):
            await peer.send(method="notifications/progress", params=params)
        await peer.answer(request, {})
        await peer.works(connection)
        release.set()

        assert await asking == {}
        assert connection.stats.dropped_progress >= 8


async def test_an_answer_that_is_there_is_not_lost_to_a_listener_that_takes_too_long() -> None:
    async def listen(_: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    clock = FakeClock()
    async with connected(clock=clock) as (connection, peer):
        asking = asyncio.create_task(connection.request("x", timeout=5, on_progress=listen))
        request = await peer.take("x")
        await peer.progress(request["id"], 1)
        await peer.answer(request, {"done": True})
        await clock.advance(5)

        assert await asking == {"done": True}
