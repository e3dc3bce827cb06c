"""The parts of the relay that need no server: pages, templates, names, faces, failures, params."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_mcp.errors import ListingIncomplete, ResultTooLarge, UpstreamFailed, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.outward import outward
from toolcrib_mcp.relay import rpc_error
from toolcrib_mcp.relay.faces import MAX_INSTRUCTIONS, instructions_of, merged_capabilities
from toolcrib_mcp.relay.merging import Merged
from toolcrib_mcp.relay.meta import onward_params, with_meta
from toolcrib_mcp.relay.pages import MAX_KEPT, Pages
from toolcrib_mcp.relay.patience import Patience
from toolcrib_mcp.relay.resources import once
from toolcrib_mcp.relay.routes import PromptNames
from toolcrib_mcp.relay.uri_templates import MAX_TEMPLATE, fits
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import Agreement, Era, Listing, ListKind
from toolcrib_runtime.testing import FakeClock


def agreed(instructions: str | None = None, **capabilities: Any) -> Agreement:
    return Agreement(
        era=Era.MODERN, protocol_version="2026-07-28", capabilities=capabilities, instructions=instructions
    )


@pytest.mark.parametrize(
    ("template", "uri", "does"),
    [
        ("file:///{path}", "file:///a", True),
        ("file:///{path}", "file:///a/b", False),
        ("file:///{+path}", "file:///a/b", True),
        ("file:///{path}", "http:///a", False),
        ("a:{x}:b{y}c", "a:1:b2c", True),
        ("a:{x}:b{y}c", "a:1:2c", False),
        ("a:{x}/b/{y}", "a:1/2/b/3", False),
        ("a{x}a", "a", False),
        ("db://{table}{?limit,page}", "db://users?limit=5", True),
        ("db://{table}", "db://{table}", True),
        ("plain", "plain", True),
        ("plain", "other", False),
        ("{" * (MAX_TEMPLATE + 1), "x", False),
    ],
)
def test_a_uri_fits_the_templates_it_may_come_from(template: str, uri: str, *, does: bool) -> None:
    assert fits(template, uri) is does


@given(template=st.text("ab/{}+?"), uri=st.text("ab/"))
def test_no_template_breaks_the_search(template: str, uri: str) -> None:
    assert fits(template, uri) in {True, False}


@given(st.integers(0, 40), st.integers(1, 7))
def test_pages_are_the_whole_list_in_order(count: int, size: int) -> None:
    pages = Pages(size=size)
    items = list(range(count))

    page = pages.first("prompts", items, meta={"m": 1})
    read = list(page["prompts"])
    while "nextCursor" in page:
        assert page["_meta"] == {"m": 1}
        page = pages.following("prompts", page["nextCursor"]) or {}
        read += page["prompts"]

    assert read == items


def test_a_cursor_is_good_for_its_own_list_only() -> None:
    pages = Pages(size=1)
    token = pages.first("prompts", [1, 2], meta={})["nextCursor"].partition(".")[0]

    assert pages.following("prompts", f"{token}.1") == {"prompts": [2]}
    for cursor in (f"{token}.0", f"{token}.2", f"{token}.x", f"{token}.{10**30}", token, "", "no.1", None, 5, ["x"]):
        with pytest.raises(RpcError):
            pages.following("prompts", cursor)
    assert pages.following("tools", f"{token}.1") is None
    with pytest.raises(RpcError):
        pages.first("tools", [1, 2], meta={}, cursor=f"{token}.1")


def test_lists_that_are_not_read_on_are_forgotten() -> None:
    pages = Pages(size=1)
    cursors = [pages.first("prompts", [each, -1], meta={})["nextCursor"] for each in range(MAX_KEPT + 1)]

    assert pages.following("prompts", cursors[-1]) == {"prompts": [-1]}
    assert pages.following("prompts", cursors[0]) is None


@pytest.mark.req("GW-9.2")
def test_a_cursor_leads_on_at_another_replica_that_has_the_same_entries() -> None:
    entries = [{"name": name} for name in "abc"]
    one, other = Pages(size=2), Pages(size=2)
    cursor = one.first("prompts", entries, meta={})["nextCursor"]

    assert other.following("prompts", cursor) is None
    assert other.first("prompts", entries, meta={}, cursor=cursor) == one.following("prompts", cursor)
    assert other.first("prompts", entries, meta={})["nextCursor"] == cursor
    with pytest.raises(RpcError):
        other.first("prompts", [*entries, {"name": "d"}], meta={}, cursor=cursor)
    with pytest.raises(RpcError):
        other.first("prompts", entries[:1], meta={}, cursor=cursor)


def test_the_longest_namespace_that_fits_is_meant() -> None:
    names = PromptNames({"first": "a", "second": "a__b"})

    assert names.inward("a__b__c") == ("second", "c")
    assert names.inward("a__c") == ("first", "c")
    assert names.inward("c") is None
    assert names.outward("first", {"name": "x", "novel": 1}) == {"name": "a__x", "novel": 1}
    assert names.outward("first", {"no": "name"}) == {"no": "name"}
    assert names.outward("first", 5) == 5


def test_what_has_no_uri_is_kept_and_what_is_listed_twice_by_one_server_too() -> None:
    items, shadowed = once(Merged(by_server={"a": ({"uri": "x"}, {"uri": "x"}, 5), "b": ({"uri": "x"}, {"no": 1})}))

    assert items == [{"uri": "x"}, {"uri": "x"}, 5, {"no": 1}]
    assert shadowed == [{"uri": "x", "server": "b", "servedBy": "a"}]


def test_capabilities_of_several_are_added_up() -> None:
    merged = merged_capabilities(
        {"a": agreed(tools={}, resources={"subscribe": True}), "b": agreed(tools={"listChanged": True}, logging={})},
        logs={"a"},
    )

    assert merged == {"tools": {"listChanged": True}, "resources": {"subscribe": True}}


def test_a_server_that_says_nothing_may_do_everything() -> None:
    merged = merged_capabilities({"a": agreed(tools={}), "b": UpstreamUnavailable("Gone.")}, logs={"b"})

    assert merged == {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
        "logging": {},
    }


def test_instructions_of_several_are_named_and_bounded() -> None:
    long = {f"server-{number}": agreed("x" * 5_000) for number in range(40)}

    text = instructions_of(long)

    assert text is not None
    assert len(text) <= MAX_INSTRUCTIONS
    assert text.startswith("40 servers: server-0, ")
    assert instructions_of({"a": agreed("  "), "b": UpstreamUnavailable("Gone.")}) is None


def test_the_error_of_a_server_is_its_own() -> None:
    error = rpc_error(UpstreamFailed("It failed.", rpc_code=7, rpc_message="So.", rpc_data=[1]))

    assert (error.code, error.message, error.data) == (7, "So.", [1])


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize(
    ("failure", "code", "outward"),
    [
        (UpstreamTimeout("Late."), -32001, "UPSTREAM_TIMEOUT"),
        (UpstreamUnavailable("Gone."), -32000, "UPSTREAM_UNAVAILABLE"),
        (ResultTooLarge("Large."), -32603, "RESULT_TOO_LARGE"),
        (ToolError("No.", category=ToolErrorCategory.VALIDATION, code="x.y"), -32602, "ARGS_INVALID"),
    ],
)
def test_every_failure_of_ours_says_what_it_is(failure: ToolError, code: int, outward: str) -> None:
    error = rpc_error(failure)

    assert error.code == code
    path = {"path": ""} if outward == "ARGS_INVALID" else {}
    assert error.data == {"error": outward, "message": failure.message, **path, "retryable": failure.retryable}


def test_what_is_for_the_operator_stays_with_the_operator() -> None:
    inner = UpstreamUnavailable("Gone.", details={"stderr": "s", "status": 3})
    failure = UpstreamUnavailable("Resting.", details={"lastFailure": inner.to_dict(), "all": [{"noise": 1, "a": 2}]})

    told = outward(failure)

    assert told["details"]["lastFailure"]["details"] == {"status": 3}
    assert told["details"]["all"] == [{"a": 2}]
    assert "details" not in outward(UpstreamUnavailable("Gone.", details={"stderr": "s"}))


async def test_the_time_of_a_call_that_has_ended_is_over() -> None:
    clock = FakeClock()
    patience = Patience(5, clock=clock)

    async def answer() -> str:
        return "done"

    assert await patience.run(answer(), method="m", server="s") == "done"
    with patience.standing_still():
        pass
    await clock.advance(10)


async def test_a_caller_that_leaves_when_time_is_over_has_left() -> None:
    clock = FakeClock()
    patience = Patience(5, clock=clock)
    began = asyncio.Event()

    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    call = asyncio.create_task(patience.run(hang(), method="m", server="s"))
    await began.wait()
    patience._end(lambda: None)
    call.cancel()
    await asyncio.wait([call])

    assert call.cancelled()


def test_a_list_that_is_not_whole_is_served_and_named() -> None:
    partial = Listing(kind=ListKind.PROMPTS, items=(1,), pages=1)
    merged = Merged(by_server={"a": (1,)}, failures={"a": ListingIncomplete("Not whole.", partial=partial)})

    merged.check()

    assert merged.unavailable[0]["server"] == "a"


def test_one_failure_alone_is_raised_as_it_is() -> None:
    failure = UpstreamTimeout("Late.")

    with pytest.raises(UpstreamTimeout) as raised:
        Merged(failures={"a": failure}).check()

    assert raised.value is failure


@pytest.mark.parametrize("params", [{}, {"a": 1}, {"_meta": 5}, {"_meta": {"x": 1}}])
def test_params_with_nothing_to_take_out_are_not_copied(params: dict[str, Any]) -> None:
    assert onward_params(params) is params


def test_what_a_client_says_about_itself_stays_behind() -> None:
    meta = {"io.modelcontextprotocol/clientInfo": {}, "io.modelcontextprotocol/novel": 1, "io.example/kept": 2}

    assert onward_params({"a": 1, "_meta": meta}) == {"a": 1, "_meta": {"io.example/kept": 2}}
    assert onward_params({"a": 1, "_meta": {"io.modelcontextprotocol/x": 1}}) == {"a": 1}
    assert with_meta({"_meta": 5}, "k", "v") == {"_meta": {"k": "v"}}
