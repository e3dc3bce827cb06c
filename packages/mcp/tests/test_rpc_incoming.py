"""What a server asks and tells of its own accord."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from tests.chaos.scripted_peer import ScriptedPeer, connected
from toolcrib_mcp.rpc import Connection, RpcError, memory_wires
from toolcrib_mcp.rpc.incoming import MAX_NOTIFICATIONS, MAX_REQUESTS


async def test_ping_is_answered_by_the_connection_itself() -> None:
    async with connected() as (_, peer):
        await peer.send(id="p-1", method="ping")

        assert await peer.take() == {"jsonrpc": "2.0", "id": "p-1", "result": {}}


@pytest.mark.fault("F17")
async def test_without_a_handler_every_request_of_the_server_is_refused() -> None:
    async with connected() as (connection, peer):
        await peer.send(id=1, method="sampling/createMessage", params={"messages": []})

        assert (await peer.take())["error"] == {"code": -32601, "message": "Method not found"}
        assert connection.stats.refused_requests == 1


@pytest.mark.req("GW-6.6")
async def test_a_request_of_the_server_is_answered_with_what_the_handler_returns() -> None:
    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"method": method, "params": params}

    async with connected(on_request=handle) as (_, peer):
        await peer.send(id=7, method="roots/list", params={"a": 1})
        await peer.send(id=8, method="roots/list", params=[1])

        assert (await peer.take())["result"] == {"method": "roots/list", "params": {"a": 1}}
        assert (await peer.take())["result"] == {"method": "roots/list", "params": {}}


async def test_a_handler_refuses_with_an_error_of_its_choice() -> None:
    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(-1, "The user said no.", {"by": "user"})

    async with connected(on_request=handle) as (_, peer):
        await peer.send(id=7, method="elicitation/create")

        assert (await peer.take())["error"] == {"code": -1, "message": "The user said no.", "data": {"by": "user"}}


@pytest.mark.parametrize("returned", [None, {"value": object()}])
async def test_a_handler_that_fails_tells_the_server_nothing_but_that(
    returned: dict[str, Any] | None, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        if returned is None:
            raise ValueError("with a secret in it")
        return returned

    async with connected(on_request=handle) as (connection, peer):
        with caplog.at_level(logging.ERROR, "toolcrib.mcp"):
            await peer.send(id=7, method="roots/list")
            answer = await peer.take()

        assert answer["error"] == {"code": -32603, "message": "Internal error"}
        assert connection.stats.failed_handlers == 1
        assert "`roots/list`" in caplog.text
        await peer.works(connection)


async def test_a_handler_that_waits_keeps_neither_answers_nor_other_requests_waiting() -> None:
    release = asyncio.Event()

    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "slow":
            await release.wait()
        return {"method": method}

    async with connected(on_request=handle) as (connection, peer):
        await peer.send(id=1, method="slow")
        await peer.send(id=2, method="quick")
        quick = await peer.take()
        await peer.works(connection)
        release.set()

        assert quick["id"] == 2
        assert (await peer.take())["id"] == 1


async def test_a_request_that_the_server_takes_back_is_stopped_and_not_answered() -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return {}

    async with connected(on_request=handle) as (connection, peer):
        await peer.send(id="a", method="elicitation/create")
        await begun.wait()
        for request_id in ("never sent", None, "a"):
            await peer.send(method="notifications/cancelled", params={"requestId": request_id})
        await stopped.wait()

        await peer.works(connection)


async def test_requests_that_are_taken_back_before_they_begin_leave_no_trace() -> None:
    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"method": method}

    async with connected(on_request=handle, capacity=2 * MAX_REQUESTS) as (connection, peer):
        for _ in range(3):
            for number in range(MAX_REQUESTS // 2):
                await peer.send(id=number, method="roots/list")
                await peer.send(method="notifications/cancelled", params={"requestId": number})
            await peer.works(connection)
        await peer.send(id=0, method="roots/list")

        assert (await peer.take())["result"] == {"method": "roots/list"}


async def test_more_requests_at_once_than_are_worked_on_are_refused() -> None:
    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await asyncio.Event().wait() or {}

    async with connected(on_request=handle, capacity=2 * MAX_REQUESTS) as (connection, peer):
        for number in range(MAX_REQUESTS + 1):
            await peer.send(id=number, method="roots/list")

        refusal = await peer.take()
        assert (refusal["id"], refusal["error"]["message"]) == (MAX_REQUESTS, "Too many requests at once")
        await peer.works(connection)


@pytest.mark.parametrize("request_id", [None, 1.5, True, [1], {}])
async def test_a_request_whose_id_is_none_is_counted_and_dropped(request_id: object) -> None:
    async with connected() as (connection, peer):
        await peer.send(id=request_id, method="ping")

        await peer.works(connection)
        assert connection.stats.refused_requests == 1


async def test_a_request_under_an_id_that_is_still_worked_on_is_dropped() -> None:
    release = asyncio.Event()

    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        await release.wait()
        return {"n": params["n"]}

    async with connected(on_request=handle) as (connection, peer):
        await peer.send(id=1, method="x", params={"n": 1})
        await peer.send(id=1, method="x", params={"n": 2})
        await peer.works(connection)
        release.set()

        assert (await peer.take())["result"] == {"n": 1}
        await peer.works(connection)


async def test_the_id_of_a_server_request_is_no_id_of_ours() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=5))
        request = await peer.take("tools/call")
        await peer.send(id=request["id"], method="ping")
        await peer.answer(request, {"n": 1})

        assert await asking == {"n": 1}


async def test_notifications_are_handed_on_in_order_and_with_their_params() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def listen(method: str, params: dict[str, Any]) -> None:
        await asyncio.sleep(0)
        seen.append((method, params))

    async with connected(on_notification=listen) as (connection, peer):
        for number in range(5):
            await peer.send(method="notifications/message", params={"data": number})
        await peer.send(method="notifications/tools/list_changed")
        await peer.works(connection)
        await peer.wire.aclose()

    messages = [("notifications/message", {"data": number}) for number in range(5)]
    assert seen == [*messages, ("notifications/tools/list_changed", {})]


async def test_a_listener_that_fails_is_logged_and_hears_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    heard = asyncio.Event()

    async def listen(method: str, params: dict[str, Any]) -> None:
        if method == "bad":
            raise ValueError("no")
        heard.set()

    async with connected(on_notification=listen) as (connection, peer):
        await peer.send(method="bad")
        await peer.send(method="good")
        await heard.wait()

        assert connection.stats.failed_handlers == 1
    assert "`bad`" in caplog.text


@pytest.mark.fault("F5", "F11")
async def test_a_listener_that_hangs_costs_log_lines_first_and_never_an_answer() -> None:
    release = asyncio.Event()
    seen: list[str] = []

    async def listen(method: str, params: dict[str, Any]) -> None:
        await release.wait()
        seen.append(method)

    async with connected(on_notification=listen) as (connection, peer):
        for _ in range(2 * MAX_NOTIFICATIONS):
            await peer.send(method="notifications/message", params={"data": "x"})
        await peer.send(method="notifications/tools/list_changed")
        await peer.works(connection)
        release.set()
        await peer.wire.aclose()

    assert seen[-1] == "notifications/tools/list_changed"
    assert len(seen) + connection.stats.dropped_notifications == 2 * MAX_NOTIFICATIONS + 1
    assert len(seen) <= MAX_NOTIFICATIONS


async def test_a_listener_may_ask_the_server_from_within() -> None:
    answers: list[dict[str, Any]] = []
    relisted = asyncio.Event()

    async def relist(method: str, params: dict[str, Any]) -> None:
        answers.append(await connection.request("tools/list", timeout=5))
        relisted.set()

    near, far = memory_wires()
    connection, peer = Connection(near, on_notification=relist), ScriptedPeer(far)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(connection.run())
        await peer.send(method="notifications/tools/list_changed")
        await peer.answer(await peer.take("tools/list"), {"tools": []})
        await relisted.wait()
        await near.aclose()

    assert answers == [{"tools": []}]


async def test_the_end_waits_a_moment_for_a_listener_and_no_longer() -> None:
    stopped = asyncio.Event()

    async def listen(method: str, params: dict[str, Any]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with connected(on_notification=listen) as (_, peer):
        await peer.send(method="notifications/message")
        await peer.wire.aclose()

    assert stopped.is_set()


async def test_when_the_wire_closes_the_work_on_requests_is_stopped_and_an_answer_goes_nowhere() -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        begun.set()
        if method == "answers":
            await near.aclose()
            return {}
        try:
            return await asyncio.Event().wait() or {}
        finally:
            stopped.set()

    near, far = memory_wires()
    peer = ScriptedPeer(far)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(Connection(near, on_request=handle).run())
        await peer.send(id=1, method="waits")
        await begun.wait()
        await peer.send(id=2, method="answers")

    assert stopped.is_set()
