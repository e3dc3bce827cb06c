"""The wire to a child process: whole lines out, messages in, and an end that leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from process_children import alive, needs_proc, nothing_left, python, until

from tests.chaos.hostile_upstream import hostile_spec
from toolcrib_mcp.rpc import StdioWire, Unreadable, WireClosed, open_stdio_wire
from toolcrib_runtime.errors import ProcessNotStarted
from toolcrib_runtime.guards.process import ProcessLimits, ProcessSpec
from toolcrib_runtime.guards.secrets import Scrubber, Secret

pytestmark = [needs_proc, pytest.mark.req("GW-6.7")]

# Reads when the file that it is given exists, and tells the length of every line.
READS_LATE = """
    import json, os, sys, time
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.005)
    for line in sys.stdin.buffer:
        print(json.dumps({"length": len(line), "id": json.loads(line)["id"]}), flush=True)
"""


async def next_message(wire: StdioWire) -> dict[str, Any]:
    async with asyncio.timeout(10):
        message = await wire.receive()
    assert not isinstance(message, Unreadable)
    return message


@pytest.mark.fault("F1")
async def test_a_program_that_is_missing_is_told_before_anything_is_started() -> None:
    with pytest.raises(ProcessNotStarted, match="was not found"):
        await open_stdio_wire(ProcessSpec(argv=("no-such-server",)))


async def test_messages_go_there_and_come_back() -> None:
    async with nothing_left() as family:
        wire = await open_stdio_wire(hostile_spec("good", family=family))
        for number in range(3):
            await wire.send({"jsonrpc": "2.0", "id": number, "method": "ping"})

        assert [(await next_message(wire))["id"] for _ in range(3)] == [0, 1, 2]
        await wire.aclose()


async def test_a_server_that_ends_when_its_input_does_is_not_signalled() -> None:
    async with nothing_left() as family:
        wire = await open_stdio_wire(hostile_spec("good", family=family))
        await wire.aclose()
        await wire.aclose()

        assert wire.child.returncode == 0
        with pytest.raises(WireClosed, match="exit status 0"):
            await wire.send({"id": 1})
        for _ in range(2):
            with pytest.raises(WireClosed, match="exit status 0") as end:
                await wire.receive()
            assert end.value.status == 0


@pytest.mark.fault("F2")
async def test_what_a_dying_server_wrote_is_read_before_its_end_is_told() -> None:
    code = """
        import sys
        sys.stdin.readline()
        sys.stderr.write("the last words")
        sys.stdout.write('{"id":1}\\n{"id":2}')
        sys.exit(7)
    """
    async with nothing_left() as family:
        wire = await open_stdio_wire(python(code, family=family))
        await wire.send({"id": 0})

        assert [await next_message(wire), await next_message(wire)] == [{"id": 1}, {"id": 2}]
        with pytest.raises(WireClosed) as end:
            await wire.receive()
        assert (end.value.status, end.value.stderr) == (7, "the last words")
        await wire.aclose()


async def test_a_server_that_closes_its_input_and_lives_on_is_told_apart_from_one_that_is_gone() -> None:
    code = """
        import os, signal
        os.close(0)
        print('{"id":1}', flush=True)
        signal.pause()
    """
    async with nothing_left() as family:
        wire = await open_stdio_wire(python(code, family=family), grace=0.2)
        await next_message(wire)

        with pytest.raises(WireClosed, match="closed its standard input") as end:
            await wire.send({"id": 1})

        assert end.value.status is None
        await wire.aclose()


async def test_a_server_that_is_stopped_for_a_limit_is_told_with_the_limit() -> None:
    code = """
        import os, signal, sys
        for _ in range(20):
            if os.fork() == 0:
                signal.pause()
        signal.pause()
    """
    async with nothing_left() as family:
        wire = await open_stdio_wire(python(code, family=family, limits=ProcessLimits(processes=3)))

        async with asyncio.timeout(10):
            with pytest.raises(WireClosed, match="limit on processes"):
                await wire.receive()
        await wire.aclose()


async def test_a_sender_that_is_cancelled_leaves_a_whole_line(tmp_path: Path) -> None:
    async with nothing_left() as family:
        wire = await open_stdio_wire(python(READS_LATE, str(tmp_path / "go"), family=family))
        sending = [asyncio.create_task(wire.send({"id": each, "text": "x" * 500_000})) for each in range(3)]
        await asyncio.sleep(0)
        for each in sending:
            each.cancel()
        await asyncio.wait(sending)
        (tmp_path / "go").touch()
        await wire.send({"id": 9})

        # The first was on its way; the others waited for their turn, and were never sent.
        assert await next_message(wire) == {"length": 500_000 + 19, "id": 0}
        assert await next_message(wire) == {"length": 9, "id": 9}
        await wire.aclose()


async def test_no_more_than_one_message_waits_for_a_server_that_does_not_read(tmp_path: Path) -> None:
    async with nothing_left() as family:
        wire = await open_stdio_wire(python(READS_LATE, str(tmp_path / "go"), family=family))
        for number in range(20):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await wire.send({"id": number, "text": "x" * 500_000})

        assert len(wire.child.stdin._pending) < 600_000
        (tmp_path / "go").touch()
        await wire.send({"id": 99})
        assert (await next_message(wire))["id"] == 0
        assert (await next_message(wire))["id"] == 99
        await wire.aclose()


async def test_a_reader_that_is_cancelled_loses_nothing() -> None:
    async with nothing_left() as family:
        wire = await open_stdio_wire(hostile_spec("good", family=family))
        reading = asyncio.create_task(wire.receive())
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        await wire.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})

        assert (await next_message(wire))["id"] == 1
        await wire.aclose()


async def test_secrets_in_what_the_server_says_last_are_not_shown() -> None:
    code = """
        import sys
        sys.stderr.write("cannot log in with hunter2-hunter2")
        sys.exit(1)
    """
    async with nothing_left() as family:
        scrubber = Scrubber([Secret("hunter2-hunter2")])
        wire = await open_stdio_wire(python(code, family=family), scrubber=scrubber)

        with pytest.raises(WireClosed) as end:
            await wire.receive()

        assert end.value.stderr.startswith("cannot log in with")
        assert "hunter2" not in end.value.stderr
        await wire.aclose()


@pytest.mark.fault("F16")
async def test_closing_that_is_cancelled_leaves_nothing_either() -> None:
    async with nothing_left() as family:
        wire = await open_stdio_wire(hostile_spec("ignores_sigterm", family=family), grace=30)
        await wire.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await next_message(wire)
        closing = asyncio.create_task(wire.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.sleep(0)
        closing.cancel()

        with pytest.raises(asyncio.CancelledError):
            await closing


@pytest.mark.fault("F16")
async def test_what_a_server_has_started_goes_with_it() -> None:
    code = """
        import subprocess, sys
        subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
        print('{"id":1}', flush=True)
        sys.stdin.read()
    """
    async with nothing_left() as family:
        wire = await open_stdio_wire(python(code, family=family))
        await next_message(wire)
        await until(lambda: len(alive(family)) == 2)

        await wire.aclose()
