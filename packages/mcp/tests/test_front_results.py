"""Results in the form that the era of the client asks for."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.front.results import handshake_result, modern_result
from toolcrib_mcp.upstreams.eras import META_SERVER, Era

INFO = {"name": "fixture", "version": "1"}
STAMP = {META_SERVER: INFO}

pytestmark = pytest.mark.req("GW-6.6")


@pytest.mark.parametrize(
    ("result", "completed"),
    [
        ({"a": 1}, {"a": 1, "resultType": "complete", "_meta": STAMP}),
        (
            {"_meta": {"k": 1}, "resultType": "novel"},
            {"_meta": {"k": 1, **STAMP}, "resultType": "novel"},
        ),
        (
            {"_meta": {META_SERVER: {"name": "theirs"}}},
            {"_meta": {META_SERVER: {"name": "theirs"}}, "resultType": "complete"},
        ),
        ({"_meta": {META_SERVER: None}}, {"_meta": STAMP, "resultType": "complete"}),
        ({"_meta": [1]}, {"_meta": [1], "resultType": "complete"}),
    ],
)
def test_a_modern_result_is_completed_and_keeps_what_is_there(
    result: dict[str, Any], completed: dict[str, Any]
) -> None:
    assert modern_result("tools/call", result, info=INFO) == completed


def test_a_list_without_a_word_about_it_may_not_be_kept() -> None:
    result = modern_result("tools/list", {"tools": []}, info=INFO)

    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


def test_what_a_server_says_about_keeping_is_kept() -> None:
    result = modern_result("tools/list", {"tools": [], "ttlMs": 9, "cacheScope": "public"}, info=INFO)

    assert (result["ttlMs"], result["cacheScope"]) == (9, "public")


def test_what_asks_for_input_is_no_list() -> None:
    result = modern_result("resources/read", {"resultType": "input_required"}, info=INFO)

    assert "ttlMs" not in result


@pytest.mark.parametrize(
    ("result", "plain"),
    [
        ({"a": 1, "_meta": {"k": 1}}, {"a": 1, "_meta": {"k": 1}}),
        ({"a": 1, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}, {"a": 1}),
        ({"a": 1, "resultType": "complete", "_meta": STAMP}, {"a": 1}),
        ({"a": 1, "_meta": {"k": 1, **STAMP}}, {"a": 1, "_meta": {"k": 1}}),
        ({"_meta": [META_SERVER]}, {"_meta": [META_SERVER]}),
        ({"structuredContent": {"a": 1}}, {"structuredContent": {"a": 1}}),
        ({"structuredContent": None}, {"structuredContent": None}),
        ({"structuredContent": "sun", "resultType": "complete"}, {"structuredContent": {"result": "sun"}}),
        ({"structuredContent": [1]}, {"structuredContent": {"result": [1]}}),
        ({"tools": [{"outputSchema": {"type": "object"}}, {}]}, {"tools": [{"outputSchema": {"type": "object"}}, {}]}),
        (
            {"tools": [{"name": "a", "outputSchema": {"type": "string"}}, {"name": "b"}], "ttlMs": 0},
            {
                "tools": [
                    {
                        "name": "a",
                        "outputSchema": {
                            "type": "object",
                            "properties": {"result": {"type": "string"}},
                            "required": ["result"],
                        },
                    },
                    {"name": "b"},
                ]
            },
        ),
    ],
)
def test_a_handshake_result_has_nothing_that_only_modern_clients_know(
    result: dict[str, Any], plain: dict[str, Any]
) -> None:
    assert handshake_result(result) == plain


@pytest.mark.parametrize("meta", [None, [], {}, {"progressToken": True}, {"progressToken": 1.5}])
def test_without_a_token_nobody_is_told_of_progress(meta: object) -> None:
    caller = Caller(era=Era.MODERN, protocol_version="2026-07-28")
    channel: Any = None

    request = Request(method="tools/call", params={"_meta": meta}, caller=caller, channel=channel)

    assert request.on_progress is None
