"""How the service of one client ends: its input ends, it no longer reads, it does not read, or we are stopped."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from contextlib import suppress

import pytest
from front_raw_client import ENVELOPE, call, raw_client, request
from front_services import FixtureService, text

from toolcrib_mcp.front import STDIO_KEY, serve_stdio

pytestmark = pytest.mark.fault("F16")


async def _until(event: asyncio.Event) -> None:
    async with asyncio.timeout(5):
        await event.wait()


async def test_when_the_input_ends_what_is_under_way_is_answered() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call("hang", nonce="late"))
        await _until(service.hanging)
        client.end_input()
        asyncio.get_running_loop().call_later(0.05, service.release.set)
        answers = await client.read_to_end()

    assert [answer["result"] for answer in answers] == [text("late")]
    assert service.ended == [STDIO_KEY]


async def test_what_does_not_end_in_time_is_stopped_and_the_client_told() -> None:
    service = FixtureService()

    async with raw_client(service, drain=0.05) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call("hang"))
        await _until(service.hanging)
        client.end_input()
        answers = await client.read_to_end()

    assert service.cancelled.is_set()
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(1, -32000)]


async def test_a_request_cut_off_by_the_end_of_the_input_is_refused() -> None:
    async with raw_client(FixtureService()) as client:
        client.write_bytes(b'{"jsonrpc":"2.0","id":7,"method":"tools/li')
        client.end_input()
        answers = await client.read_to_end()

    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(7, -32700)]


async def test_a_request_without_a_newline_at_the_end_is_served() -> None:
    async with raw_client(FixtureService()) as client:
        client.write_bytes(request(7, "ping"))
        client.end_input()
        answers = await client.read_to_end()

    assert answers == [{"jsonrpc": "2.0", "id": 7, "result": {}}]


async def test_listening_does_not_hold_up_the_end() -> None:
    async with raw_client(FixtureService(), drain=60) as client:
        client.ask(1, "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=ENVELOPE)
        acknowledged = await client.read()
        client.end_input()
        rest = await client.read_to_end()

    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert rest == []


async def test_a_question_to_a_client_that_ends_its_input_fails_at_once() -> None:
    async with raw_client(FixtureService(), drain=60) as client:
        await client.shake_hands()
        asked = await client.exchange(
            1, "tools/call", **call("ask", method="elicitation/create", params={}, timeout=60)
        )
        client.end_input()
        answers = await client.read_to_end()

    assert asked["method"] == "elicitation/create"
    assert [answer["error"]["code"] for answer in answers] == [-32000]


async def test_being_asked_to_stop_is_as_if_the_input_had_ended() -> None:
    service, stop = FixtureService(), asyncio.Event()

    async with raw_client(service, stop=stop) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call("hang", nonce="late"))
        await _until(service.hanging)
        stop.set()
        asyncio.get_running_loop().call_later(0.05, service.release.set)
        answers = await client.read_to_end()

    assert [answer["result"] for answer in answers] == [text("late")]
    assert service.ended == [STDIO_KEY]


async def test_a_disk_that_is_full_is_a_client_that_has_left() -> None:
    service = FixtureService()
    their_in, our_out = os.pipe()
    os.write(our_out, request(1, "tools/call", **call("echo"), _meta=ENVELOPE) + b"\n")

    with os.fdopen(their_in, "rb") as stdin, open("/dev/full", "wb", buffering=0) as stdout:  # noqa: ASYNC230, PTH123  # no file
        async with asyncio.timeout(5):
            await serve_stdio(service, stdin=stdin, stdout=stdout, drain=60)
    os.close(our_out)

    assert service.ended == [STDIO_KEY]


@pytest.mark.parametrize(("name", "said"), [("stdin", "input"), ("stdout", "output")])
async def test_a_standard_stream_that_is_closed_is_said_at_once(
    name: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, f"__{name}__", None)

    with pytest.raises(OSError, match=f"Standard {said} is closed"):
        await serve_stdio(FixtureService())


@pytest.mark.parametrize("input_ends", [True, False])
async def test_a_client_that_no_longer_reads_has_left_and_its_work_is_cancelled(*, input_ends: bool) -> None:
    service = FixtureService()
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()

    with os.fdopen(their_in, "rb") as stdin, os.fdopen(their_out, "wb") as stdout:
        serving = asyncio.create_task(serve_stdio(service, stdin=stdin, stdout=stdout, drain=60))
        os.write(our_out, request(1, "tools/call", **call("hang"), _meta=ENVELOPE) + b"\n")
        await _until(service.hanging)
        if input_ends:
            os.close(our_out)
        os.close(our_in)
        await _until(service.cancelled)
        async with asyncio.timeout(5):
            await serving
    if not input_ends:
        os.close(our_out)

    assert service.ended == [STDIO_KEY]


async def test_a_client_on_a_socket_that_is_closed_has_left() -> None:
    service = FixtureService()
    ours, theirs = socket.socketpair()

    with theirs:
        serving = asyncio.create_task(serve_stdio(service, stdin=theirs, stdout=theirs, drain=60))
        ours.send(request(1, "tools/call", **call("hang"), _meta=ENVELOPE) + b"\n")
        await _until(service.hanging)
        ours.close()
        await _until(service.cancelled)
        async with asyncio.timeout(5):
            await serving


async def test_a_client_on_a_socket_may_end_its_input_alone() -> None:
    service = FixtureService()
    ours, theirs = socket.socketpair()

    with ours, theirs:
        serving = asyncio.create_task(serve_stdio(service, stdin=theirs, stdout=theirs, drain=60))
        ours.send(request(1, "tools/call", **call("hang", nonce="late"), _meta=ENVELOPE) + b"\n")
        await _until(service.hanging)
        ours.shutdown(socket.SHUT_WR)
        asyncio.get_running_loop().call_later(0.05, service.release.set)
        async with asyncio.timeout(5):
            await serving
        answer = ours.recv(65536)

    assert b'"late"' in answer
    assert not service.cancelled.is_set()


async def test_being_stopped_cancels_the_work_and_tells_the_client() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call("hang"))
        await _until(service.hanging)
        client.serving.cancel()
        with suppress(asyncio.CancelledError):
            await client.serving
        answers = await client.read_to_end()

    assert client.serving.cancelled()
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(1, -32000)]
    assert (service.cancelled.is_set(), service.ended) == (True, [STDIO_KEY])


@pytest.mark.req("GW-6.7")
async def test_a_client_that_does_not_read_is_not_read_from_and_loses_nothing_when_it_reads_again() -> None:
    service = FixtureService()
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    os.set_blocking(our_out, False)
    sent = 0

    with os.fdopen(their_in, "rb") as stdin, os.fdopen(their_out, "wb") as stdout:
        serving = asyncio.create_task(serve_stdio(service, stdin=stdin, stdout=stdout, max_requests=4))
        idle = 0
        while idle < 50:
            # Until nothing more is taken; a few answers fill a pipe.
            try:
                line = request(sent, "tools/call", **call("large", size=10000), _meta=ENVELOPE) + b"\n"
                os.write(our_out, line)
                sent, idle = sent + 1, 0
            except BlockingIOError:
                idle += 1
            await asyncio.sleep(0)
        taken = service.most
        os.close(our_out)
        reading = asyncio.create_task(asyncio.to_thread(_count_lines, our_in))
        async with asyncio.timeout(20):
            await serving
    answers = await reading

    assert taken <= 4
    assert answers == sent


def _count_lines(fd: int) -> int:
    with os.fdopen(fd, "rb") as pipe:
        return sum(1 for _ in pipe)
