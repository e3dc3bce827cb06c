"""Every way in which a server over stdio misbehaves, with the outcome for the call, the next call and the machine."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from process_children import needs_proc, until

from tests.chaos.hostile_server import MODES
from tests.chaos.hostile_upstream import hostile
from toolcrib_mcp.errors import (
    ResultTooLarge,
    UpstreamError,
    UpstreamFailed,
    UpstreamMalformed,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from toolcrib_runtime.testing import FakeClock

pytestmark = [needs_proc, pytest.mark.req("GW-6.7")]

# The mode, and what is counted by it.
ANSWERED = {
    "good": {},
    "stdout_noise": {"not_messages": 1},
    "bad_utf8": {},
    "stderr_flood": {},
    "string_id": {"respelled_ids": 1},
    "duplicate_reply": {"duplicate_replies": 1},
    "unknown_id": {"unknown_ids": 1},
    "notification_flood": {"stray_progress": 6_667},
    "asks_client": {"refused_requests": 2},
    "changed_definitions": {},
}
FAILED_AT_ONCE = {
    "both_result_and_error": (UpstreamMalformed, "a result and an error"),
    "deep_json": (UpstreamMalformed, "nested too deeply"),
    "line_16mb": (ResultTooLarge, "16,777,216 bytes"),
    "endless_line": (ResultTooLarge, "16,777,216 bytes"),
}
ENDED = {
    "crash": (UpstreamUnavailable, "exit status 3"),
    "crash_in_call": (UpstreamUnavailable, "SIGKILL"),
    "exits_cleanly": (UpstreamUnavailable, "exit status 0"),
    "half_line": (UpstreamMalformed, "not JSON"),
    "closes_stdout": (UpstreamUnavailable, "closed its standard output"),
}
TOO_LATE = ("hang", "hang_in_call", "slow_bytes", "wrong_id", "late_reply", "no_read")
# The mode, and what is true of its first and second listing.
LISTINGS: dict[str, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    "cursor_loop": lambda first, second: first["nextCursor"] == second["nextCursor"],
    "duplicate_names": lambda first, _: [each["name"] for each in first["tools"]] == ["echo", "steady", "steady"],
    "null_schema": lambda first, _: first["tools"][-1] == {"name": "null_schema", "inputSchema": None},
    "malformed_tool": lambda first, _: (
        first["tools"][-3:] == [{"name": 7}, {"name": "listed", "inputSchema": []}, "text"]
    ),
    "ten_thousand_tools": lambda first, second: (first["nextCursor"], second["nextCursor"]) == ("1000", "2000"),
    "changed_definitions": lambda first, second: first["tools"][0] != second["tools"][0],
}
CLOSING = ("ignores_stdin_close", "ignores_sigterm")


def test_every_mode_of_the_hostile_server_is_in_one_of_these_tests() -> None:
    assert {*ANSWERED, *FAILED_AT_ONCE, *ENDED, *TOO_LATE, *LISTINGS, *CLOSING} == set(MODES)


@pytest.mark.fault("F4", "F5", "F6")
@pytest.mark.parametrize("mode", ANSWERED)
async def test_the_call_is_answered_all_the_same(mode: str) -> None:
    async with hostile(mode) as upstream:
        result = await upstream.call("n-1")

        assert result["structuredContent"] == {"nonce": "n-1"}
        await upstream.works()
        stats = upstream.connection.stats
        assert all(getattr(stats, counter) >= least for counter, least in ANSWERED[mode].items())


@pytest.mark.fault("F5", "F6", "F7")
@pytest.mark.parametrize("mode", FAILED_AT_ONCE)
async def test_the_call_fails_at_once_and_the_connection_lives_on(mode: str) -> None:
    error, words = FAILED_AT_ONCE[mode]
    size = ("--size", "50000000") if mode == "endless_line" else ()
    async with hostile(mode, *size) as upstream:
        with pytest.raises(error, match=words):
            await upstream.call("n-1")

        await upstream.works()


@pytest.mark.fault("F1", "F2", "F5")
@pytest.mark.parametrize("mode", ENDED)
async def test_the_call_fails_with_the_end_of_the_server_and_the_next_server_is_not_concerned(mode: str) -> None:
    error, words = ENDED[mode]
    async with hostile(mode) as upstream:
        with pytest.raises(error, match=words):
            await upstream.call("n-1")
        with pytest.raises(UpstreamUnavailable):
            await upstream.call("n-2", tool="steady")

    async with hostile("good") as upstream:
        await upstream.works()


@pytest.mark.fault("F3", "F6")
@pytest.mark.parametrize("mode", TOO_LATE)
async def test_the_call_ends_at_its_deadline(mode: str) -> None:
    clock = FakeClock()
    async with hostile(mode, clock=clock) as upstream:
        asking = asyncio.create_task(upstream.call("n-1", timeout=30))
        await clock.until_waiting()
        await clock.advance(30)

        with pytest.raises(UpstreamTimeout, match="did not answer `tools/call` within 30 s"):
            await asking


@pytest.mark.fault("F3")
async def test_an_answer_after_the_deadline_is_dropped_and_counted() -> None:
    clock = FakeClock()
    async with hostile("late_reply", clock=clock) as upstream:
        asking = asyncio.create_task(upstream.call("n-1", timeout=30))
        await clock.until_waiting()
        await clock.advance(30)

        with pytest.raises(UpstreamTimeout):
            await asking

        await until(lambda: upstream.connection.stats.late_replies == 1)
        await upstream.works()


@pytest.mark.fault("F3")
async def test_a_timeout_shows_what_the_server_wrote_in_place_of_an_answer() -> None:
    async with hostile("hang_in_call", "--banner", "Press any key to continue") as upstream:
        await upstream.works()
        with pytest.raises(UpstreamTimeout) as late:
            await upstream.call("n-1", timeout=0.01)

    assert late.value.details["noise"] == {"lines": 1, "excerpt": "Press any key to continue"}


@pytest.mark.fault("F3")
@pytest.mark.parametrize("mode", ["hang_in_call", "wrong_id"])
async def test_other_calls_are_answered_while_one_hangs(mode: str) -> None:
    async with hostile(mode) as upstream:
        hanging = asyncio.create_task(upstream.call("n-1"))
        await upstream.works()
        hanging.cancel()

        await upstream.works()


@pytest.mark.fault("F3")
async def test_an_answer_that_comes_byte_by_byte_is_read() -> None:
    async with hostile("slow_bytes", "--delay", "0") as upstream:
        assert (await upstream.call("n-1"))["structuredContent"] == {"nonce": "n-1"}


@pytest.mark.fault("F3")
async def test_a_server_that_does_not_read_keeps_callers_to_their_deadlines_and_memory_flat() -> None:
    async with hostile("no_read") as upstream:
        with pytest.raises(UpstreamTimeout):
            await upstream.call("n-1", timeout=0.1)
        for number in range(50):
            with pytest.raises(UpstreamTimeout) as late:
                await upstream.call("x" * 100_000 + str(number), timeout=0.01)

        assert "does not read" in late.value.message
        assert len(upstream.wire.child.stdin._pending) < 200_000


@pytest.mark.fault("F5")
async def test_a_line_without_end_is_dropped_as_it_comes() -> None:
    async with hostile("endless_line", max_line=1_000_000) as upstream:
        tracemalloc.start()
        with pytest.raises(ResultTooLarge) as large:
            await upstream.call("n-1")
        await until(lambda: upstream.wire.noise.dropped_bytes > 100_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert large.value.details["limit"] == 1_000_000
        assert peak < 5_000_000


@pytest.mark.fault("F5")
async def test_a_text_of_15_mb_is_read_in_a_moment() -> None:
    async with asyncio.timeout(10), hostile("line_16mb", "--size", str(15 * 1024 * 1024)) as upstream:
        result = await upstream.call("n-1")

        assert len(result["content"][0]["text"]) == 15 * 1024 * 1024


@pytest.mark.fault("F5")
async def test_in_a_flood_of_notifications_progress_comes_in_order_and_nothing_piles_up() -> None:
    numbers: list[int] = []
    methods: dict[str, int] = {}

    async def progress(params: dict[str, Any]) -> None:
        numbers.append(params["progress"])

    async def count(method: str, params: dict[str, Any]) -> None:
        methods[method] = methods.get(method, 0) + 1

    async with hostile("notification_flood", on_notification=count) as upstream:
        result = await upstream.call("n-1", on_progress=progress)

        assert result["structuredContent"] == {"nonce": "n-1"}
        assert numbers == sorted(numbers)
        assert len(numbers) + upstream.connection.stats.dropped_progress == 6_667
        await upstream.works()
    assert sum(methods.values()) + upstream.connection.stats.dropped_notifications == 13_333


async def test_the_server_hears_the_answers_to_its_own_requests() -> None:
    async def handle(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"roots": [method]}

    async with hostile("asks_client", on_request=handle) as upstream:
        answers = (await upstream.call("n-1"))["answers"]

    assert [answers[each]["result"] for each in "012"] == [{}, {"roots": ["roots/list"]}, {"roots": ["no/such"]}]


@pytest.mark.fault("F15")
async def test_five_hundred_calls_at_once_get_their_own_answers() -> None:
    async with hostile("duplicate_reply") as upstream:
        results = await asyncio.gather(*(upstream.call(f"n-{each}") for each in range(500)))

    assert [each["structuredContent"]["nonce"] for each in results] == [f"n-{each}" for each in range(500)]


@pytest.mark.fault("F16")
async def test_two_hundred_callers_that_are_cancelled_do_no_harm() -> None:
    async with hostile("good") as upstream:
        for number in range(200):
            asking = asyncio.create_task(upstream.call(f"n-{number}"))
            for _ in range(number % 5):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])

        await upstream.works()


async def test_the_hostile_server_serves_both_eras_and_refuses_as_a_server_should() -> None:
    stamp = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    async with hostile("good") as upstream:
        connection = upstream.connection
        started = await connection.request("initialize", {"protocolVersion": "2025-06-18"}, timeout=10)
        await connection.notify("notifications/initialized")
        discovered = await connection.request("server/discover", stamp, timeout=10)
        listed = await connection.request("tools/list", stamp, timeout=10)
        with pytest.raises(UpstreamFailed, match="-32602"):
            await upstream.call("n-1", tool="nope")

        assert started["protocolVersion"] == "2025-06-18"
        assert discovered["supportedVersions"] == ["2025-11-25", "2026-07-28"]
        assert [each["name"] for each in listed["tools"]] == ["echo", "steady"]
        assert listed["resultType"] == "complete"


@pytest.mark.parametrize(("era", "refused"), [("handshake", "server/discover"), ("stateless", "initialize")])
async def test_the_hostile_server_of_one_era_does_not_know_the_other(era: str, refused: str) -> None:
    async with hostile("good", "--era", era) as upstream:
        with pytest.raises(UpstreamFailed) as failed:
            await upstream.connection.request(refused, {}, timeout=10)

    assert failed.value.rpc_code == -32601


@pytest.mark.parametrize("mode", LISTINGS)
async def test_hostile_listings_come_through_as_they_are(mode: str) -> None:
    async with hostile(mode) as upstream:
        first = await upstream.connection.request("tools/list", timeout=10)
        second = await upstream.connection.request("tools/list", {"cursor": first.get("nextCursor", "0")}, timeout=10)

    assert LISTINGS[mode](first, second)


@pytest.mark.fault("F16")
@pytest.mark.parametrize("mode", CLOSING)
async def test_a_server_that_will_not_go_is_gone_when_the_wire_is_closed(mode: str) -> None:
    async with hostile(mode) as upstream:
        await upstream.works()
        await upstream.wire.aclose()

        assert upstream.wire.child.returncode == (-15 if mode == "ignores_stdin_close" else -9)


async def test_the_words_of_a_server_that_died_are_in_the_error() -> None:
    async with hostile("crash") as upstream:
        with pytest.raises(UpstreamError) as gone:
            await upstream.call("n-1")

    assert gone.value.details["status"] == 3
    assert gone.value.details["stderr"] == "fatal: no license found\n"
