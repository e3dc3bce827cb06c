"""JSON from processes and servers: read exactly, or refused with the reason, the place and an excerpt."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core import ToolErrorCategory
from toolcrib_core.schema.limits import JsonLimits
from toolcrib_runtime.errors import MalformedOutput, OutputTooLarge
from toolcrib_runtime.guards.json import MAX_EXCERPT, parse_output
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_runtime.guards.secrets.secret import REDACTED, Secret

WHAT = "output of the program"


@pytest.mark.parametrize(
    ("data", "value"), [(b'{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}), (b' "\xc3\xa9"\n', "é"), (b"0", 0)]
)
def test_one_json_value_is_read(data: bytes, value: object) -> None:
    assert parse_output(data, what=WHAT) == value


@pytest.mark.fault("D6", "B7", "B8")
@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (b"", "it is empty", 0),
        (b" \r\n\t ", "it is empty", 0),
        (b"\xef\xbb\xbf{}", "byte order mark", 0),
        (b"\x1b[32m{}\x1b[0m", "an escape sequence for terminals", 0),
        (b"{}\x1b[0m", "an escape sequence for terminals", 2),
        (b'{"a": "\xff"}', "a byte that is not UTF-8", 7),
        (b'{"a": [1, 2', "unexpected end of data", 11),
        (b'{"a": "b', "unexpected end of data", 8),
        (b"{}\n{}", "content after document", 3),
        (b"done: {}", "expected a JSON value", 0),
        (b"[NaN]", "a number that JSON does not have", 1),
        (b"[-Infinity]", "a number that JSON does not have", 2),
        (b'{"a": 1, "a": 2}', "a key that its object already has", 9),
        (b'["a\\u0000b"]', "a NUL character", 3),
        (b"[18446744073709551616]", "does not fit 64 bits", 1),
    ],
)
def test_anything_else_is_refused_with_reason_and_place(data: bytes, reason: str, offset: int) -> None:
    with pytest.raises(MalformedOutput) as caught:
        parse_output(data, what=WHAT)

    error = caught.value
    assert error.message.startswith("The output of the program is not one JSON value: ")
    assert reason in error.message
    assert reason in str(error.details["reason"])
    assert (error.details["offset"], error.details["bytes"]) == (offset, len(data))
    assert error.category is ToolErrorCategory.OUTPUT_VALIDATION


@pytest.mark.fault("D6", "F18")
def test_the_excerpt_is_short_printable_and_without_secrets() -> None:
    data = b'\x1b[31mTraceback: key-of-the-program\r\n  File "/srv/jane/x.py"\x00\xff ' + b"x" * 100_000

    with pytest.raises(MalformedOutput) as caught:
        parse_output(data, what=WHAT, scrubber=Scrubber([Secret("key-of-the-program")]))

    excerpt = str(caught.value.details["excerpt"])
    assert excerpt.startswith(f'[31mTraceback: {REDACTED} File "…/x.py" � xxx')
    assert excerpt.isprintable()
    assert len(excerpt) == MAX_EXCERPT
    assert "Traceback" not in str(caught.value)


@pytest.mark.fault("F18")
def test_the_excerpt_has_nothing_that_looks_like_a_secret_without_a_scrubber() -> None:
    with pytest.raises(MalformedOutput) as caught:
        parse_output(b"Authorization: Bearer hunter2", what=WHAT)

    assert caught.value.details["excerpt"] == f"Authorization: {REDACTED}"


@pytest.mark.fault("B6")
@pytest.mark.parametrize(
    "data",
    [
        b"[" * 10_000 + b"]" * 10_000,
        b"[" * 10_000,
        b'"' + b"a" * 50_000_000 + b'"',
        b"{" + b",".join(b'"%d":1' % at for at in range(1_000_000)) + b"}",
        b"[" + b"1," * 200_000 + b"1]",
    ],
    ids=["deep", "deep and open", "50 MB", "a million keys", "many values"],
)
def test_what_is_too_large_is_refused_quickly(data: bytes) -> None:
    start = time.process_time()

    with pytest.raises(OutputTooLarge, match="The output of the program is larger than what is read") as caught:
        parse_output(data, what=WHAT)

    assert time.process_time() - start < 2
    assert caught.value.category is ToolErrorCategory.LIMIT
    assert caught.value.details["maxBytes"] == 4 * 1024 * 1024


def test_the_limits_are_the_callers() -> None:
    small = JsonLimits(max_depth=2, max_nodes=3, max_bytes=20)

    assert parse_output(b"[[1]]", what=WHAT, limits=small) == [[1]]
    for data in (b"[[[1]]]", b"[1,2,3]", b'"' + b"a" * 20 + b'"'):
        with pytest.raises(OutputTooLarge, match="At most 20 bytes, 3 values and 2 levels are read"):
            parse_output(data, what=WHAT, limits=small)


@given(
    st.binary(max_size=40) | st.text(st.sampled_from('{}[]":,\\u0019aeE+-.\ufeff\x1b '), max_size=20).map(str.encode)
)
def test_no_data_brings_out_anything_but_a_value_or_an_error_about_it(data: bytes) -> None:
    with suppress(MalformedOutput, OutputTooLarge):
        assert parse_output(data, what=WHAT) == json.loads(data)
