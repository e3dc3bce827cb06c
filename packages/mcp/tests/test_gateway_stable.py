"""Stable pages: what a client has seen comes first and never changes, so that its prompt cache holds."""

from __future__ import annotations

from typing import Any

import pytest
from gateway_cases import cards_of, gatewayed, modern
from hub_cases import caller
from hypothesis import given
from hypothesis import strategies as st
from proxy_cases import error_of
from scripted_servers import ScriptedServer
from test_gateway_browsing import listing, tool

from toolcrib_core import ChoiceCard, render_card
from toolcrib_mcp.browse.cards import PageCard
from toolcrib_mcp.browse.seen import BREAKPOINT, MAX_CLIENTS, MAX_SEEN, SeenCards
from toolcrib_mcp.gateway import GatewayBehaviour

STABLE = GatewayBehaviour(cache_stable=True)


def page_card(tool_id: str, description: str = "Does.", score: float | None = None) -> PageCard:
    card = ChoiceCard(id=tool_id, name=tool_id, description=description, namespace="a", score=score)
    return PageCard(card=card, line=render_card(card))


def ids(page: list[PageCard]) -> list[str]:
    return [each.card.id for each in page]


browses = st.lists(
    st.lists(
        st.builds(page_card, st.sampled_from("abcdefgh"), st.sampled_from(["One.", "Two."]), st.floats(0, 1)),
        max_size=6,
        unique_by=lambda each: each.card.id,
    ),
    max_size=12,
)


@pytest.mark.req(
    "GW-5.1", "GW-5.2", "GW-5.3", "GW-7.7", "D4-5.1d", "D4-5.1f", "D4-5.1g", "D4-5.2a", "D4-5.3a", "D4-5.3b", "D4-5.3c"
)
@given(pages=browses)
def test_over_any_browses_what_was_seen_comes_first_frozen_and_nothing_is_dropped(pages: list[list[PageCard]]) -> None:
    seen, first = SeenCards(), dict[str, PageCard]()

    for page in pages:
        shown = seen.arrange("client", page)

        known = sorted(each.card.id for each in page if each.card.id in first)
        new = sorted(each.card.id for each in page if each.card.id not in first)
        assert ids(shown) == [*known, *([BREAKPOINT] if known and new else []), *new]
        assert shown[: len(known)] == [first[each] for each in known]
        assert all(each.card.score is not None for each in shown if each.card.id != BREAKPOINT)
        first |= {each.card.id: each for each in page if each.card.id not in first}


@pytest.mark.req("GW-5.1", "GW-5.3", "D4-5b", "D4-5.3a")
async def test_the_prefix_of_a_page_is_the_same_to_the_byte_whatever_is_asked_and_whatever_changes() -> None:
    server = listing(tool("issue_b"), tool("issue_d"))
    async with gatewayed({"github": server}, behaviour=STABLE) as case:
        first = [(await case.browse(query=f"issue {each}"))["content"][0]["text"] for each in "bd"]
        changed = [tool(each, description="Quite new.") for each in ("issue_b", "issue_d")]
        case.hub.catalog.update("github", [tool("issue_a"), *changed, tool("issue_c")])
        second = (await case.browse(query="issue c a d", limit=8))["content"][0]["text"]
        third = (await case.browse(query="d issue"))["content"][0]["text"]

    assert BREAKPOINT not in "".join(first)
    # Each of the first pages ends early, which it says at its end: what stays the same is the card before.
    cards = [each.splitlines()[0] for each in first]
    notes = [each.splitlines()[1:] for each in first]
    assert notes == [["1 of 2 matches; the others fit less, see them with `limit`."]] * 2
    assert second.startswith("".join(f"{each}\n" for each in (*cards, BREAKPOINT)))
    assert "issue_a" in second.partition(BREAKPOINT)[2]
    assert third.splitlines() == sorted({*second.splitlines()} - {BREAKPOINT})
    assert "Quite new." not in second + third


