"""Server-sent events, from bytes to lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_mcp.upstreams.sse import EventReader


def read(*chunks: bytes, max_event: int = 1_000) -> list[bytes]:
    events = EventReader(max_event)
    return [line for chunk in chunks for line in events.feed(chunk)]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_an_event_ends_with_an_empty_line_however_lines_end(ending: bytes) -> None:
    stream = ending.join([b"event: message", b"data: {}", b"", b"data:[]", b"", b""])

    assert read(stream) == [b"{}", b"[]"]


def test_several_lines_of_data_are_one_line() -> None:
    assert read(b'data: {"a":\ndata:\ndata: 1}\n\n') == [b'{"a":  1}']


def test_comments_other_events_and_unknown_fields_are_passed_over() -> None:
    stream = b": ping\n\nevent: ping\ndata: x\n\nnovel: y\ndata\n\n\xef\xbb\xbfdata: {}\n\n"

    assert read(stream) == [b"{}"]


def test_an_event_that_breaks_off_is_none_and_does_not_reach_into_the_next_stream() -> None:
    events = EventReader(1_000)

    assert events.feed(b"data: {}\n") == []
    events.restart()
    assert events.feed(b"data: []\n\n") == [b"[]"]


def test_the_place_to_take_up_a_stream_is_that_of_the_last_whole_event() -> None:
    events = EventReader(1_000)

    events.feed(b"id: 7\nretry: 250\ndata:\n\nid: 8\ndata: {}\n")

    assert (events.last_id, events.retry) == (b"7", 0.25)


@pytest.mark.parametrize("field", [b"id: a\x00b", b"id: " + b"9" * 1_025, b"retry: soon", b"retry: -1"])
def test_a_place_or_a_wait_that_cannot_be_used_is_passed_over(field: bytes) -> None:
    events = EventReader(10_000)

    events.feed(field + b"\n\n")

    assert (events.last_id, events.retry) == (None, None)


def test_a_wait_is_bounded_however_many_digits_it_has() -> None:
    events = EventReader(10_000)

    events.feed(b"retry: " + b"9" * 5_000 + b"\n\n")

    assert events.retry == 30.0


@pytest.mark.fault("F5")
def test_of_an_event_over_the_cap_the_beginning_comes_at_once_and_the_rest_never() -> None:
    events = EventReader(10)

    begun = events.feed(b"data: 0123456789ab")
    rest = events.feed(b"cdef" * 1_000) + events.feed(b"\ndata: more\nid: 5\n\n")

    assert begun == [b" 0123456789ab"]
    assert rest == []
    assert events.feed(b"data: next\n\n") == [b"next"]


@pytest.mark.fault("F5")
def test_many_short_lines_make_an_event_too_long_as_well() -> None:
    assert len(read(b"data: abc\n" * 100 + b"\ndata: next\n\n", max_event=50)) == 2


@given(
    st.lists(
        st.sampled_from([b"data: {}", b"data:", b"data: x", b": c", b"id: 1", b"event: message", b"event: z", b""])
    ),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.data(),
)
def test_how_the_bytes_are_cut_into_chunks_does_not_matter(
    lines: list[bytes], ending: bytes, data: st.DataObject
) -> None:
    stream = b"".join(line + ending for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    chunks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]

    def kept(*chunks: bytes) -> list[bytes]:
        return [line if len(line) <= 12 else b"too long" for line in read(*chunks, max_event=12)]

    assert kept(*chunks) == kept(stream)


@pytest.mark.fault("F5")
def test_the_time_for_a_long_event_grows_with_its_length_and_no_faster() -> None:
    def seconds(megabytes: int) -> float:
        events = EventReader(64 * 1024 * 1024)
        chunk = b"x" * 16_384
        begun = time.process_time()
        events.feed(b"data: ")
        for _ in range(megabytes * 64):
            events.feed(chunk)
        assert len(events.feed(b"\n\n")[0]) == megabytes * 2**20
        return time.process_time() - begun

    small, large = min(seconds(2) for _ in range(3)), min(seconds(32) for _ in range(3))

    # Sixteen times the length; quadratic would be 256 times the time.
    assert large < 80 * max(small, 0.0005)
