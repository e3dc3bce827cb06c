"""Running a program once: what comes back, and what each way to fail is called."""

from __future__ import annotations

import asyncio
import resource
import time
from pathlib import Path

import pytest
from process_children import needs_proc, nothing_left, python, shell

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import (
    DeadlineExceeded,
    OutputTooLarge,
    ProcessExited,
    ProcessKilled,
    ProcessNotStarted,
)
from toolcrib_runtime.guards.process.run import run_process

pytestmark = needs_proc
MIB = 1024 * 1024


async def test_a_program_gives_its_status_its_output_and_its_sandbox() -> None:
    async with nothing_left() as family:
        result = await run_process(shell("cat; echo oops >&2", family=family), stdin=b"hello", timeout=10)

    assert (result.status, result.stdout, result.stderr, result.escaped) == (0, b"hello", b"oops\n", ())
    assert 0 < result.duration < 10
    assert result.sandbox.rlimits == "on"


@pytest.mark.fault("D5")
async def test_garbage_comes_back_unchanged_for_the_caller_to_judge() -> None:
    garbage = bytes(range(256)) + b"\xef\xbb\xbf\x1b[31m"

    result = await run_process(shell("cat"), stdin=garbage, timeout=10)

    assert result.stdout == garbage


@pytest.mark.fault("D5")
@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("""echo '{"a": 1}'; echo bad >&2; exit 3""", ProcessExited, "`sh` ended with exit status 3"),
        ("echo bad >&2; kill -SEGV $$", ProcessKilled, "`sh` was ended by the signal SIGSEGV"),
        ("echo bad >&2; kill -40 $$", ProcessKilled, "signal (40|SIGRTMIN)"),
        ("echo bad >&2; exit 127", ProcessNotStarted, "not found .exit status 127"),
        ("echo bad >&2; exit 126", ProcessNotStarted, "could not be executed .exit status 126"),
    ],
)
async def test_each_bad_end_is_an_error_of_its_own_with_the_last_words(
    script: str, kind: type[ProcessExited], message: str
) -> None:
    async with nothing_left() as family:
        with pytest.raises(kind, match=message) as caught:
            await run_process(shell(script, family=family), timeout=10)

    assert caught.value.details["stderr"] == "bad\n"


async def test_a_failed_program_can_be_asked_for_without_an_error() -> None:
    result = await run_process(shell("echo kept; exit 3"), timeout=10, check=False)

    assert (result.status, result.stdout) == (3, b"kept\n")


async def test_last_words_are_printable_bounded_and_hide_the_private_directory() -> None:
    code = r"""
        import os, sys
        sys.stderr.write("x" * 100_000 + os.environ["HOME"] + "/file \x1b[31mred\x1b[0m \a")
        sys.exit(1)
    """

    with pytest.raises(ProcessExited) as caught:
        await run_process(python(code), timeout=10)

    words = str(caught.value.details["stderr"])
    assert words.endswith("x$TMPDIR/file red \N{REPLACEMENT CHARACTER}")
    assert len(words) <= 2_000


@pytest.mark.req("RT-5")
@pytest.mark.fault("D1")
@pytest.mark.parametrize(
    "script",
    ["sleep 1000", "trap '' TERM; while :; do sleep 1; done", "kill -STOP $$", "sleep 1000 & kill -STOP $!; wait"],
    ids=["never exits", "ignores SIGTERM", "stops itself", "waits for a stopped child"],
)
async def test_a_program_that_does_not_end_is_stopped_at_its_deadline(script: str) -> None:
    begun = time.monotonic()

    async with nothing_left() as family:
        with pytest.raises(DeadlineExceeded, match=r"`sh` did not end within 0\.3 s") as caught:
            await run_process(shell(script, family=family), timeout=0.3, grace=0.3)

    assert caught.value.category is ToolErrorCategory.TIMEOUT
    assert time.monotonic() - begun < 5


