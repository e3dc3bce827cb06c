"""Killing one upstream again and again under load: nobody gets another's answer, and nobody else notices.

`TOOLCRIB_CHAOS_KILLS` sets how often; 40 is enough for every day, 1,000 for a release.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from process_children import needs_proc, nothing_left, python, until

from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.rpc import Wire, open_stdio_wire
from toolcrib_mcp.upstreams import RestartRules, Upstream, UpstreamSettings, UpstreamState, close_all
from toolcrib_runtime.guards.process import LONG_LIVED

pytestmark = needs_proc

KILLS = int(os.environ.get("TOOLCRIB_CHAOS_KILLS", "40"))
CALLERS = 32
OFTEN = RestartRules(first_delay=0.005, max_delay=0.02, max_failures=100_000)

# Echoes nonces, and keeps a journal: `+` before it answers a call, `=` when the answer is out.
JOURNALLING_SERVER = """
    import json, os, sys
    SERVED, result = {"initialize", "tools/list", "tools/call"}, None
    journal = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        method, nonce = request.get("method"), None
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        elif method == "tools/list":
            result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            nonce = request["params"]["arguments"]["nonce"]
            os.write(journal, f"+{nonce}\\n".encode())
            result = {"content": [], "structuredContent": {"nonce": nonce}}
        elif "id" not in request:
            continue
        answer = {"result": result} if method in SERVED else {"error": {"code": -32601, "message": "Unknown method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
        if nonce:
            os.write(journal, f"={nonce}\\n".encode())
"""


class Load:
    """Callers that ask for the echo of a nonce until they are told to stop, and what became of their calls."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.outcomes: Counter[str] = Counter()
        self.answered: set[str] = set()
        self.slowest = 0.0
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True

    async def call_until_stopped(self) -> None:
        while not self._stopped:
            begun = time.monotonic()
            self.outcomes[await self._outcome(secrets.token_hex(8))] += 1
            self.slowest = max(self.slowest, time.monotonic() - begun)

    async def _outcome(self, nonce: str) -> str:
        params = {"name": "echo", "arguments": {"nonce": nonce}}
        try:
            result = await self.upstream.call("tools/call", params, timeout=20)
        except UpstreamUnavailable as lost:
            return "lost" if lost.details["sent"] is not False else "not sent"
        self.answered.add(nonce)
        return "answered" if result["structuredContent"] == {"nonce": nonce} else "swapped"


def process(name: str, journal: Path, family: str) -> Upstream:
    async def connect() -> Wire:
        spec = python(JOURNALLING_SERVER, str(journal), family=family, limits=LONG_LIVED)
        return await open_stdio_wire(spec, grace=0.5)

    return Upstream(name, connect, settings=UpstreamSettings(restarts=OFTEN))


async def kill_again_and_again(upstream: Upstream, load: Load) -> None:
    killed = None
    for _ in range(KILLS):
        killed = await next_life_at_work(upstream, load, killed)
        os.kill(killed, signal.SIGKILL)


async def next_life_at_work(upstream: Upstream, load: Load, killed: int | None) -> int | None:
    """The process of another life, when it has answered a few calls: else its end would prove nothing."""
    enough = len(load.answered) + CALLERS
    await until(lambda: upstream.health().pid not in (None, killed) and len(load.answered) >= enough)
    return upstream.health().pid


@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F2", "F15")
async def test_a_server_that_is_killed_again_and_again_swaps_no_answer_and_comes_back(tmp_path: Path) -> None:
    journal = tmp_path / "victim"
    async with asyncio.timeout(60 + KILLS), nothing_left() as family:
        victim, bystander = process("victim", journal, family), process("bystander", tmp_path / "bystander", family)
        load, others = Load(victim), Load(bystander)
        async with asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(load.call_until_stopped())
            for _ in range(4):
                group.create_task(others.call_until_stopped())
            await kill_again_and_again(victim, load)
            load.stop()
            others.stop()
        await until(lambda: victim.health().starts == KILLS + 1)
        state = victim.state
        await close_all([victim, bystander])
    entries = Counter(journal.read_text().split())
    acknowledged = {entry[1:] for entry in entries if entry.startswith("=")}

    # A call that starts a server waits for its list of tools; if the server is killed meanwhile, nothing was sent.
    assert set(load.outcomes) <= {"answered", "lost", "not sent"}
    assert acknowledged <= load.answered, "an answer that was given did not arrive"
    assert set(entries.values()) == {1}, "a call was run twice"
    assert set(others.outcomes) == {"answered"}
    assert bystander.health().starts == 1
    assert state is UpstreamState.STARTED
    summary = f"{dict(load.outcomes)}; bystander {dict(others.outcomes)}, slowest {others.slowest:.3f} s"
    print(f"kill -9 x {KILLS}: {summary}")  # noqa: T201  # for who runs it to look


@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F16")
async def test_a_server_that_is_closed_under_load_leaves_no_caller_waiting(tmp_path: Path) -> None:
    async with asyncio.timeout(60), nothing_left() as family:
        upstream = process("victim", tmp_path / "journal", family)
        load = Load(upstream)
        async with asyncio.TaskGroup() as group:
            for _ in range(CALLERS):
                group.create_task(load.call_until_stopped())
            await until(lambda: len(load.answered) >= 10 * CALLERS)
            closing = group.create_task(upstream.aclose())
            load.stop()
            await closing

    assert set(load.outcomes) <= {"answered", "not sent"}
