"""A child that stays: talking to it line by line, ending it, and how many there are at once."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest
from process_children import alive, needs_proc, next_line, nothing_left, python, shell, until

from toolcrib_runtime.errors import DeadlineExceeded, OutputTooLarge, ProcessNotStarted
from toolcrib_runtime.guards.process import exit as process_exit
from toolcrib_runtime.guards.process import pipes as process_pipes
from toolcrib_runtime.guards.process.child import ChildProcess, OutputCaps
from toolcrib_runtime.guards.process.gate import ProcessGate
from toolcrib_runtime.guards.process.limits import LONG_LIVED
from toolcrib_runtime.guards.process.pipes import PipeReader
from toolcrib_runtime.guards.process.run import run_process
from toolcrib_runtime.guards.process.spec import ProcessSpec

pytestmark = needs_proc
MIB = 1024 * 1024


async def test_a_child_answers_line_by_line_until_it_is_left() -> None:
    async with nothing_left() as family:
        child = await ChildProcess.start(shell("exec cat", family=family, limits=LONG_LIVED))
        async with child:
            for line in (b"one\n", b"two\n", b"\n", b"x" * 100_000 + b"\n"):
                await child.stdin.write(line)
                assert await next_line(child) == line
            assert child.returncode is None
            assert alive(family) == {child.pid}

    # It ends by the end of its input or by SIGTERM, whichever it sees first.
    assert child.returncode in {0, -signal.SIGTERM}
    assert child.sandbox.process_tree == "group-and-sweep"


async def test_a_child_that_ended_can_still_be_read_to_its_end() -> None:
    async with nothing_left() as family:
        child = await ChildProcess.start(shell("printf 'one\\ntwo'; echo why >&2; exit 3", family=family))
        async with child:
            status = await child.wait()

            lines = [await next_line(child) for _ in range(4)]

    assert status == child.returncode == 3
    assert lines == [b"one\n", b"two", b"", b""]
    assert child.stderr_tail == "why\n"


async def test_bytes_can_be_read_without_lines() -> None:
    async with await ChildProcess.start(shell("printf abcdef; sleep 1000")) as child:
        first = await child.stdout.read(4)
        second = await child.stdout.read()

    assert (first, second) == (b"abcd", b"ef")
    assert await child.stdout.read() == b""


async def test_a_child_that_nobody_reads_waits_instead_of_filling_our_memory() -> None:
    code = """
        import sys
        for number in range(1, 1000):
            sys.stdout.write("x" * 65536)
            sys.stdout.flush()
            sys.stderr.write(f"{number}\\n")
            sys.stderr.flush()
    """
    async with nothing_left() as family, await ChildProcess.start(python(code, family=family)) as child:
        await until(lambda: child.stdout._pipe.closed or not child.stdout._reading)
        held = len(child.stdout.head(100 * MIB))

    assert held <= 5 * 65536


async def test_of_stderr_only_the_end_is_kept_and_it_never_blocks_the_child() -> None:
    async with nothing_left() as family:
        child = await ChildProcess.start(shell("yes | head -c 5000000 >&2; echo last >&2", family=family))
        await child.wait()
        await child.terminate()

    assert child.stderr_tail.endswith("y\nlast\n")
    assert len(child.stderr_bytes) <= 16 * 1024


async def test_a_cap_on_all_output_ends_a_child_that_stays() -> None:
    async with nothing_left() as family:
        caps = OutputCaps(stdout=1000)
        async with await ChildProcess.start(shell("yes", family=family), caps=caps) as child:
            with pytest.raises(OutputTooLarge, match="more than 1,000 bytes to standard output"):
                await child.wait()

    assert child.returncode == -signal.SIGKILL


@pytest.mark.fault("D7")
async def test_writing_to_a_child_that_closed_its_input_is_a_broken_pipe() -> None:
    async with nothing_left() as family:
        child = await ChildProcess.start(shell("exec 0<&-; echo closed; sleep 1000", family=family))
        async with child:
            await next_line(child)

            with pytest.raises(BrokenPipeError):
                await child.stdin.write(b"x" * MIB)
            with pytest.raises(BrokenPipeError):
                await child.stdin.write(b"again")


async def test_several_writers_take_their_turns() -> None:
    async with nothing_left() as family, await ChildProcess.start(shell("wc -c", family=family)) as child:
        await asyncio.gather(*(child.stdin.write(b"x" * 200_000) for _ in range(5)))
        child.stdin.close()
        child.stdin.close()

        assert int(await next_line(child)) == 1_000_000


async def test_a_child_ends_with_grace_when_it_listens() -> None:
    async with nothing_left() as family:
        script = "trap 'echo bye; exit 5' TERM; echo up; while :; do sleep 0.01; done"
        child = await ChildProcess.start(shell(script, family=family))
        await next_line(child)

        await child.terminate(grace=10)
        await child.terminate()
        child.kill()

    assert child.returncode == 5
    assert await next_line(child) == b"bye\n"


async def test_an_error_inside_the_block_ends_the_child_at_once() -> None:
    begun = time.monotonic()

    async with nothing_left() as family:
        child = await ChildProcess.start(shell("trap '' TERM; echo up; sleep 1000", family=family))
        await next_line(child)
        with pytest.raises(LookupError):
            await _fail_inside(child)

    assert time.monotonic() - begun < 1.9


async def test_where_there_are_no_process_handles_the_end_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_exit, "open_pidfd", lambda _: None)

    async with nothing_left() as family:
        good = await run_process(shell("sleep 0.1; echo done", family=family), timeout=10)
        with pytest.raises(DeadlineExceeded):
            await run_process(shell("sleep 1000", family=family), timeout=0.1)

    assert good.stdout == b"done\n"


async def test_a_status_that_somebody_else_took_is_not_made_up() -> None:
    async with nothing_left() as family, await ChildProcess.start(shell("cat", family=family)) as child:
        child.stdin.close()
        _take_status(child.pid)

        status = await child.wait()

    assert status == 255


@pytest.mark.fault("D10")
async def test_two_hundred_calls_through_a_gate_of_eight_are_never_more_than_eight() -> None:
    gate = ProcessGate(8)
    most = 0

    async def call(number: int) -> bytes:
        nonlocal most
        spec = ProcessSpec(argv=("echo", str(number)), env={"TEST_FAMILY": family})
        result = await run_process(spec, timeout=60, gate=gate)
        most = max(most, gate.alive, len(alive(family)))
        return result.stdout

    async with nothing_left() as family:
        answers = await asyncio.gather(*map(call, range(200)))

    assert [int(answer) for answer in answers] == list(range(200))
    assert 1 < most <= 8
    assert gate.alive == 0


@pytest.mark.req("RT-6")
@pytest.mark.fault("D10")
async def test_a_call_leaves_the_queue_of_a_gate_when_it_is_cancelled_or_late() -> None:
    gate = ProcessGate(1)

    async with nothing_left() as family:
        async with await ChildProcess.start(shell("cat", family=family), gate=gate):
            with pytest.raises(DeadlineExceeded, match="was not started in time"):
                await run_process(shell("echo", family=family), timeout=0.05, gate=gate)
            queued = asyncio.create_task(run_process(shell("echo", family=family), timeout=60, gate=gate))
            await asyncio.sleep(0)
            queued.cancel()
            with pytest.raises(asyncio.CancelledError):
                await queued
            assert gate.alive == 1
        await run_process(shell("echo", family=family), timeout=10, gate=gate)

    assert gate.alive == 0


async def test_a_program_that_does_not_start_gives_its_place_back() -> None:
    gate = ProcessGate(1)

    for _ in range(2):
        with pytest.raises(ProcessNotStarted):
            await run_process(ProcessSpec(argv=("no-such-program",)), timeout=5, gate=gate)

    assert gate.alive == 0


async def test_a_worker_that_does_not_start_leaves_nothing_either() -> None:
    async with nothing_left():
        with pytest.raises(ProcessNotStarted):
            await ChildProcess.start(ProcessSpec(argv=("no-such-program",), inherit_env=True))


async def test_a_pipe_that_somebody_keeps_filling_is_left_at_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_pipes, "_MAX_LEFT_CHUNKS", 1)
    async with nothing_left():
        ours, theirs = os.pipe()
        reader = PipeReader(os.fdopen(ours, "rb", buffering=0), cap=None, on_full=pytest.fail)
        os.write(theirs, b"x" * 65536)

        reader.finish()
        reader.close()
        os.close(theirs)

    assert len(reader.take_all()) == 65536


def test_a_gate_has_room_for_one_at_least() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ProcessGate(0)


async def _fail_inside(child: ChildProcess) -> None:
    async with child:
        raise LookupError


def _take_status(pid: int) -> None:
    os.waitpid(pid, 0)