@pytest.mark.fault("D1")
async def test_a_stopped_program_hears_sigterm_within_its_grace(tmp_path: Path) -> None:
    farewell = tmp_path / "farewell"
    script = f"trap 'echo bye > {farewell}; exit' TERM; kill -STOP $$; sleep 1000"

    async with nothing_left() as family:
        with pytest.raises(DeadlineExceeded):
            await run_process(shell(script, family=family), timeout=0.3, grace=10)

    assert farewell.read_text() == "bye\n"


@pytest.mark.fault("D4")
@pytest.mark.parametrize("script", ["yes", "yes | tr -d '\\n'"], ids=["prints for ever", "prints without a newline"])
async def test_a_program_that_prints_too_much_is_stopped_with_its_head_kept(script: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async with nothing_left() as family:
        with pytest.raises(OutputTooLarge, match="more than 4,194,304 bytes to standard output") as caught:
            await run_process(shell(script, family=family), timeout=20, max_stdout=4 * MIB)

    assert str(caught.value.details["head"]).startswith(("y\ny\n", "yyyy"))
    assert len(str(caught.value.details["head"])) <= 2_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


@pytest.mark.fault("D4")
async def test_output_of_exactly_the_cap_is_taken_and_one_byte_more_is_not() -> None:
    taken = await run_process(shell("cat"), stdin=b"x" * 100, timeout=10, max_stdout=100)
    with pytest.raises(OutputTooLarge):
        await run_process(shell("cat"), stdin=b"x" * 101, timeout=10, max_stdout=100)

    assert len(taken.stdout) == 100


@pytest.mark.req("CT-5")
@pytest.mark.fault("D4")
async def test_standard_error_beyond_its_bound_is_dropped_and_the_program_goes_on() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async with nothing_left() as family:
        script = "yes | head -c 50000000 >&2; printf end >&2; printf done"
        result = await run_process(shell(script, family=family), timeout=30, max_stderr=MIB)

    assert (result.status, result.stdout) == (0, b"done")
    assert (len(result.stderr), result.stderr[-5:]) == (MIB, b"y\nend")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


@pytest.mark.fault("D7")
async def test_ten_megabytes_go_in_and_come_out_at_the_same_time() -> None:
    data = bytes(range(256)) * 40 * 1024

    async with nothing_left() as family:
        result = await run_process(shell("cat", family=family), stdin=data, timeout=20, max_stdout=len(data))

    assert result.stdout == data


@pytest.mark.fault("D7")
@pytest.mark.parametrize("script", ["exec 0<&-; echo done", "head -c 10 >/dev/null; echo done", "sleep 0.1; echo done"])
async def test_a_program_that_does_not_read_its_input_is_no_crash(script: str) -> None:
    async with nothing_left() as family:
        result = await run_process(shell(script, family=family), stdin=b"x" * 10 * MIB, timeout=10)

    assert (result.status, result.stdout) == (0, b"done\n")


@pytest.mark.fault("D7")
async def test_a_program_that_reads_its_input_for_ever_gets_its_end() -> None:
    result = await run_process(shell("cat >/dev/null; echo end"), timeout=10)

    assert result.stdout == b"end\n"


@pytest.mark.fault("D1", "D2", "D4", "D5")
async def test_the_next_good_call_succeeds_after_bad_ones() -> None:
    async with nothing_left() as family:
        for script in ("sleep 1000", "yes", "exit 1", "kill -9 $$"):
            with pytest.raises((DeadlineExceeded, OutputTooLarge, ProcessExited, ProcessKilled)):
                await run_process(shell(script, family=family), timeout=0.5, max_stdout=1000)
        result = await run_process(shell("echo fine", family=family), timeout=10)

    assert result.stdout == b"fine\n"


@pytest.mark.req("RT-6")
@pytest.mark.fault("D11")
async def test_a_cancelled_caller_stops_the_program_and_stays_cancelled() -> None:
    async with nothing_left() as family:
        call = asyncio.create_task(run_process(shell("trap '' TERM; sleep 1000", family=family), timeout=100))
        await asyncio.sleep(0)

        call.cancel()

        with pytest.raises(asyncio.CancelledError):
            await call