@pytest.mark.req("GW-7.7")
async def test_the_best_new_card_is_never_dropped_and_the_marker_takes_no_slot() -> None:
    # In the reference the marker takes a slot, and the first hit is dropped and counts as seen.
    tools = [tool(f"search_{number}") for number in range(5)] + [tool("search_special")]
    async with gatewayed({"github": listing(*tools)}, behaviour=STABLE) as case:
        await case.browse(query="search", limit=5)
        page = await case.browse(query="search special", limit=5)

    shown = [card["id"] for card in cards_of(page)["cards"]]
    assert any("search_special" in each for each in shown)
    assert len([each for each in shown if each != BREAKPOINT]) == 5


@pytest.mark.req("GW-5.1")
async def test_notes_go_to_the_end_of_a_stable_page() -> None:
    tools = [tool(f"search_{number}") for number in range(9)]
    async with gatewayed({"github": listing(*tools)}, behaviour=STABLE) as case:
        page = await case.browse(query="search", limit=5)

    assert page["content"][0]["text"].splitlines()[-1] == "5 of 9 matches."


@pytest.mark.req("GW-5.1", "GW-8.5", "D4-5.1a")
async def test_each_client_has_its_own_memory_and_one_that_leaves_is_forgotten() -> None:
    server = listing(tool("issue_a"))
    async with gatewayed({"github": server}, behaviour=STABLE) as case:

        async def browse(by: Any) -> str:
            return str((await case.browse(query="issue", by=by))["content"][0]["text"])

        one, two, alone = caller(conversation="c1"), caller(conversation="c2"), modern(principal="anna")
        await browse(one)
        await browse(alone)
        case.hub.catalog.update("github", [tool("issue_a", description="Quite new.")])
        texts = [await browse(each) for each in (one, two, alone, modern(principal="bert"))]
        await case.service.end("c1")
        again = await browse(one)

    assert ["Quite new." in each for each in texts] == [False, True, False, True]
    assert "Quite new." in again


@pytest.mark.req("GW-5.5")
@pytest.mark.parametrize("tool_id", ["github:issue_x#00000000", "nonsense"])
async def test_a_call_that_fails_changes_nothing_of_what_was_seen(tool_id: str) -> None:
    async with gatewayed({"github": listing(tool("issue_a", "title"))}, behaviour=STABLE) as case:
        first = await case.browse(query="issue")
        unknown = error_of(await case.execute(tool_id))
        invalid = error_of(await case.execute("github__issue_a"))
        second = await case.browse(query="issue")

    assert (unknown["error"], invalid["error"]) == ("TOOL_NOT_FOUND", "ARGS_INVALID")
    assert first == second


@pytest.mark.req("CT-11", "GW-5.1", "D4-4.3b", "D4-5.1b")
@pytest.mark.parametrize("used", ["executed", "refused", "hydrated"])
async def test_a_tool_that_was_hydrated_or_executed_counts_as_seen(used: str) -> None:
    async with gatewayed({"github": listing(*map(tool, ("issue_a", "issue_b", "issue_z")))}, behaviour=STABLE) as case:
        if used == "hydrated":
            await case.browse(path="github:issue_z", detail="full")
        else:
            # The schema of the tool was hydrated even where the arguments do not fit it.
            await case.call("tool_execute", {"tool_id": "github:issue_z", "args": {} if used == "executed" else [1]})
            await case.execute("github:issue_z", **({} if used == "executed" else {"x": {"$artifact": "art_none"}}))
        page = cards_of(await case.browse(path="/github"))["cards"]
        again = cards_of(await case.browse(path="/github"))["cards"]
        others = cards_of(await case.browse(path="/github", by=caller(conversation="another")))["cards"]

    names = [each["name"] for each in page]
    assert names == ["issue_z", BREAKPOINT, "issue_a", "issue_b"]
    assert [each["name"] for each in again] == [each["name"] for each in others] == ["issue_a", "issue_b", "issue_z"]


@pytest.mark.req("CT-11", "GW-5.2", "D4-5.1g")
async def test_a_tool_that_was_executed_is_frozen_with_its_score_when_a_page_shows_it_first() -> None:
    async with gatewayed({"github": listing(tool("issue_a"), tool("read_b"))}, behaviour=STABLE) as case:
        await case.execute("github:issue_a")
        first = cards_of(await case.browse(query="issue"))["cards"]
        case.hub.catalog.update("github", [tool("issue_a", description="Quite new."), tool("read_b")])
        second = cards_of(await case.browse(query="read an issue"))["cards"]

    assert first[0]["score"] > 0
    assert first[0] == second[0]


