"""Many servers, good and bad, under load: nobody gets another's answer, and the good ones notice nothing.

`TOOLCRIB_CHAOS_KILLS` sets how often a server is killed; 200 takes about half a minute.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hub_cases import caller, config_file, eventually, program
from process_children import SIGN, alive, needs_proc, nothing_left, until
from sdk_servers import SdkServer, serving_sdk
from test_upstream_chaos import JOURNALLING_SERVER
from test_upstream_http import free_port

from toolcrib_mcp.errors import UpstreamError, UpstreamUnavailable
from toolcrib_mcp.front import Caller
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.upstreams import Era, Upstream, UpstreamState

KILLS = int(os.environ.get("TOOLCRIB_CHAOS_KILLS", "200"))
CALLERS = 32
OFTEN = {"restart": {"initialDelay": 0.005, "maxDelay": 0.02, "maxFailures": 1000}}


class Load:
    """Clients that ask for the echo of a nonce until they are told to stop, and what became of their requests."""

    def __init__(self, hub: Hub, server: str) -> None:
        self.outcomes: Counter[str] = Counter()
        self.answered: set[str] = set()
        self._hub = hub
        self._server = server
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def ask_until_stopped(self, number: int) -> None:
        client = caller(conversation=f"{self._server}-{number}")
        while not self._stopped:
            nonce = secrets.token_hex(8)
            params = {"name": "echo", "arguments": {"nonce": nonce}}
            try:
                async with self._hub.lease(self._server, client) as upstream:
                    result = await upstream.call("tools/call", params, timeout=20)
            except UpstreamUnavailable as lost:
                self.outcomes["lost" if lost.details["sent"] is not False else "not sent"] += 1
            else:
                self.answered.add(nonce)
                self.outcomes["answered" if result["structuredContent"] == {"nonce": nonce} else "swapped"] += 1


def journalling(journal: Path, family: str) -> dict[str, Any]:
    script = journal.with_suffix(".py")
    script.write_text("if True:" + JOURNALLING_SERVER)
    return {"command": sys.executable, "args": ["-I", "-S", str(script), str(journal)], "env": {SIGN: family}}


async def kill_again_and_again(victim: Upstream, load: Load) -> None:
    killed = None
    for _ in range(KILLS):
        killed = await next_life_at_work(victim, load, killed)
        os.kill(killed, signal.SIGKILL)


async def next_life_at_work(victim: Upstream, load: Load, killed: int | None) -> int:
    """The process of another life, when it has answered a few calls: else its end would prove nothing."""
    enough = len(load.answered) + CALLERS
    await until(lambda: victim.health().pid not in (None, killed) and len(load.answered) >= enough)
    pid = victim.health().pid
    assert pid is not None
    return pid


@needs_proc
@pytest.mark.slow
@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F2", "F15")
async def test_a_server_that_is_killed_in_the_midst_of_calls_comes_back_and_harms_nobody(tmp_path: Path) -> None:
    journal = tmp_path / "victim"
    async with asyncio.timeout(60 + KILLS), nothing_left() as family:
        entries = {"victim": journalling(journal, family), "good": journalling(tmp_path / "good", family)}
        async with Hub(config_file(tmp_path, entries, servers={"victim": OFTEN})) as hub:
            await hub.start(timeout=20)
            load, others = Load(hub, "victim"), Load(hub, "good")
            async with asyncio.TaskGroup() as group:
                for number in range(CALLERS):
                    group.create_task(load.ask_until_stopped(number))
                group.create_task(others.ask_until_stopped(0))
                await kill_again_and_again(hub.shared("victim"), load)
                load.stop()
                others.stop()
            await until(lambda: hub.shared("victim").health().starts == KILLS + 1)
            state, good = hub.shared("victim").state, hub.shared("good").health()
            tools = hub.status().totals.tools.served
    entries_of = Counter(journal.read_text().split())
    acknowledged = {entry[1:] for entry in entries_of if entry.startswith("=")}

    assert set(load.outcomes) <= {"answered", "lost", "not sent"}
    assert acknowledged <= load.answered, "an answer that was given did not arrive"
    assert set(entries_of.values()) == {1}, "a call was run twice"
    assert set(others.outcomes) == {"answered"}
    assert (good.starts, good.failures) == (1, 0)
    assert state is UpstreamState.STARTED
    assert tools == 2
    print(f"kill -9 x {KILLS}: {dict(load.outcomes)}; good {dict(others.outcomes)}")  # noqa: T201  # for who runs it


BAD = ("crash", "hang", "crash_in_call", "hang_in_call", "wrong_id", "late_reply", "closes_stdout", "half_line")


@needs_proc
@pytest.mark.slow
@pytest.mark.fault("F15", "F1")
async def test_good_servers_answer_every_client_beside_servers_of_every_bad_kind(tmp_path: Path) -> None:
    async with asyncio.timeout(120), nothing_left() as family:
        entries = {mode: program(family, mode=mode) for mode in BAD} | {f"good{each}": program(family) for each in "ab"}
        # Only the bad ones are given up on soon: how fast a good one is on a busy machine is not what is asked here.
        ours = {"servers": {mode: {"startTimeout": 2, "timeout": 1} for mode in BAD}}
        async with Hub(config_file(tmp_path, entries, **ours)) as hub:
            await hub.start(timeout=10)
            outcomes: Counter[tuple[str, str]] = Counter()
            async with asyncio.TaskGroup() as group:
                for number in range(100):
                    for server in entries:
                        group.create_task(_ask(hub, server, number, outcomes))

    good = {server: count for (server, outcome), count in outcomes.items() if outcome == "answered"}
    assert {server: good[server] for server in ("gooda", "goodb")} == {"gooda": 100, "goodb": 100}
    assert {outcome for _, outcome in outcomes} == {"answered", "failed"}, "an answer went to another"


async def _ask(hub: Hub, server: str, number: int, outcomes: Counter[tuple[str, str]]) -> None:
    nonce = f"{server}-{number}"
    try:
        async with hub.lease(server, caller(conversation=f"c{number}")) as upstream:
            result = await upstream.call("tools/call", {"name": "echo", "arguments": {"nonce": nonce}})
    except UpstreamError:
        outcomes[server, "failed"] += 1
    else:
        outcomes[server, "answered" if result.get("structuredContent") == {"nonce": nonce} else "swapped"] += 1


@needs_proc
@pytest.mark.slow
@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F1")
async def test_forty_servers_start_side_by_side_and_one_that_never_answers_delays_none(tmp_path: Path) -> None:
    async with asyncio.timeout(60), nothing_left() as family:
        entries = {"silent": program(family, mode="hang")} | {f"s{number}": program(family) for number in range(39)}
        async with Hub(config_file(tmp_path, entries)) as hub:
            starting = asyncio.create_task(hub.start(timeout=25))
            await eventually(lambda: hub.status().totals.tools.served == 2 * 39, seconds=30)
            status, was_waiting = hub.status(), not starting.done()
            starting.cancel()
        left = alive(family)

    assert was_waiting
    assert status.totals.running == 39
    assert not status.servers["silent"].ok
    assert left == set()


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F2")
@pytest.mark.parametrize("era", [Era.HANDSHAKE, Era.MODERN])
async def test_a_server_behind_a_url_that_was_restarted_while_idle_is_asked_as_before(tmp_path: Path, era: Era) -> None:
    port = free_port()
    entry = {"url": f"http://127.0.0.1:{port}/mcp"}
    # Granted something, a server of both eras is spoken to in that of its client.
    config = config_file(tmp_path, {"web": entry}, servers={"web": {**OFTEN, "grants": ["roots"]}})
    client = caller(era, capabilities={"roots": {}})

    async with asyncio.timeout(30), Hub(config) as hub:
        async with serving_sdk(SdkServer().server, port=port):
            before = await _echo(hub, client, "n1")
        async with serving_sdk(SdkServer().server, port=port):
            after = [await _echo(hub, client, nonce) for nonce in ("n2", "n3")]

    assert before == ("n1", era)
    assert after == [("n2", era), ("n3", era)]


async def _echo(hub: Hub, client: Caller, nonce: str) -> tuple[str, Era]:
    async with hub.lease("web", client) as upstream:
        result = await upstream.call("tools/call", {"name": "echo", "arguments": {"nonce": nonce}}, timeout=10)
        return result["content"][0]["text"], (await upstream.agreed()).era
