"""A real process that serves a client over its standard input and output, whatever those are."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO

import pytest
from front_raw_client import ENVELOPE, call, request
from front_services import FixtureService

from toolcrib_mcp.front import serve_stdio

SCRIPT = Path(__file__).with_name("front_stdio_server.py")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def _echo(number: int) -> bytes:
    return request(number, "tools/call", **call("echo", nonce=f"n{number}"), _meta=ENVELOPE) + b"\n"


def _ids(lines: bytes) -> list[object]:
    return [json.loads(line)["id"] for line in lines.splitlines()]


def _run(*, stdin: IO[bytes] | int, stdout: IO[bytes] | int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, SCRIPT],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        timeout=30,
        check=False,
    )


def test_files_will_do_as_input_and_output(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"".join(map(_echo, range(200))))

    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        ended = _run(stdin=stdin, stdout=stdout)

    assert ended.returncode == 0, ended.stderr
    assert sorted(map(int, map(str, _ids((tmp_path / "out").read_bytes())))) == list(range(200))


def test_an_input_with_nothing_in_it_ends_at_once() -> None:
    ended = _run(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    assert (ended.returncode, ended.stdout) == (0, b"")


def test_a_terminal_will_do(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "r+b", buffering=0) as terminal, os.fdopen(theirs, "r+b", buffering=0) as tty:
        # The last line is the end of the input, as a user types it.
        terminal.write(request(1, "ping") + b"\n\x04")
        ended = _run(stdin=tty, stdout=tty)
        seen = terminal.read(65536) or b""
        still_blocks = os.get_blocking(tty.fileno())

    assert ended.returncode == 0, ended.stderr
    assert b'"result":{}' in seen
    assert still_blocks


def test_a_closed_output_is_said_at_once() -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$1" >&-', sys.executable, SCRIPT], capture_output=True, timeout=30, check=False
    )

    assert ended.returncode != 0
    assert b"Standard output is closed" in ended.stderr


def test_without_a_standard_error_what_is_printed_goes_nowhere() -> None:
    started = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$0" "$1" 2>&-', sys.executable, SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    lines, _ = started.communicate(request(1, "tools/call", **call("print"), _meta=ENVELOPE) + b"\n", timeout=30)

    assert _ids(lines) == [1]


@pytest.mark.req("GW-6.7")
def test_a_stray_print_reaches_standard_error_and_not_the_client() -> None:
    started = subprocess.Popen(
        [sys.executable, SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    lines, said = started.communicate(request(1, "tools/call", **call("print"), _meta=ENVELOPE) + b"\n", timeout=30)

    assert _ids(lines) == [1]
    assert b"before" in said
    assert b"stray" in said


@asynccontextmanager
async def _process(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        SCRIPT,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=ENVIRONMENT,
    )
    try:
        async with asyncio.timeout(20):
            yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


@pytest.mark.fault("F16")
async def test_a_process_that_is_told_to_end_says_what_it_leaves_undone() -> None:
    async with _process() as started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(request(1, "tools/call", **call("hang"), _meta=ENVELOPE) + b"\n" + _echo(2))
        echoed = await started.stdout.readline()
        started.send_signal(signal.SIGTERM)
        undone = await started.stdout.readline()
        status = await started.wait()

    assert json.loads(echoed)["id"] == 2
    assert (json.loads(undone)["id"], json.loads(undone)["error"]["code"]) == (1, -32000)
    assert status == 143


@pytest.mark.fault("F16")
def test_two_hundred_requests_of_a_client_that_dies_end_with_it() -> None:
    hanging = [request(number, "tools/call", **call("hang"), _meta=ENVELOPE) + b"\n" for number in range(1, 201)]
    with subprocess.Popen(
        [sys.executable, SCRIPT, "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        started.stdin.write(b"".join(hanging) + _echo(0))
        started.stdin.flush()
        first = json.loads(started.stdout.readline())
        started.stdin.close()
        started.stdout.close()
        # Far less than the sixty seconds that the requests would have.
        status = started.wait(timeout=20)

    assert first["id"] == 0
    assert status == 0


@contextmanager
def _standard_streams(stdin: int, stdout: int) -> Iterator[None]:
    """Have the standard streams of this process lead elsewhere."""
    kept = os.dup(0), os.dup(1)
    os.dup2(stdin, 0)
    os.dup2(stdout, 1)
    try:
        yield
    finally:
        for number, fd in enumerate(kept):
            os.dup2(fd, number)
            os.close(fd)


async def test_the_standard_streams_are_given_back_as_they_were(capfd: pytest.CaptureFixture[str]) -> None:
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()
    os.write(our_out, request(1, "ping") + b"\n")
    os.close(our_out)

    with _standard_streams(their_in, their_out):
        before = [os.fstat(number).st_ino for number in (0, 1)]
        async with asyncio.timeout(5):
            await serve_stdio(FixtureService())
        after = [os.fstat(number).st_ino for number in (0, 1)]
        blocking = [os.get_blocking(number) for number in (0, 1)]
    os.close(their_in)
    os.close(their_out)
    with os.fdopen(our_in, "rb") as pipe:
        answers = pipe.read()

    assert after == before
    assert blocking == [True, True]
    assert _ids(answers) == [1]
