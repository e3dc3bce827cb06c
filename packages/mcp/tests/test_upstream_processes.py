"""Upstreams that are real processes and misbehave: each fault ends as it should, and nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from process_children import needs_proc, nothing_left, until

from tests.chaos.hostile_upstream import hostile_spec
from toolcrib_mcp.errors import UpstreamMalformed, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.rpc import Wire, open_stdio_wire
from toolcrib_mcp.upstreams import Era, RestartRules, Upstream, UpstreamHooks, UpstreamSettings, close_all, start_all

pytestmark = [needs_proc, pytest.mark.req("GW-6.4")]

SOON = RestartRules(first_delay=0.02, max_delay=0.1, max_failures=5, rest=60)


def process(name: str, mode: str, *options: str, family: str, **settings: Any) -> Upstream:
    async def connect() -> Wire:
        return await open_stdio_wire(hostile_spec(mode, *options, family=family), grace=0.5)

    kept = UpstreamSettings(**{"restarts": SOON, **settings})
    return Upstream(name, connect, settings=kept)


@asynccontextmanager
async def running(mode: str, *options: str, **settings: Any) -> AsyncIterator[Upstream]:
    async with asyncio.timeout(60), nothing_left() as family:
        upstream = process(mode, mode, *options, family=family, **settings)
        try:
            yield upstream
        finally:
            await upstream.aclose(drain=0)


async def echo(upstream: Upstream, nonce: str, *, tool: str = "echo", seconds: float = 20) -> str:
    params = {"name": tool, "arguments": {"nonce": nonce}}
    result = await upstream.call("tools/call", params, timeout=seconds)
    return result["structuredContent"]["nonce"]


@pytest.mark.req("GW-6.2")
@pytest.mark.parametrize(
    ("speaks", "era"), [("handshake", Era.HANDSHAKE), ("stateless", Era.MODERN), ("both", Era.MODERN)]
)
async def test_a_process_of_either_era_is_started_asked_and_ended(speaks: str, era: Era) -> None:
    async with running("good", "--era", speaks) as upstream:
        answer = await echo(upstream, "n1")
        await upstream.start()

        assert answer == "n1"
        assert upstream.agreement.era is era
        health = upstream.health()
        assert health.tools == 2
        assert health.pid is not None


@pytest.mark.fault("F1")
async def test_a_process_that_dies_at_once_is_unavailable_with_its_last_words() -> None:
    async with running("crash") as upstream:
        with pytest.raises(UpstreamUnavailable) as failed:
            await echo(upstream, "n1")

        assert "no license found" in failed.value.details["stderr"]
        assert failed.value.details["status"] == 3
        assert failed.value.details["sent"] is False
        assert "no license found" in upstream.health().last_failure["details"]["stderr"]


@pytest.mark.fault("F1")
async def test_a_process_that_answers_nothing_is_given_up_and_ended() -> None:
    async with running("hang", start_timeout=0.5) as upstream:
        with pytest.raises(UpstreamUnavailable, match=r"did not answer `initialize` within 0\.5 s") as failed:
            await echo(upstream, "n1")

        assert failed.value.details["sent"] is False


@pytest.mark.fault("F1")
async def test_good_servers_are_served_while_others_do_not_start() -> None:
    async with asyncio.timeout(60), nothing_left() as family:
        good = process("good", "good", family=family)
        bad = [process(f"bad{number}", "crash", family=family) for number in range(3)]
        mute = [process(f"mute{number}", "hang", family=family) for number in range(3)]
        starting = asyncio.create_task(start_all([*bad, good, *mute], timeout=2))

        answer = await echo(good, "n1")
        before_the_others = not starting.done()
        reports = await starting

        assert (answer, before_the_others) == ("n1", True)
        assert [report.name for report in reports if report.error is None] == ["good"]
        await close_all([*bad, good, *mute], drain=0)


@pytest.mark.fault("F2")
@pytest.mark.parametrize("mode", ["crash_in_call", "exits_cleanly", "closes_stdout"])
async def test_a_process_that_ends_in_a_call_fails_it_once_and_comes_back(mode: str) -> None:
    async with running(mode) as upstream:
        with pytest.raises(UpstreamUnavailable) as lost:
            await echo(upstream, "n1")

        assert lost.value.details["sent"] is True
        assert await echo(upstream, "n2", tool="steady") == "n2"
        assert upstream.health().starts == 2
        assert upstream.health().failures == 1


@pytest.mark.fault("F5")
async def test_a_process_that_ends_in_the_middle_of_an_answer_comes_back() -> None:
    async with running("half_line") as upstream:
        with pytest.raises(UpstreamMalformed):
            await echo(upstream, "n1")
        await until(lambda: upstream.health().failures == 1)

        assert await echo(upstream, "n2", tool="steady") == "n2"


@pytest.mark.fault("F2")
async def test_a_process_that_crashes_five_times_in_a_row_is_left_alone() -> None:
    async with running("crash_in_call") as upstream:
        for number in range(5):
            with pytest.raises(UpstreamUnavailable, match="did not answer"):
                await echo(upstream, f"n{number}")

        with pytest.raises(UpstreamUnavailable, match="is not started again for"):
            await _until_refused(upstream)

        assert upstream.health().circuit == "open"
        assert upstream.health().starts == 5


@pytest.mark.fault("F3")
async def test_a_process_that_hangs_in_a_call_ends_it_with_its_deadline_and_serves_others() -> None:
    async with running("hang_in_call") as upstream:
        with pytest.raises(UpstreamTimeout):
            await echo(upstream, "n1", seconds=0.3)

        assert await echo(upstream, "n2", tool="steady") == "n2"
        assert upstream.health().starts == 1


@pytest.mark.fault("F3")
async def test_an_answer_that_comes_too_late_is_dropped_and_counted() -> None:
    async with running("late_reply") as upstream:
        with pytest.raises(UpstreamTimeout):
            await echo(upstream, "n1", seconds=0.3)

        await until(lambda: upstream.health().noise.get("lateReplies") == 1)

        assert await echo(upstream, "n2", tool="steady") == "n2"


@pytest.mark.fault("F3")
async def test_an_answer_that_comes_byte_by_byte_ends_with_the_deadline_of_the_call() -> None:
    async with running("slow_bytes", "--delay", "0.5", start_timeout=30) as upstream:
        with pytest.raises(UpstreamUnavailable, match="was not ready within"):
            await echo(upstream, "n1", seconds=1)


@pytest.mark.fault("F3")
async def test_a_process_that_no_longer_reads_keeps_nobody_beyond_the_deadline() -> None:
    async with running("no_read") as upstream:
        with pytest.raises(UpstreamTimeout):
            await echo(upstream, "x" * 1_000_000, seconds=0.5)
        with pytest.raises(UpstreamTimeout):
            await echo(upstream, "x" * 1_000_000, seconds=0.5)


@pytest.mark.fault("F4")
async def test_noise_is_counted_and_told() -> None:
    async with running("stdout_noise") as upstream:
        assert await echo(upstream, "n1") == "n1"
        await upstream.start()

        assert upstream.health().noise["lines"] > 0


@pytest.mark.req("GW-6.3")
@pytest.mark.fault("F8")
async def test_ten_thousand_tools_are_read_to_the_last() -> None:
    async with running("ten_thousand_tools") as upstream:
        tools = await upstream.tools()

        assert len(tools.items) == 10_000
        assert tools.pages == 10


@pytest.mark.req("GW-6.3")
@pytest.mark.fault("F8")
async def test_a_list_that_leads_in_a_circle_is_read_once_around() -> None:
    async with running("cursor_loop") as upstream:
        tools = await upstream.tools()

        assert [tool["name"] for tool in tools.items] == ["echo", "steady"]
        assert upstream.health().tools_problem["details"]["pages"] == 1


@pytest.mark.req("GW-6.5")
@pytest.mark.fault("F11")
async def test_a_storm_of_changes_within_one_call_reads_the_tools_once() -> None:
    async with running("notification_flood", "--count", "3000", settle=0.2) as upstream:
        await upstream.start()
        read = asyncio.Event()
        listings = []
        upstream._watch._on_tools = lambda listing: (listings.append(listing), read.set())

        answer = await echo(upstream, "n1")
        await read.wait()
        settled = len(listings)

        assert answer == "n1"
        assert settled == 1


@pytest.mark.req("GW-6.5")
@pytest.mark.fault("F10")
async def test_a_changed_definition_is_told_with_the_whole_list() -> None:
    told: asyncio.Queue[list[str]] = asyncio.Queue()
    async with asyncio.timeout(60), nothing_left() as family:

        async def connect() -> Wire:
            return await open_stdio_wire(hostile_spec("changed_definitions", family=family), grace=0.5)

        hooks = UpstreamHooks(on_tools=lambda listing: told.put_nowait([tool["description"] for tool in listing.items]))
        async with Upstream("changing", connect, settings=UpstreamSettings(settle=0.02), hooks=hooks) as upstream:
            await upstream.start()
            before = await told.get()

            await echo(upstream, "n1")
            after = await told.get()

    assert before == ["Give the nonce back.", "Give the nonce back, whatever the mode."]
    assert after == ["Now does more.", "Give the nonce back, whatever the mode."]


@pytest.mark.fault("F16")
@pytest.mark.parametrize("mode", ["ignores_stdin_close", "ignores_sigterm", "hang_in_call"])
async def test_nothing_is_left_of_a_process_that_does_not_want_to_go(mode: str) -> None:
    async with running(mode) as upstream:
        await echo(upstream, "n1", tool="steady")


@pytest.mark.fault("F16")
async def test_a_process_is_ended_when_it_is_idle_and_nothing_is_left() -> None:
    async with running("good", idle_after=0.05) as upstream:
        await echo(upstream, "n1")
        pid = upstream.health().pid
        await until(lambda: not Path(f"/proc/{pid}").exists())

        assert await echo(upstream, "n2") == "n2"
        assert upstream.health().starts == 2


@pytest.mark.fault("F2")
async def test_a_process_that_is_killed_while_it_is_idle_is_back_for_the_next_call() -> None:
    async with running("good") as upstream:
        await echo(upstream, "n1")
        os.kill(upstream.health().pid, signal.SIGKILL)
        await until(lambda: upstream.health().failures == 1)

        assert await echo(upstream, "n2") == "n2"


async def _until_refused(upstream: Upstream) -> None:
    while True:
        await echo(upstream, "steady", tool="steady", seconds=1)