@pytest.mark.req("CT-11", "GW-5.5", "D4-5.5a")
async def test_an_id_that_means_no_tool_does_not_count_as_seen() -> None:
    async with gatewayed({"github": listing(tool("issue_a"), tool("issue_b"))}, behaviour=STABLE) as case:
        await case.execute("github:issue_a#00000000")
        await case.browse(path="github:issue_c", detail="full")
        page = cards_of(await case.browse(path="/github"))["cards"]

    assert BREAKPOINT not in [each["id"] for each in page]


@pytest.mark.req("GW-5.1", "D4-5.1c")
async def test_pages_by_query_and_by_path_share_what_was_seen() -> None:
    async with gatewayed({"github": listing(*map(tool, ("issue_a", "issue_z")))}, behaviour=STABLE) as case:
        await case.browse(query="issue z", limit=1)
        by_path = cards_of(await case.browse(path="/github"))["cards"]
        await case.browse(path="/", by=caller(conversation="c2"))
        await case.browse(path="/github/issue_z", by=caller(conversation="c2"))
        by_query = cards_of(await case.browse(query="issue", by=caller(conversation="c2")))["cards"]

    for page in (by_path, by_query):
        assert [each["name"] for each in page] == ["issue_z", BREAKPOINT, "issue_a"]


@pytest.mark.req("GW-5.1", "GW-5.2", "D4-5.2b")
async def test_the_ranks_of_a_stable_page_are_in_its_scores() -> None:
    tools = [tool(f"issue_{each}") for each in "abcz"]
    async with gatewayed({"github": listing(*tools)}, behaviour=STABLE) as case:
        page = cards_of(await case.browse(query="issue z", limit=4))["cards"]
    async with gatewayed({"github": listing(*tools)}) as case:
        ranked = cards_of(await case.browse(query="issue z", limit=4))["cards"]

    assert [each["name"] for each in page] == ["issue_a", "issue_b", "issue_c", "issue_z"]
    assert sorted(page, key=lambda each: (-each["score"], each["id"])) == ranked
    assert ranked[0]["name"] == "issue_z"


@pytest.mark.req("GW-5.1", "GW-5.4", "D4-5.1e", "D4-5.4a")
async def test_the_marker_is_a_card_of_the_kind_internal() -> None:
    async with gatewayed({"github": listing(*map(tool, ("issue_a", "issue_z")))}, behaviour=STABLE) as case:
        await case.browse(path="/github/issue_z")
        page = await case.gateway.browse(path="/github", caller=caller())

    marker = page.cards[1]
    assert (marker.card.id, marker.card.kind) == ("__cache_breakpoint__", "internal")
    assert page.text.splitlines()[1] == marker.line == "__cache_breakpoint__"
    assert ChoiceCard.model_validate(marker.to_json()) == marker.card


@pytest.mark.req("GW-5.4", "D4-5.4b")
async def test_the_list_of_tools_never_has_the_marker() -> None:
    async with gatewayed({"github": ScriptedServer()}, behaviour=STABLE) as case:
        await case.browse(path="/")
        listed = await case.ask("tools/list")

    assert BREAKPOINT not in str(listed)


def test_the_memory_is_bounded_in_clients_and_in_cards() -> None:
    seen = SeenCards()
    seen.arrange("first", [page_card("a", "Old.")])
    for number in range(MAX_CLIENTS):
        seen.arrange(f"client {number}", [])
    seen.arrange("second", [page_card("a", "Old.")])
    for number in range(MAX_SEEN):
        seen.arrange("second", [page_card(f"x{number}")])

    (forgotten,) = seen.arrange("first", [page_card("a", "New.")])
    (oldest,) = seen.arrange("second", [page_card("a", "New.")])

    assert forgotten.card.description == oldest.card.description == "New."
