"""A real upstream that counts what it commits, and fails at every place where it can."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.policy.rules import Policy
from toolcrib_runtime.runnable import RunnableTool, create_tool
from toolcrib_runtime.testing import FakeClock
from toolcrib_runtime.toolbox import Toolbox, create_toolbox

FAULTS = ["refused", "dropped before the commit", "dropped after it", "half a reply", "hangs after it", "none"]
UNKNOWN = {"dropped before the commit", "dropped after it", "half a reply", "hangs after it"}


class Upstream:
    """Commits what it is sent; the first request meets the fault, all later ones succeed."""

    def __init__(self, path: Path, fault: str) -> None:
        self.path = path
        self.fault = fault
        self.commits = 0
        self.hangs = asyncio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        self.path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._serve, self.path)
        try:
            yield
        finally:
            server.close()
            await server.wait_closed()

    @asynccontextmanager
    async def refusing(self) -> AsyncIterator[None]:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(self.path))  # and never listens
            yield

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        fault, self.fault = self.fault, "none"
        if fault != "dropped before the commit":
            self.commits += 1
        if fault == "hangs after it":
            self.hangs.set()
            await reader.read()  # until the caller hangs up
        if fault == "half a reply":
            writer.write(b'{"receipt":')
        if fault == "none":
            writer.write(b'{"receipt": 1}\n')
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    def tool(self, **options: Any) -> RunnableTool:
        async def pay(amount: int) -> object:
            """Pay."""
            reader, writer = await asyncio.open_unix_connection(self.path)
            try:
                writer.write(b"%d\n" % amount)
                return orjson.loads(await reader.readuntil(b"\n"))
            finally:
                writer.close()

        return create_tool(pay, **{"effects": "write", **options})


async def pay_once(box: Toolbox, upstream: Upstream, clock: FakeClock, key: str | None) -> ToolResult:
    call = ToolCall(tool="pay", arguments={"amount": 5}, idempotency_key=key)
    place = upstream.refusing() if upstream.fault == "refused" else upstream.listening()
    hangs = upstream.fault == "hangs after it"
    async with asyncio.timeout(10), place, asyncio.TaskGroup() as group:
        running = group.create_task(box.execute(call))
        if hangs:
            await upstream.hangs.wait()
            await clock.advance(60)
    if upstream.fault == "refused":
        upstream.fault = "none"
    return running.result()


def said(result: ToolResult) -> str:
    return result.outcome if result.error is None else result.error.category.value


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("fault", FAULTS)
async def test_with_a_key_an_effect_happens_once_at_most_and_what_cannot_be_known_is_said(tmp_path, fault):
    upstream, clock = Upstream(tmp_path / "s", fault), FakeClock()
    box = create_toolbox([upstream.tool()], policy=Policy(by_risk=None), clock=clock, timeout=60)

    results = [await pay_once(box, upstream, clock, "k-1") for _ in range(3)]

    expected = {"refused": ["transient", "success", "success"], "none": ["success"] * 3}
    assert list(map(said, results)) == expected.get(fault, ["unknown_outcome"] * 3)
    assert upstream.commits == (0 if fault == "dropped before the commit" else 1)
    assert sum(result.attempts for result in results) == (2 if fault == "refused" else 1)
    assert not any(result.error.retryable for result in results if fault in UNKNOWN and result.error)


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("fault", FAULTS)
async def test_without_a_key_a_call_that_may_have_had_its_effect_is_not_tried_again(tmp_path, fault):
    upstream, clock = Upstream(tmp_path / "s", fault), FakeClock()
    box = create_toolbox([upstream.tool()], policy=Policy(by_risk=None), clock=clock, timeout=60)

    result = await pay_once(box, upstream, clock, None)

    expected = {"refused": "transient", "none": "success"}
    assert said(result) == expected.get(fault, "unknown_outcome")
    assert upstream.commits == (0 if fault in {"refused", "dropped before the commit"} else 1)
    assert result.attempts == 1


@pytest.mark.req("RT-7")
async def test_without_a_key_a_second_call_is_a_call_of_its_own(tmp_path):
    upstream, clock = Upstream(tmp_path / "s", "none"), FakeClock()
    box = create_toolbox([upstream.tool()], policy=Policy(by_risk=None), clock=clock)

    results = [await pay_once(box, upstream, clock, None) for _ in range(2)]

    assert list(map(said, results)) == ["success", "success"]
    assert upstream.commits == 2


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("fault", sorted(UNKNOWN))
async def test_a_tool_that_may_run_twice_is_run_again_under_its_key(tmp_path, fault):
    upstream, clock = Upstream(tmp_path / "s", fault), FakeClock()
    tool = upstream.tool(idempotent=True)
    box = create_toolbox([tool], policy=Policy(by_risk=None), clock=clock, timeout=60, retries=None)

    results = [await pay_once(box, upstream, clock, "k-1") for _ in range(3)]

    lost = "timeout" if fault == "hangs after it" else "transient"
    assert list(map(said, results)) == [lost, "success", "success"]
    assert [result.source for result in results] == ["run", "run", "ledger"]
