"""`ProxyRuntime.browse`: one runtime lists, browses, hydrates and executes, and orders pages for prompt caches."""

from __future__ import annotations

import pytest
from hub_cases import caller
from proxy_cases import ISSUE, proxied
from relay_cases import failure_of
from test_gateway_browsing import listing, tool

from toolcrib_core import PathNotFound
from toolcrib_mcp.browse import BrowseResult
from toolcrib_mcp.browse.seen import BREAKPOINT
from toolcrib_mcp.errors import GatewayError

TOOLS = [tool(f"issue_{each}") for each in "abcd"]


def ids(page: BrowseResult) -> list[str]:
    """The names of the cards, which are shorter than their ids."""
    return [each.card.name for each in page.cards]


@pytest.mark.req("CT-12", "GW-3.1", "GW-9.3", "D4-0a", "D4-3.1c", "D4-3.1d")
async def test_a_runtime_browses_by_query_and_by_path() -> None:
    async with proxied({"github": listing(ISSUE)}) as case:
        found = await case.runtime.browse(query="open an issue")
        listed = await case.runtime.browse(path="/github")
        neither = await failure_of(case.runtime.browse(), GatewayError)
        nowhere = await failure_of(case.runtime.browse(path="/gitlab"), PathNotFound)

    assert ids(found) == ids(listed) == ["create_issue"]
    assert (neither.code, neither.details["path"]) == ("ARGS_INVALID", "")
    assert nowhere.details["path"] == "/gitlab"


@pytest.mark.req("CT-12", "GW-5.1", "GW-5.2", "GW-5.3", "D4-5b", "D4-5.1a", "D4-5.1e", "D4-5.2a")
async def test_with_cache_stable_what_was_seen_comes_first_then_the_marker_then_the_new() -> None:
    async with proxied({"github": listing(*TOOLS)}, cache_stable=True) as case:
        first = await case.runtime.browse(query="issue d", limit=1)
        second = await case.runtime.browse(query="issue", limit=4)
        third = await case.runtime.browse(query="issue b", limit=4)

    assert ids(first) == ["issue_d"]
    assert ids(second) == ["issue_d", BREAKPOINT, "issue_a", "issue_b", "issue_c"]
    assert ids(third) == ["issue_a", "issue_b", "issue_c", "issue_d"]
    assert second.cards[0] == first.cards[0]
    assert all(each.card.score is not None for each in third.cards)


@pytest.mark.req("CT-12", "GW-2.5", "D4-5a")
async def test_without_cache_stable_the_best_comes_first_and_there_is_no_marker() -> None:
    async with proxied({"github": listing(*TOOLS)}) as case:
        await case.runtime.browse(query="issue d", limit=1)
        page = await case.runtime.browse(query="issue d", limit=4)

    assert ids(page)[0] == "issue_d"
    assert BREAKPOINT not in ids(page)


@pytest.mark.req("CT-11", "CT-12", "GW-5.1", "D4-5.1b")
@pytest.mark.parametrize("by", ["hydrate", "execute"])
async def test_a_tool_that_was_hydrated_or_executed_comes_first(by: str) -> None:
    async with proxied({"github": listing(*TOOLS)}, cache_stable=True) as case:
        await getattr(case.runtime, by)("github:issue_d")
        page = await case.runtime.browse(path="/github")
        other = await case.runtime.browse(path="/github", caller=caller(conversation="c2"))

    assert ids(page) == ["issue_d", BREAKPOINT, "issue_a", "issue_b", "issue_c"]
    assert BREAKPOINT not in ids(other)


@pytest.mark.req("CT-11", "D4-0a")
async def test_a_client_of_the_proxy_that_hydrated_a_tool_has_seen_it_until_it_leaves() -> None:
    async with proxied({"github": listing(*TOOLS)}, cache_stable=True) as case:
        await case.call("tool_hydrate", {"tool_id": "github:issue_d"})
        await case.service.end(str(caller().conversation))
        forgotten = await case.runtime.browse(path="/github", caller=caller())
        await case.service.end(str(caller().conversation))
        await case.call("tool_hydrate", {"tool_id": "github:issue_d"})
        page = await case.runtime.browse(path="/github", caller=caller())

    assert BREAKPOINT not in ids(forgotten)
    assert ids(page)[:2] == ["issue_d", BREAKPOINT]


@pytest.mark.req("CT-12", "GW-5.5", "D4-5.5a", "D4-5.5b")
@pytest.mark.parametrize("tool_id", ["github:issue_d#00000000", "gitlab:issue_d", "issue", "a b", "", "github:same"])
async def test_an_id_that_cannot_be_hydrated_fails_as_such_and_changes_nothing(tool_id: str) -> None:
    same = [tool("same", _meta={"version": "1"}), tool("same", description="Another.", _meta={"version": "1"})]
    async with proxied({"github": listing(*TOOLS, *same)}, cache_stable=True) as case:
        error = await failure_of(case.runtime.hydrate(tool_id), GatewayError)
        page = await case.runtime.browse(path="/github")

    assert error.code == "HYDRATE_FAILED"
    assert error.details["cause"] in {"TOOL_NOT_FOUND", "HYDRATE_FAILED"}
    assert ids(page) == ["issue_a", "issue_b", "issue_c", "issue_d"]
