"""Reading and writing whatever standard input and output are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from process_children import until

from toolcrib_mcp.front.streams import Input, ReaderWatch, open_output

LARGE = 1_000_000


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe; whoever closes one says so by closing it here as well."""
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue


async def _read(fd: int, size: int) -> bytes:
    """So many bytes from a pipe, without holding up the loop."""
    got = b""
    async with asyncio.timeout(10):
        while len(got) < size:
            got += await asyncio.to_thread(os.read, fd, size - len(got))
    return got


async def test_what_comes_is_read_until_the_end(pipe: tuple[int, int]) -> None:
    source = Input(pipe[0])
    os.write(pipe[1], b"one")
    first = await source.read()
    os.write(pipe[1], b"two")
    os.close(pipe[1])

    rest = [await source.read(), await source.read(), await source.read()]

    assert [first, *rest] == [b"one", b"two", b"", b""]


async def test_what_is_not_read_waits_in_the_pipe(pipe: tuple[int, int]) -> None:
    source = Input(pipe[0])
    writing = asyncio.create_task(asyncio.to_thread(_write_all, pipe[1], b"x" * LARGE))
    await until(lambda: not source._reading)
    held = len(source._chunks)

    got = 0
    async with asyncio.timeout(10):
        while got < LARGE:
            got += len(await source.read())
        await writing
    source.close()

    assert held < LARGE / 2
    assert got == LARGE


async def test_an_input_that_fails_has_ended(pipe: tuple[int, int]) -> None:
    source = Input(pipe[0])
    os.set_blocking(pipe[0], False)
    source._readable()  # nothing there
    elsewhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(elsewhere, pipe[0])
    os.close(elsewhere)

    source._readable()

    assert await source.read() == b""


async def test_a_file_is_read_and_ends(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"x" * 100_000)

    with (tmp_path / "in").open("rb") as file:
        source = Input(file.fileno())
        got = [await source.read(), await source.read(), await source.read()]
        source.close()
        after = await source.read()

    assert b"".join(got) == b"x" * 100_000
    assert (got[-1], after) == (b"", b"")


async def test_lines_of_many_writers_are_never_mixed(pipe: tuple[int, int]) -> None:
    output = open_output(os.dup(pipe[1]))
    lines = [bytes([65 + number]) * 100_000 + b"\n" for number in range(20)]

    writing = [asyncio.create_task(output.write(line)) for line in lines]
    got = await _read(pipe[0], sum(map(len, lines)))
    await asyncio.gather(*writing)
    output.close()

    assert sorted(got.splitlines(keepends=True)) == lines


async def test_a_writer_that_is_cancelled_leaves_a_whole_line(pipe: tuple[int, int]) -> None:
    output = open_output(os.dup(pipe[1]))
    first, last = b"a" * 300_000 + b"\n", b"c" * 10 + b"\n"
    begun = asyncio.create_task(output.write(first))
    waits = asyncio.create_task(output.write(b"b\n"))
    await asyncio.sleep(0)

    begun.cancel()
    waits.cancel()
    await asyncio.wait([begun, waits])
    after = asyncio.create_task(output.write(last))
    got = await _read(pipe[0], len(first) + len(last))
    await after
    output.close()

    assert got == first + last


async def test_one_line_at_most_waits_for_a_reader_that_does_not_read(pipe: tuple[int, int]) -> None:
    output = open_output(os.dup(pipe[1]))
    writing = [asyncio.create_task(output.write(b"x" * LARGE)) for _ in range(10)]
    await asyncio.sleep(0)

    held = len(output._writer._pending)  # type: ignore[attr-defined]  # what the promise is about
    for task in writing:
        task.cancel()
    await asyncio.wait(writing)
    output.close()

    assert held <= LARGE


@pytest.mark.parametrize("size", [10, LARGE])
async def test_a_reader_that_has_gone_breaks_the_pipe(pipe: tuple[int, int], size: int) -> None:
    output = open_output(os.dup(pipe[1]))
    os.close(pipe[0])

    with pytest.raises(BrokenPipeError):
        await output.write(b"x" * size)
    output.close()
    with pytest.raises(BrokenPipeError):
        await output.write(b"x" * size)


async def test_a_reader_that_goes_while_a_line_waits_breaks_the_pipe(pipe: tuple[int, int]) -> None:
    output = open_output(os.dup(pipe[1]))
    writing = asyncio.create_task(output.write(b"x" * LARGE))
    waiting = asyncio.create_task(output.write(b"y"))
    await asyncio.sleep(0)
    os.close(pipe[0])

    async with asyncio.timeout(5):
        ends = await asyncio.gather(writing, waiting, return_exceptions=True)
    output.close()

    assert [type(end) for end in ends] == [BrokenPipeError, BrokenPipeError]


async def test_a_file_is_written_line_by_line_also_when_a_writer_is_cancelled(tmp_path: Path) -> None:
    output = open_output(os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT))
    first = asyncio.create_task(output.write(b"a" * LARGE + b"\n"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    await output.write(b"b\n")
    last = asyncio.create_task(output.write(b"c" * LARGE + b"\n"))
    await asyncio.sleep(0)
    last.cancel()
    output.close()
    await asyncio.wait([last])
    await asyncio.get_running_loop().shutdown_default_executor()

    lines = (tmp_path / "out").read_bytes().splitlines()
    assert [line[:1] for line in lines] == [b"a", b"b", b"c"]
    assert [len(line) for line in lines] == [LARGE, 1, LARGE]


async def test_a_disk_that_takes_no_more_is_a_reader_that_has_gone() -> None:
    output = open_output(os.open("/dev/full", os.O_WRONLY))

    with pytest.raises(BrokenPipeError):
        await output.write(b"x\n")
    output.close()


async def test_a_reader_is_seen_to_go_although_nothing_is_written(pipe: tuple[int, int]) -> None:
    gone = asyncio.Event()
    watch = ReaderWatch(pipe[1], gone.set)

    os.close(pipe[0])

    async with asyncio.timeout(5):
        await gone.wait()
    watch.close()


async def test_a_file_has_no_reader_that_could_go(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as file:
        watch = ReaderWatch(file.fileno(), lambda: pytest.fail("nobody went"))
        await asyncio.sleep(0)
        watch.close()


async def test_where_nothing_tells_of_readers_nothing_is_watched(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("select.epoll")

    watch = ReaderWatch(pipe[1], lambda: pytest.fail("nobody can tell"))
    os.close(pipe[0])
    await asyncio.sleep(0)
    watch.close()


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
