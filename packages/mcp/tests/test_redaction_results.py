"""Secrets in results and errors: gone wherever they stand, and nothing else is touched."""

from __future__ import annotations

import base64
import json
import logging
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core import ToolError
from toolcrib_mcp.errors import UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.redaction import ResultRedactor
from toolcrib_mcp.redaction.redactor import IN_THREAD_BYTES
from toolcrib_mcp.rpc import RpcError
from toolcrib_runtime.guards.secrets import REDACTED, Secret

CANARY = 'canary/+ "ü"\\' + "4f9a1c07"
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0" * 2

pytestmark = [pytest.mark.req("GW-8.6"), pytest.mark.fault("F18")]


def redactor(*, known_formats: bool = False) -> ResultRedactor:
    return ResultRedactor([Secret(CANARY)], known_formats=known_formats)


def in_base64(data: str | bytes) -> str:
    return base64.b64encode(data.encode() if isinstance(data, str) else data).decode()


PLACES: dict[str, Any] = {
    "a text": {"content": [{"type": "text", "text": f"is {CANARY}."}]},
    "a structured value": {"content": [], "structuredContent": {"a": [{"b": CANARY}]}},
    "a key": {"structuredContent": {CANARY: 1}},
    "an embedded resource": {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": CANARY}}]},
    "an address": {"content": [{"type": "resource_link", "uri": f"https://a/?k={quote(CANARY)}", "name": "a"}]},
    "meta data": {"content": [], "_meta": {"a/b": {"c": CANARY}}},
    "a content of an unknown type": {"content": [{"type": "hologram", "parts": [[CANARY]]}]},
    "annotations": {"content": [{"type": "text", "text": "a", "annotations": {"note": CANARY}}]},
    "hexadecimal": {"content": [{"type": "text", "text": CANARY.encode().hex()}]},
    "base64 in a text": {"content": [{"type": "text", "text": in_base64(f"user:{CANARY}")}]},
    "JSON in a text": {"content": [{"type": "text", "text": json.dumps({"k": CANARY})}]},
    "a resource that was read": {"contents": [{"uri": "file:///a", "text": CANARY}]},
}


@pytest.mark.parametrize("place", list(PLACES))
def test_a_secret_is_gone_wherever_it_stands(place: str) -> None:
    result = PLACES[place]
    before = json.dumps(result)

    redacted = redactor().redact(result, server="files")

    assert redacted.count == 1
    written = json.dumps(redacted.result, ensure_ascii=False)
    assert "4f9a1c07" not in written
    assert CANARY.encode().hex() not in written
    assert REDACTED in written
    assert json.dumps(result) == before


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": "canary and 4f9a1c07"}], "structuredContent": {"n": 10**30}},
        {"content": [{"type": "image", "data": in_base64(b"\x89PNG\r\n\x1a\n" + bytes(900)), "mimeType": "image/png"}]},
        {"contents": [{"uri": "a:b", "blob": in_base64("plain text " * 100)}]},
        {"contents": [{"uri": "a:b", "blob": "this is no base64!"}]},
        {"content": [{"type": "text", "text": "a lone \ud800"}]},
        {},
    ],
)
def test_without_a_secret_the_very_same_result_comes_back(result: dict[str, Any]) -> None:
    redacted = redactor().redact(result, server="files")

    assert redacted.result is result
    assert redacted.count == 0


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("spelt", [CANARY, quote(CANARY), in_base64(CANARY)])
@pytest.mark.parametrize(("key", "beside"), [("blob", {}), ("data", {"mimeType": "image/svg+xml"})])
def test_base64_that_holds_text_is_decoded_and_encoded_again(
    *, key: str, beside: dict[str, str], spelt: str, wrapped: bool
) -> None:
    encode = base64.encodebytes if wrapped else base64.b64encode
    blob = encode(f"{'ü ' * 500} {spelt} end".encode()).decode()

    redacted = redactor().redact({"contents": [{key: blob, **beside}]}, server="files")

    decoded = base64.b64decode(redacted.result["contents"][0][key]).decode()
    assert decoded == f"{'ü ' * 500} {REDACTED} end"


def test_in_binary_data_as_many_bytes_stand_where_a_secret_was() -> None:
    binary = b"\x00\xff" * 300 + CANARY.encode() + b"\x00\xff" * 300

    redacted = redactor().redact({"contents": [{"blob": in_base64(binary)}]}, server="files")

    decoded = base64.b64decode(redacted.result["contents"][0]["blob"])
    assert redacted.count == 1
    assert len(decoded) == len(binary)
    assert b"4f9a1c07" not in decoded


def test_text_that_only_begins_like_text_is_searched_as_binary() -> None:
    binary = b"text " * 300 + quote(CANARY).encode() + b"\xff\xfe"

    redacted = redactor().redact({"contents": [{"blob": in_base64(binary)}]}, server="files")

    assert b"4f9a1c07" not in base64.b64decode(redacted.result["contents"][0]["blob"])


def test_what_calls_itself_base64_and_is_not_is_searched_as_text() -> None:
    redacted = redactor().redact(
        {"contents": [{"blob": f"no base64: {CANARY}"}, {"blob": f"AAAA {CANARY}"}]}, server="a"
    )

    assert redacted.count == 2
    assert "4f9a1c07" not in str(redacted.result)


def test_base64_that_breaks_off_is_searched_as_text() -> None:
    blob = in_base64("x" * 900) + "!" + CANARY

    redacted = redactor().redact({"contents": [{"blob": blob}]}, server="files")

    assert "4f9a1c07" not in str(redacted.result)


