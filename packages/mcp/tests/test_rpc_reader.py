"""From bytes to messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_mcp.rpc import MessageReader, Unreadable, WireNoise
from toolcrib_runtime.guards.secrets import Scrubber, Secret


def read(data: bytes, *, max_line: int = 1_000, scrubber: Scrubber | None = None) -> MessageReader:
    reader = MessageReader(max_line=max_line, scrubber=scrubber)
    reader.feed(data)
    reader.end()
    return reader


def test_messages_come_in_order_and_as_they_are() -> None:
    reader = read(b'{"a":1}\n{"b":{"unknown":[null,1.5]}}\r\n{"c":3}')

    assert list(reader.ready) == [{"a": 1}, {"b": {"unknown": [None, 1.5]}}, {"c": 3}]
    assert reader.noise == WireNoise()


def test_a_batch_counts_as_its_messages() -> None:
    assert list(read(b'[{"a":1},7,{"b":2}]\n').ready) == [{"a": 1}, {"b": 2}]


@pytest.mark.req("GW-6.7")
@pytest.mark.fault("F4")
def test_whatever_stands_between_messages_is_counted_and_passed_over() -> None:
    reader = read(b'Listening\n\n \t\r\n\x1b[0m\n\xff\xfe\xfd\n42\n[]\n"text"\n{debug}\n{"a":1}\n')

    assert list(reader.ready) == [{"a": 1}]
    assert reader.noise == WireNoise(lines=6, blank_lines=3, dropped_bytes=9 + 9 + 2 + 2 + 6 + 7, excerpt="{debug}")


@pytest.mark.fault("F4")
def test_a_message_with_a_byte_that_is_not_utf_8_is_read_with_a_mark_in_its_place() -> None:
    reader = read(b'{"text":"a\xffb"}\n')

    assert list(reader.ready) == [{"text": "a\N{REPLACEMENT CHARACTER}b"}]
    assert reader.noise.repaired == 1


def test_a_message_with_half_a_character_of_javascript_is_read_with_a_mark_in_its_place() -> None:
    reader = read(rb'{"text":"cut \ud83d"}')

    assert list(reader.ready) == [{"text": "cut \N{REPLACEMENT CHARACTER}"}]


def test_a_message_behind_a_byte_order_mark_and_a_window_title_is_read() -> None:
    assert list(read(b'\xef\xbb\xbf\x1b]0;npx\x07{"a":1}\n').ready) == [{"a": 1}]


def test_a_log_line_that_quotes_a_message_is_no_message() -> None:
    reader = read(b'sent {"jsonrpc":"2.0","id":1,"result":{}}\n')

    assert not reader.ready
    assert reader.noise.lines == 1


@pytest.mark.req("GW-6.7")
@pytest.mark.fault("F7")
def test_a_message_that_is_nested_too_deeply_is_told_with_its_id() -> None:
    deep = b'{"jsonrpc":"2.0","id":3,"result":' + b"[" * 5_000 + b"]" * 5_000 + b"}\n"

    (unreadable,) = read(deep, max_line=20_000).ready

    assert isinstance(unreadable, Unreadable)
    assert (unreadable.id, unreadable.is_answer, unreadable.limit) == (3, True, None)
    assert unreadable.reason == "it is nested too deeply"
    assert unreadable.excerpt.startswith('{"jsonrpc":"2.0","id":3,"result":[[[')


def test_a_deep_message_that_ends_with_its_id_is_told_with_it() -> None:
    deep = b'{"result":' + b"[" * 5_000 + b"]" * 5_000 + b',"jsonrpc":"2.0","id":3}\n'

    (unreadable,) = read(deep, max_line=20_000).ready

    assert isinstance(unreadable, Unreadable)
    assert unreadable.id == 3


@pytest.mark.fault("F5")
def test_half_a_message_at_the_end_is_told_with_its_id() -> None:
    (unreadable,) = read(b'{"jsonrpc":"2.0","id":3,"result":{"content":[').ready

    assert isinstance(unreadable, Unreadable)
    assert unreadable.id == 3
    assert "not JSON" in unreadable.reason


def test_a_message_that_stays_unreadable_with_its_bad_bytes_replaced_is_told() -> None:
    (unreadable,) = read(b'{"jsonrpc":"2.0","id":3,"result":\xff}\n').ready

    assert isinstance(unreadable, Unreadable)
    assert unreadable.id == 3


@pytest.mark.req("GW-6.7")
@pytest.mark.fault("F5")
def test_a_message_over_the_cap_is_told_at_once_and_the_next_one_is_read() -> None:
    reader = MessageReader(max_line=100)

    reader.feed(b'{"jsonrpc":"2.0","id":3,"result":"' + b"x" * 100)

    assert [(each.id, each.limit) for each in reader.ready if isinstance(each, Unreadable)] == [(3, 100)]
    reader.feed(b'x"}\n{"a":1}\n')
    assert reader.ready[-1] == {"a": 1}
    assert len(reader.ready) == 2
    assert (reader.noise.too_long, reader.noise.dropped_bytes) == (1, 137)


def test_a_message_over_the_cap_that_names_its_id_last_is_told_again_when_it_ends() -> None:
    reader = MessageReader(max_line=100)

    reader.feed(b'{"result":"' + b"x" * 100)
    reader.feed(b'x","jsonrpc":"2.0","id":3}\n')

    assert [each.id for each in reader.ready if isinstance(each, Unreadable)] == [None, 3]


def test_a_text_over_the_cap_is_noise() -> None:
    reader = read(b"x" * 2_000 + b"\n")

    assert not reader.ready
    assert (reader.noise.too_long, reader.noise.excerpt[:3]) == (1, "xxx")


def test_an_excerpt_shows_no_secret() -> None:
    reader = read(b"token is s3cret-value-of-ours\n", scrubber=Scrubber([Secret("s3cret-value-of-ours")]))

    assert "s3cret" not in reader.noise.excerpt
    assert reader.noise.excerpt.startswith("token is")


@given(
    data=st.binary(max_size=300)
    | st.lists(st.sampled_from([b'{"id":', b"1", b'"', b"\\", b"[", b"}", b"\n"])).map(b"".join)
)
def test_no_bytes_stop_the_reading(data: bytes) -> None:
    reader = MessageReader(max_line=50)
    reader.feed(data + b"\n")

    reader.feed(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')

    assert reader.ready[-1] == {"jsonrpc": "2.0", "id": 1, "result": {}}
