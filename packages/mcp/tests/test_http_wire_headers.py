"""The headers of each message."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.inbound import decode_header_value, validate_mcp_param_headers

from toolcrib_mcp.upstreams.eras import META_VERSION
from toolcrib_mcp.upstreams.http_headers import RequestHeaders

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "nested": {"type": "object", "properties": {"dry": {"type": "boolean", "x-mcp-header": "Dry"}}},
        "other": {"type": "string"},
    },
}
TOOL = {"name": "deploy", "inputSchema": SCHEMA}


def modern(method: str, **params: Any) -> dict[str, Any]:
    return {"id": 1, "method": method, "params": {**params, "_meta": {META_VERSION: "2026-07-28"}}}


def test_a_modern_request_repeats_its_version_method_and_name() -> None:
    headers = RequestHeaders()

    assert headers.of(modern("prompts/get", name="hello")) == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "prompts/get",
        "mcp-name": "hello",
    }
    assert headers.of(modern("resources/read", uri="file:///x"))["mcp-name"] == "file:///x"
    assert "mcp-name" not in headers.of(modern("tools/list"))


@pytest.mark.parametrize("name", ["plain name", "grüße", " edge ", "a\nb", "=?base64?eA==?=", ""])
def test_a_name_reaches_the_server_as_it_is_whatever_characters_it_has(name: str) -> None:
    sent = RequestHeaders().of(modern("tools/call", name=name))["mcp-name"]

    assert sent.isascii()
    assert sent.isprintable()
    assert decode_header_value(sent) == name


@pytest.mark.parametrize(
    "arguments",
    [
        {"region": "eu", "count": 3, "nested": {"dry": True}, "other": "secret"},
        {"region": "größer", "count": -1, "nested": {"dry": False}},
        {"region": None, "nested": "not an object"},
        {},
    ],
)
def test_arguments_that_a_tool_wants_in_headers_are_there_as_the_sdk_checks_them(arguments: dict[str, Any]) -> None:
    headers = RequestHeaders([TOOL])

    sent = headers.of(modern("tools/call", name="deploy", arguments=arguments))

    assert validate_mcp_param_headers(SCHEMA, arguments, sent) is None
    assert "secret" not in str(sent)


def test_tools_are_also_learned_from_a_modern_listing_and_forgotten_when_they_change() -> None:
    headers = RequestHeaders()
    asked = modern("tools/call", name="deploy", arguments={"region": "eu"})

    headers.of(modern("tools/list"))
    headers.note_answer("tools/list", {"result": {"tools": [TOOL, "not a tool"]}})
    learned = headers.of(asked)
    headers.note_answer("tools/list", {"result": {"tools": [{"name": "deploy", "inputSchema": {"allOf": [{}]}}]}})

    assert learned["mcp-param-region"] == "eu"
    assert "mcp-param-region" not in headers.of(asked)


def test_a_tool_whose_wishes_for_headers_are_not_valid_gets_none() -> None:
    tool = {"name": "deploy", "inputSchema": {"properties": {"region": {"type": "array", "x-mcp-header": "Region"}}}}

    sent = RequestHeaders([tool]).of(modern("tools/call", name="deploy", arguments={"region": "eu"}))

    assert not any(name.startswith("mcp-param") for name in sent)


def test_after_the_handshake_session_and_version_go_along_and_nothing_else() -> None:
    headers = RequestHeaders()

    headers.of({"id": 1, "method": "initialize", "params": {}})
    headers.note_session("s-1")
    headers.note_answer("initialize", {"result": {"protocolVersion": "2025-11-25"}})

    expected = {"mcp-session-id": "s-1", "mcp-protocol-version": "2025-11-25"}
    assert headers.of({"id": 2, "method": "tools/call", "params": {"name": "x"}}) == expected
    assert headers.of({"id": 7, "result": {}}) == expected
    assert headers.of_stream() == expected


def test_what_a_probe_said_does_not_reach_the_handshake() -> None:
    headers = RequestHeaders()

    headers.of(modern("server/discover"))

    assert headers.of({"id": 2, "method": "initialize", "params": {}}) == {}


@pytest.mark.parametrize("session", ["", "two words", "line\nbreak", "é", "x" * 1_025])
def test_a_session_that_no_header_should_carry_is_none(session: str) -> None:
    headers = RequestHeaders()

    headers.note_session(session)

    assert headers.session is None


@pytest.mark.parametrize("version", ["2025-11-25\r\nX-Other: b", 7, None, "latest"])
def test_a_version_that_is_none_is_not_sent_back(version: object) -> None:
    headers = RequestHeaders()

    headers.of({"id": 1, "method": "initialize"})
    headers.note_answer("initialize", {"result": {"protocolVersion": version}})

    assert headers.of_stream() == {}