def test_keys_that_become_the_same_are_all_kept() -> None:
    both = ResultRedactor([Secret("first-one"), Secret("second-one")])

    redacted = both.redact({"first-one": 1, "second-one": 2, "n": 3}, server="files")

    assert redacted.result == {REDACTED: 1, f"{REDACTED} (1)": 2, "n": 3}


@pytest.mark.parametrize("levels", [300, 900])
def test_no_depth_is_too_deep(levels: int) -> None:
    value: Any = CANARY
    for _ in range(levels):
        value = [value]

    redacted = redactor().redact({"structuredContent": value}, server="files")

    found = redacted.result["structuredContent"]
    for _ in range(levels):
        (found,) = found
    assert found == REDACTED


@pytest.mark.parametrize("beside", [10**30, "a lone \ud800"])
def test_a_secret_is_gone_beside_what_not_every_json_has(beside: Any) -> None:
    redacted = redactor().redact({"structuredContent": [beside, CANARY]}, server="files")

    assert redacted.result == {"structuredContent": [beside, REDACTED]}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(f"a {CANARY} b"),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4) | st.just(CANARY), inner, max_size=4)
        ),
        max_leaves=20,
    )
)
def test_whatever_the_shape_of_a_result_the_secret_is_gone_and_all_else_stays(value: Any) -> None:
    redacted = redactor().redact({"structuredContent": value}, server="files")

    assert redacted.result["structuredContent"] == _expected(value)
    assert (redacted.count > 0) == ("4f9a1c07" in str(value))


def test_secrets_may_be_added_later() -> None:
    later = redactor()
    later.add(Secret("learnt-later"))

    assert later.redact({"a": "learnt-later", "b": CANARY}, server="files").result == {"a": REDACTED, "b": REDACTED}


def test_what_only_looks_like_a_secret_stays_unless_that_is_asked_for() -> None:
    result = {
        "content": [{"type": "text", "text": f"use {TOKEN}"}],
        "structuredContent": {"password": "hunter2", "n": ""},
    }

    kept, taken = redactor().redact(result, server="a"), redactor(known_formats=True).redact(result, server="a")

    assert kept.result is result
    assert taken.count == 2
    assert taken.result["content"][0]["text"] == f"use {REDACTED}"
    assert taken.result["structuredContent"] == {"password": REDACTED, "n": ""}


def test_known_formats_are_found_in_base64_and_among_known_secrets() -> None:
    blob = in_base64(f"a {TOKEN} b {CANARY} c")

    redacted = redactor(known_formats=True).redact(
        {"contents": [{"blob": blob}], "a": [f"{TOKEN} {CANARY}"]}, server="a"
    )

    assert base64.b64decode(redacted.result["contents"][0]["blob"]).decode() == f"a {REDACTED} b {REDACTED} c"
    assert redacted.result["a"] == [f"{REDACTED} {REDACTED}"]
    assert redacted.count == 4


def test_with_known_formats_a_clean_result_still_comes_back_itself() -> None:
    result = {"content": [{"type": "text", "text": "the word token"}], "structuredContent": {"token": REDACTED}}

    assert redactor(known_formats=True).redact(result, server="files").result is result


@pytest.mark.parametrize("size", [10, IN_THREAD_BYTES, 4 * 1024 * 1024])
async def test_a_large_result_is_searched_in_a_thread_with_the_same_outcome(size: int) -> None:
    result = {"content": [{"type": "text", "text": "x" * size + CANARY}]}

    redacted = await redactor().redact_off_loop(result, server="files")

    assert redacted.result == {"content": [{"type": "text", "text": "x" * size + REDACTED}]}


def test_the_message_hint_and_details_of_an_error_lose_their_secrets() -> None:
    error = UpstreamUnavailable(f"It said {CANARY}.", hint=CANARY, details={"stderr": [CANARY], "object": object})

    taken = redactor().redact_failure(error, server="files")

    assert taken == 3
    assert "4f9a1c07" not in f"{error} {error.args} {error.to_dict()}"
    assert error.message == f"It said {REDACTED}."


def test_what_a_server_answered_with_loses_its_secrets_too() -> None:
    failed = UpstreamFailed("It failed.", rpc_code=-1, rpc_message=CANARY, rpc_data={"k": CANARY})
    refused = RpcError(-1, f"no: {CANARY}", {"k": [CANARY]})

    assert redactor().redact_failure(failed, server="files") == 2
    assert redactor().redact_failure(refused, server="files") == 2

    assert (failed.rpc_message, failed.rpc_data) == (REDACTED, {"k": REDACTED})
    assert (refused.message, refused.data, str(refused)) == (f"no: {REDACTED}", {"k": [REDACTED]}, f"no: {REDACTED}")


def test_an_error_without_a_secret_is_left_alone() -> None:
    details = {("not", "json"): 1, "a": "b"}
    error = ToolError("It failed.", details=details)  # type: ignore[arg-type]  # what a careless tool may do

    assert redactor().redact_failure(error, server="files") == 0
    assert error.details == details


def test_the_log_says_of_which_server_and_not_what(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="toolcrib_mcp.redaction"):
        redactor().redact({"a": [CANARY, CANARY]}, server="files")

    assert caplog.messages == ["2 secrets taken out of what the server `files` answered"]


def _expected(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(CANARY, REDACTED)
    if isinstance(value, list):
        return [_expected(each) for each in value]
    if isinstance(value, dict):
        return {_expected(key): _expected(each) for key, each in value.items()}
    return value
