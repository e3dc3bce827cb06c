"""Cutting bytes into lines."""

from __future__ import annotations

import itertools
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_mcp.rpc.lines import HEAD_BYTES, TAIL_BYTES, LineSplitter, LongLine


def cut(splitter: LineSplitter, *chunks: bytes) -> list[bytes | LongLine]:
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.end()


@given(text=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=20))
def test_the_lines_do_not_depend_on_how_the_bytes_arrive(text: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(each for each in cuts if each <= len(text)), len(text)]
    chunks = [text[begin:end] for begin, end in itertools.pairwise(places)]

    lines = cut(LineSplitter(1_000), *chunks)

    assert lines == text.removesuffix(b"\n").split(b"\n") if text else not lines


def test_a_line_without_its_newline_is_given_at_the_end_only() -> None:
    splitter = LineSplitter(100)

    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.feed(b"o") == []
    assert splitter.end() == [b"two"]
    assert splitter.end() == []


def test_a_line_of_exactly_the_cap_is_a_line() -> None:
    assert cut(LineSplitter(5), b"12345\n") == [b"12345"]


@pytest.mark.req("GW-6.7")
@pytest.mark.fault("F5")
def test_a_line_over_the_cap_is_told_at_its_first_byte_too_many_and_again_at_its_end() -> None:
    splitter = LineSplitter(5)

    assert splitter.feed(b"12345") == []
    assert splitter.feed(b"6") == [LongLine(head=b"123456", length=6)]
    assert splitter.feed(b"789") == []
    assert splitter.feed(b"\nnext\n") == [LongLine(head=b"123456", tail=b"123456789", length=9), b"next"]


def test_of_a_long_line_only_its_head_and_its_tail_are_kept() -> None:
    text = bytes(range(48, 58)) * 10_000

    first, second = cut(LineSplitter(50_000), text, b"\n")

    assert first == LongLine(head=text[:HEAD_BYTES], length=len(text))
    assert second == LongLine(head=text[:HEAD_BYTES], tail=text[-TAIL_BYTES:], length=len(text))


def test_a_long_line_that_the_stream_ends_in_has_an_end_as_well() -> None:
    splitter = LineSplitter(5)
    splitter.feed(b"1234567")

    assert splitter.end() == [LongLine(head=b"1234567", tail=b"1234567", length=7)]


@pytest.mark.fault("F5")
def test_200_mb_without_a_newline_take_no_more_memory_than_the_cap() -> None:
    splitter, chunk, cap = LineSplitter(1024 * 1024), b"x" * 65_536, 1024 * 1024
    tracemalloc.start()

    for _ in range(200_000_000 // len(chunk)):
        splitter.feed(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 2 * cap
    assert splitter.skipped_bytes > 199_000_000


@pytest.mark.fault("F5")
def test_a_line_that_comes_bytewise_takes_little_more_memory_than_it_is_long() -> None:
    splitter = LineSplitter(10**6)
    tracemalloc.start()

    for _ in range(100_000):
        splitter.feed(b"xy")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 3 * 200_000


@pytest.mark.req("GW-6.7")
def test_the_time_for_a_line_grows_with_its_length_and_not_with_its_square() -> None:
    def seconds(chunks: int) -> float:
        splitter, chunk = LineSplitter(10**9), b"x" * 4_096
        begun = time.process_time()
        for _ in range(chunks):
            splitter.feed(chunk)
        return time.process_time() - begun

    short = min(seconds(1_000) for _ in range(3))
    long = min(seconds(16_000) for _ in range(3))

    assert long < 16 * 8 * max(short, 0.001)  # the square would be 256
