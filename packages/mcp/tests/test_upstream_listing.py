from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_servers import HANDSHAKE, ScriptedServer

from toolcrib_core import ToolErrorCategory
from toolcrib_mcp.errors import ListingIncomplete, ResultTooLarge, UpstreamFailed, UpstreamMalformed, UpstreamTimeout
from toolcrib_mcp.rpc import Connection, RpcError
from toolcrib_mcp.upstreams.eras import ClientFace, Era
from toolcrib_mcp.upstreams.listing import Listing, ListingCaps, ListKind, list_all
from toolcrib_mcp.upstreams.session import open_session
from toolcrib_runtime.clock import SYSTEM_CLOCK

pytestmark = pytest.mark.req("GW-6.3")


async def listed(
    server: ScriptedServer,
    kind: ListKind = ListKind.TOOLS,
    *,
    seconds: float = 5.0,
    caps: ListingCaps = ListingCaps(),  # noqa: B008  # frozen
) -> Listing:
    wire = await server.connect()
    connection = Connection(wire)
    running = asyncio.create_task(connection.run())
    try:
        deadline = SYSTEM_CLOCK.monotonic() + 5
        session = await open_session(connection, face=ClientFace(), deadline=deadline, era=Era.HANDSHAKE)
        return await list_all(session, kind, deadline=SYSTEM_CLOCK.monotonic() + seconds, caps=caps)
    finally:
        await wire.aclose()
        await running


def pages(*entries: list[Any], kind: ListKind = ListKind.TOOLS) -> ScriptedServer:
    """A server with these pages; each cursor is the number of the page that comes next."""

    def page(params: dict[str, Any]) -> dict[str, Any]:
        number = int(params.get("cursor", 0))
        more = {"nextCursor": str(number + 1)} if number + 1 < len(entries) else {}
        return {kind.value: entries[number], **more}

    return ScriptedServer(**{kind.method: page})


@given(st.lists(st.lists(st.integers(), max_size=5), min_size=1, max_size=8))
def test_every_entry_of_every_page_is_read_once_and_in_order(entries: list[list[int]]) -> None:
    listing = asyncio.run(listed(pages(*entries)))

    assert listing.items == tuple(entry for page in entries for entry in page)
    assert listing.pages == len(entries)


@pytest.mark.parametrize("kind", ListKind)
async def test_every_kind_of_list_can_be_read(kind: ListKind) -> None:
    listing = await listed(pages(["a"], ["b"], kind=kind), kind)

    assert listing == Listing(kind=kind, items=("a", "b"), pages=2)


async def test_entries_are_handed_on_whatever_they_are() -> None:
    entries = [{"name": "a", "unheardOf": 1}, None, "text", {"name": 7}]

    listing = await listed(pages(entries))

    assert list(listing.items) == entries


async def test_an_empty_cursor_is_the_end() -> None:
    listing = await listed(ScriptedServer(**{"tools/list": {"tools": [1], "nextCursor": ""}}))

    assert listing.pages == 1


async def test_a_server_without_such_a_list_has_an_empty_one() -> None:
    listing = await listed(ScriptedServer(), ListKind.PROMPTS)

    assert listing == Listing(kind=ListKind.PROMPTS, items=(), pages=0)


async def test_a_server_that_announces_a_list_and_does_not_know_the_method_has_failed() -> None:
    server = ScriptedServer(**{"tools/list": RpcError(-32601, "Method not found")})

    with pytest.raises(UpstreamFailed):
        await listed(server)


async def test_a_failure_is_never_an_empty_list() -> None:
    server = ScriptedServer(**{"initialize": {**HANDSHAKE, "capabilities": {}}, "tools/list": RpcError(-32603, "boom")})

    with pytest.raises(UpstreamFailed):
        await listed(server)


