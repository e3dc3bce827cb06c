"""Requests over a wire: answers, errors, deadlines, cancellation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.scripted_peer import connected
from toolcrib_core import ToolErrorCategory
from toolcrib_mcp.errors import UpstreamFailed, UpstreamMalformed, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.rpc import Connection, memory_wires
from toolcrib_mcp.rpc.calls import MAX_REMEMBERED
from toolcrib_mcp.rpc.connection import MAX_POSTED
from toolcrib_runtime.testing import FakeClock


async def test_a_request_has_an_id_of_its_own_and_gets_the_result_of_its_answer() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", {"name": "echo"}, timeout=5))
        request = await peer.take("tools/call")
        await peer.answer(request, {"content": []})

        assert request == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}
        assert await asking == {"content": []}


async def test_a_request_without_params_is_sent_without() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("ping", timeout=None))
        request = await peer.take("ping")
        await peer.answer(request, {})

        assert "params" not in request
        assert await asking == {}


@pytest.mark.req("GW-6.6")
@given(
    result=st.dictionaries(
        st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=10,
        ),
        max_size=4,
    )
)
def test_what_the_server_sends_is_what_the_request_returns(result: dict[str, Any]) -> None:
    async def asked() -> dict[str, Any]:
        async with connected() as (connection, peer):
            asking = asyncio.create_task(connection.request("tools/call", timeout=5))
            await peer.answer(await peer.take("tools/call"), result)
            return await asking

    with asyncio.Runner() as runner:
        assert json.dumps(runner.run(asked())) == json.dumps(result)


@pytest.mark.fault("F6")
async def test_a_hundred_requests_at_once_get_their_own_answers_in_whatever_order() -> None:
    async with connected(capacity=200) as (connection, peer):
        asking = [asyncio.create_task(connection.request("echo", {"n": each}, timeout=5)) for each in range(100)]
        requests = [await peer.take("echo") for _ in asking]
        for request in reversed(requests):
            await peer.answer(request, {"n": request["params"]["n"]})

        assert [(await each)["n"] for each in asking] == list(range(100))


async def test_an_error_of_the_server_is_kept_as_it_came() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=5))
        request = await peer.take("tools/call")
        error = {"code": -32602, "message": "Unknown tool: nope", "data": {"name": "nope"}}
        await peer.send(id=request["id"], error=error, result=None)

        with pytest.raises(UpstreamFailed) as failed:
            await asking

        assert (failed.value.rpc_code, failed.value.rpc_message) == (-32602, "Unknown tool: nope")
        assert failed.value.rpc_data == {"name": "nope"}
        assert "Unknown tool: nope" in failed.value.message


async def test_an_error_without_an_id_belongs_to_the_only_request_that_waits() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=5))
        await peer.take("tools/call")
        await peer.send(id=None, error={"code": -32700, "message": "Parse error"})

        with pytest.raises(UpstreamFailed, match="Parse error"):
            await asking


@pytest.mark.fault("F6", "F7")
@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"result": {}, "error": {"code": 1, "message": "too"}}, "a result and an error"),
        ({"result": []}, "no object"),
        ({"result": None}, "no object"),
        ({}, "no object"),
        ({"error": "text"}, "code"),
        ({"error": {"code": 1.5, "message": "x"}}, "code"),
        ({"error": {"code": 1}}, "code"),
    ],
)
@pytest.mark.req("GW-6.7")
async def test_an_answer_that_is_none_fails_its_request_at_once(members: dict[str, Any], why: str) -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=None))
        request = await peer.take("tools/call")
        await peer.send(id=request["id"], **members)

        with pytest.raises(UpstreamMalformed, match=why) as malformed:
            await asking

        assert str(malformed.value.details["excerpt"]).startswith('{"jsonrpc":"2.0","id":1')
        await peer.works(connection)


@pytest.mark.fault("F6")
@pytest.mark.parametrize("respelled", ["1", 1.0])
async def test_an_id_that_comes_back_as_another_type_is_still_the_same_id(respelled: object) -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=5))
        await peer.take("tools/call")
        await peer.answer({"id": respelled}, {"fine": True})

        assert await asking == {"fine": True}
        assert connection.stats.respelled_ids == 1


@pytest.mark.fault("F6")
@pytest.mark.parametrize("foreign", [True, 1.5, "01", " 1", "one", "١", 2, -1, 0, 2**70, [1], {"id": 1}, "9" * 30])
async def test_an_answer_under_an_id_that_is_not_ours_is_dropped(foreign: object) -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=5))
        request = await peer.take("tools/call")
        await peer.answer({"id": foreign}, {"for": "somebody else"})
        await peer.answer(request, {"for": "us"})

        assert await asking == {"for": "us"}
        assert connection.stats.unknown_ids == 1


@pytest.mark.fault("F6")
async def test_a_second_answer_is_dropped() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=5))
        request = await peer.take("tools/call")
        await peer.answer(request, {"n": 1})
        await peer.answer(request, {"n": 2})

        assert await asking == {"n": 1}
        await peer.works(connection)
        assert connection.stats.duplicate_replies == 1


@pytest.mark.fault("F4")
@pytest.mark.parametrize(
    "stray", [{}, {"id": 1, "result": {}}, {"level": 30, "msg": "x"}, {"jsonrpc": "2.0", "method": 7, "id": 1}]
)
async def test_an_object_that_is_no_message_is_counted_and_dropped(stray: dict[str, Any]) -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=5))
        request = await peer.take("tools/call")
        await peer.wire.send(stray)
        await peer.answer(request, {"n": 1})

        assert await asking == {"n": 1}
        assert connection.stats.not_messages == 1


@pytest.mark.req("GW-6.7")
@pytest.mark.fault("F3")
async def test_a_request_whose_time_is_over_fails_tells_the_server_and_drops_the_late_answer() -> None:
    clock = FakeClock()
    async with connected(clock=clock) as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=30))
        request = await peer.take("tools/call")
        await clock.advance(29)
        assert not asking.done()
        await clock.advance(1)

        with pytest.raises(UpstreamTimeout, match="within 30 s") as late:
            await asking

        assert late.value.category is ToolErrorCategory.TIMEOUT
        assert late.value.details["sent"] is True
        assert (await peer.take("notifications/cancelled"))["params"] == {"requestId": request["id"]}
        await peer.answer(request, {"too": "late"})
        await peer.works(connection)
        assert connection.stats.late_replies == 1


@pytest.mark.fault("F3")
async def test_a_caller_that_is_cancelled_tells_the_server_too() -> None:
    async with connected() as (connection, peer):
        asking = asyncio.create_task(connection.request("tools/call", timeout=None))
        request = await peer.take("tools/call")
        asking.cancel()

        with pytest.raises(asyncio.CancelledError):
            await asking

        assert (await peer.take("notifications/cancelled"))["params"] == {"requestId": request["id"]}
        await peer.works(connection)


async def test_initialize_is_given_up_without_a_word() -> None:
    clock = FakeClock()
    async with connected(clock=clock) as (connection, peer):
        asking = asyncio.create_task(connection.request("initialize", timeout=1))
        await peer.take("initialize")
        await clock.advance(1)

        with pytest.raises(UpstreamTimeout):
            await asking

        await peer.works(connection)


async def test_only_so_many_requests_that_were_given_up_are_remembered() -> None:
    async with connected(capacity=3 * MAX_REMEMBERED) as (connection, peer):
        for _ in range(MAX_REMEMBERED + 1):
            asking = asyncio.create_task(connection.request("tools/call", timeout=None))
            await peer.take("tools/call")
            asking.cancel()
            await asyncio.wait([asking])
            await peer.take("notifications/cancelled")

        await peer.answer({"id": 1}, {})
        await peer.answer({"id": 2}, {})

        await peer.works(connection)
        assert (connection.stats.duplicate_replies, connection.stats.late_replies) == (1, 1)


@pytest.mark.req("GW-6.7")
async def test_a_server_that_does_not_read_keeps_nobody_beyond_the_deadline() -> None:
    clock = FakeClock()
    async with connected(clock=clock, capacity=1) as (connection, peer):
        await connection.notify("notifications/fill")
        asking = asyncio.create_task(connection.request("tools/call", timeout=3))
        telling = asyncio.create_task(connection.notify("notifications/x", timeout=4))
        await clock.until_waiting(2)
        await clock.advance(4)

        with pytest.raises(UpstreamTimeout, match="does not read") as unread:
            await asking
        with pytest.raises(UpstreamTimeout, match="did not take `notifications/x` within 4 s"):
            await telling

        assert unread.value.details["sent"] is None
        await peer.take("notifications/fill")
        await peer.take("notifications/cancelled")
        await peer.works(connection)


async def test_notices_for_a_server_that_does_not_read_are_bounded() -> None:
    async with connected(capacity=1) as (connection, _):
        await connection.notify("notifications/fill", timeout=None)
        for _ in range(MAX_POSTED + 10):
            with pytest.raises(UpstreamTimeout):
                await connection.request("tools/call", timeout=0)

        assert connection.stats.dropped_sends >= 8


async def test_params_that_are_not_json_are_refused_and_nothing_is_sent() -> None:
    async with connected() as (connection, peer):
        with pytest.raises(TypeError):
            await connection.request("tools/call", {"x": object()}, timeout=5)

        await peer.works(connection)


@pytest.mark.fault("F2")
async def test_when_the_wire_closes_every_request_fails_and_every_later_one_too() -> None:
    async with connected() as (connection, peer):
        asking = [asyncio.create_task(connection.request("tools/call", timeout=None)) for _ in range(3)]
        for _ in asking:
            await peer.take("tools/call")
        await peer.wire.aclose()

        for each in asking:
            with pytest.raises(UpstreamUnavailable, match="did not answer `tools/call`: It was closed") as gone:
                await each
            assert gone.value.details == {"method": "tools/call", "sent": True}
        with pytest.raises(UpstreamUnavailable, match="was not sent `tools/list`"):
            await connection.request("tools/list", timeout=None)
        with pytest.raises(UpstreamUnavailable, match="was not sent `notifications/x`"):
            await connection.notify("notifications/x")


async def test_a_request_that_a_closed_wire_refuses_fails_before_the_reading_has_noticed() -> None:
    near, _ = memory_wires()
    await near.aclose()

    with pytest.raises(UpstreamUnavailable) as gone:
        await Connection(near).request("tools/call", timeout=1)

    assert gone.value.details["sent"] is False


async def test_a_connection_whose_reading_is_cancelled_fails_its_requests() -> None:
    near, far = memory_wires()
    connection = Connection(near)
    reading = asyncio.create_task(connection.run())
    asking = asyncio.create_task(connection.request("tools/call", timeout=None))
    await far.receive()
    reading.cancel()

    with pytest.raises(UpstreamUnavailable, match="connection was closed"):
        await asking
    with pytest.raises(asyncio.CancelledError):
        await reading
