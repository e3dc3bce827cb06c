"""Messages as lines, and what can be told of a line that cannot be read."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_mcp.rpc.codec import decode, encode_message, outline, outline_of, repair

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.req("GW-6.6")
@given(message=st.dictionaries(st.text(), json_values, max_size=4))
def test_what_is_written_is_what_is_read(message: dict[str, object]) -> None:
    line = encode_message(message)

    assert line.count(b"\n") == 1
    assert json.dumps(decode(line)) == json.dumps(message)


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**63) - 1, 10**40, 1234567890123456789])
def test_an_integer_of_any_size_stays_exact(number: int) -> None:
    assert decode(b'{"a":%d,"b":"%d"}' % (number, number)) == {"a": number, "b": str(number)}


def test_a_number_with_many_digits_and_a_fraction_stays_a_number() -> None:
    assert decode(b"[0.12345678901234567890123]") == [0.12345678901234568]


def test_an_integer_beyond_every_double_is_refused() -> None:
    with pytest.raises(ValueError, match="infinity"):
        decode(b"9" * 400)


def test_a_long_integer_in_deep_nesting_is_exact_or_refused_but_never_rounded() -> None:
    # How deep the reader of the standard library goes depends on the version of Python.
    text = b"[" * 1_020 + b"9" * 20 + b"]" * 1_020

    try:
        value = decode(text)
    except ValueError as refused:
        value = str(refused)
    while isinstance(value, list):
        value = value[0]

    assert value in {int("9" * 20), "nested too deeply for an integer beyond 64 bits"}


def test_a_read_only_mapping_is_written_as_an_object() -> None:
    inner = MappingProxyType({"a": 2**70})

    assert encode_message(MappingProxyType({"params": inner})) == b'{"params":{"a":1180591620717411303424}}\n'
    assert encode_message({"params": MappingProxyType({"a": 1})}) == b'{"params":{"a":1}}\n'


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    assert encode_message({"text": "\ud83d"}) == b'{"text":"\\ud83d"}\n'


@pytest.mark.parametrize("value", [object(), {1: 2}.keys(), 10**20 * float("inf"), {"deep"}])
def test_what_is_not_json_is_not_written(value: object) -> None:
    with pytest.raises(TypeError):
        encode_message({"big": 2**70, "value": value})


def test_a_message_that_contains_itself_is_not_written() -> None:
    message: dict[str, object] = {}
    message["again"] = message

    with pytest.raises(TypeError, match="not JSON"):
        encode_message(message)


@pytest.mark.fault("F4")
@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'\xef\xbb\xbf{"a":1}', '{"a":1}'),
        (b'\x1b[1;32m\x1b[0m {"a":1}', '{"a":1}'),
        (b'\x1b]0;npm exec server\x07{"a":1}', '{"a":1}'),
        (b'\x1b]0;title\x1b\\\r\x00{"a":1}', '{"a":1}'),
        (b'{"a":"\xff"}', '{"a":"\N{REPLACEMENT CHARACTER}"}'),
        (rb'{"a":"\ud83d"}', r'{"a":"\ufffd"}'),
        (rb'{"a":"\udc00\ud800x"}', r'{"a":"\ufffd\ufffdx"}'),
        (rb'{"a":"\ud83d\ude00 \\ud83d"}', r'{"a":"\ud83d\ude00 \\ud83d"}'),
    ],
)
def test_decoration_is_cut_off_and_what_is_not_unicode_replaced(line: bytes, text: str) -> None:
    assert repair(line).decode() == text


@pytest.mark.parametrize(
    ("head", "answered"),
    [
        (b'{"jsonrpc":"2.0","id":3,"result":{"id":4', 3),
        (b' { "id" : 3 , "jsonrpc":"2.0", "result": [[[', 3),
        (b'{"id":"abc","error":{', "abc"),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":-7,', -7),
    ],
)
@pytest.mark.req("GW-6.7")
def test_the_id_of_an_answer_is_found_in_its_beginning(head: bytes, answered: object) -> None:
    meant = outline(head)

    assert meant.is_message
    assert meant.is_answer
    assert meant.id == answered


@pytest.mark.parametrize(
    "head",
    [
        b'{"result":{"id":3},"jsonrpc"',  # an id of the result
        b'{"jsonrpc":"2.0","id":3',  # may be the beginning of 31
        b'{"jsonrpc":"2.0","id":3.5,"result":{',
        b'{"id":null,"error":{',
        b'{"id":"\\ud800","result":{',
    ],
)
def test_an_id_that_is_not_sure_is_not_taken(head: bytes) -> None:
    meant = outline(head)

    assert meant.is_answer
    assert meant.id is None


@pytest.mark.parametrize(
    ("tail", "answered"),
    [
        (b'x"}]},"jsonrpc":"2.0","id":3}', 3),
        (b'x"}]}, "id" : "a", "jsonrpc": "2.0" }\r', "a"),
        (b'{"id":3}', None),
        (b'x","id":3}', None),
        (b'"jsonrpc":"2.0","id":3}]}', None),
    ],
)
def test_the_id_of_an_answer_may_stand_at_its_end_beside_the_version(tail: bytes, answered: object) -> None:
    assert outline(b'{"result":{"content":[', tail).id == answered


def test_a_request_of_the_server_is_no_answer_though_it_has_an_id() -> None:
    meant = outline_of(b'{"jsonrpc":"2.0","id":3,"method":"roots/list","params":{"x":NaN},"jsonrpc":"2.0","id":3}')

    assert meant.is_message
    assert not meant.is_answer
    assert meant.id is None


@pytest.mark.parametrize("line", [b"", b"text", b"{debug} text", b'{"level":"info",', b"[[[[", b'["jsonrpc"', b'{"":1'])
def test_text_and_logs_are_no_messages(line: bytes) -> None:
    assert not outline_of(line).is_message