@pytest.mark.fault("F8")
async def test_a_cursor_that_leads_back_ends_the_reading_with_what_was_read() -> None:
    following = {None: "a", "a": "b", "b": "a"}
    server = ScriptedServer(
        **{
            "tools/list": lambda params: {
                "tools": [params.get("cursor")],
                "nextCursor": following[params.get("cursor")],
            }
        }
    )

    with pytest.raises(ListingIncomplete) as stopped:
        await listed(server)

    assert stopped.value.partial.items == (None, "a", "b")
    assert stopped.value.failure is None
    assert stopped.value.details == {"list": "tools", "pages": 3, "items": 3}


@pytest.mark.fault("F8")
async def test_a_server_that_pays_no_heed_to_cursors_has_its_page_counted_once() -> None:
    server = ScriptedServer(**{"tools/list": {"tools": ["a", "b"], "nextCursor": "again"}})

    with pytest.raises(ListingIncomplete) as stopped:
        await listed(server)

    assert stopped.value.partial.items == ("a", "b")


@pytest.mark.fault("F8")
async def test_pages_without_end_are_read_up_to_the_cap() -> None:
    server = ScriptedServer(
        **{"tools/list": lambda params: {"tools": [], "nextCursor": f"{params.get('cursor', '')}x"}}
    )

    with pytest.raises(ListingIncomplete, match="more than 7 pages") as stopped:
        await listed(server, caps=ListingCaps(max_pages=7))

    assert stopped.value.partial.pages == 7


@pytest.mark.fault("F8")
@pytest.mark.parametrize(
    ("caps", "over"), [(ListingCaps(max_items=3), "3 entries"), (ListingCaps(max_bytes=24), "24 bytes")]
)
async def test_a_list_that_is_too_large_is_read_up_to_the_page_that_went_over(caps: ListingCaps, over: str) -> None:
    with pytest.raises(ListingIncomplete, match=f"more than {over}") as stopped:
        await listed(pages(["a", "b"], ["c", "d"]), caps=caps)

    assert stopped.value.partial.items == ("a", "b")


@pytest.mark.fault("F8")
async def test_a_first_page_that_is_too_large_leaves_nothing_to_read() -> None:
    with pytest.raises(ResultTooLarge):
        await listed(pages(["a", "b"]), caps=ListingCaps(max_items=1))


async def test_a_later_page_that_fails_says_so_with_what_was_read_before() -> None:
    answers = iter([{"tools": ["a"], "nextCursor": "1"}, RpcError(-32603, "boom")])
    server = ScriptedServer(**{"tools/list": lambda _: next(answers)})

    with pytest.raises(ListingIncomplete) as stopped:
        await listed(server)

    assert stopped.value.partial.items == ("a",)
    assert isinstance(stopped.value.failure, UpstreamFailed)


async def test_a_later_page_that_hangs_ends_with_the_time_of_the_whole_list() -> None:
    answers = iter([{"tools": ["a"], "nextCursor": "1"}, None])
    server = ScriptedServer(**{"tools/list": lambda _: next(answers)})

    async with asyncio.timeout(5):
        with pytest.raises(ListingIncomplete) as stopped:
            await listed(server, seconds=0.1)

    assert isinstance(stopped.value.failure, UpstreamTimeout)
    assert stopped.value.category is ToolErrorCategory.TIMEOUT
    assert stopped.value.retryable


@pytest.mark.fault("F7")
@pytest.mark.parametrize("page", [{}, {"tools": None}, {"tools": {"name": "a"}}])
async def test_a_page_without_entries_is_malformed(page: dict[str, Any]) -> None:
    with pytest.raises(UpstreamMalformed):
        await listed(ScriptedServer(**{"tools/list": page}))


@pytest.mark.fault("F7")
async def test_a_cursor_that_is_no_text_is_malformed_and_keeps_the_page() -> None:
    with pytest.raises(ListingIncomplete) as stopped:
        await listed(ScriptedServer(**{"tools/list": {"tools": ["a"], "nextCursor": 7}}))

    assert stopped.value.partial.items == ("a",)
    assert isinstance(stopped.value.failure, UpstreamMalformed)


@pytest.mark.parametrize("name", ["max_pages", "max_items", "max_bytes"])
def test_a_cap_that_is_no_positive_number_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ListingCaps(**{name: 0})
