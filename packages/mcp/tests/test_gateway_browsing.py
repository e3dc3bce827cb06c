"""`tool_browse`: by words and by path, within its budget, and never an empty page in place of a failure."""

from __future__ import annotations

import asyncio
import json
import string
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from gateway_cases import GatewayCase, cards_of, gatewayed, modern
from hub_cases import Heard, caller, eventually
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proxy_cases import ISSUE, ISSUE_ID, error_of
from relay_cases import failure_of
from scripted_servers import HANDSHAKE, ScriptedServer

from toolcrib_core import (
    CARD_TARGET_TOKENS,
    CardOverBudget,
    ChoiceCard,
    TreeNode,
    card_tokens,
    count_tokens,
    order_cards,
)
from toolcrib_mcp.browse.browser import Browser
from toolcrib_mcp.browse.cards import node_card, tool_card
from toolcrib_mcp.catalog import Catalog
from toolcrib_mcp.errors import GatewayError, UpstreamUnavailable
from toolcrib_mcp.gateway import GatewayBehaviour
from toolcrib_mcp.hub.status import is_running
from toolcrib_mcp.upstreams import Era

NAMES = ("create_issue", "list_issues", "close_issue", "merge_pull", "read_file", "write_file", "send_mail", "search")


def tool(name: str, *needed: str, **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {each: {"type": "string"} for each in needed}, "required": list(needed)}
    return {"name": name, "description": f"Does {name.replace('_', ' ')}.", "inputSchema": schema, **fields}


def listing(*tools: dict[str, Any]) -> ScriptedServer:
    return ScriptedServer(**{"tools/list": {"tools": list(tools)}})


def lines_of(result: dict[str, Any]) -> list[str]:
    assert "isError" not in result, result
    return str(result["content"][0]["text"]).splitlines()


@pytest.mark.req("GW-3.1", "GW-7.1", "D4-2.1c", "D4-3.1a")
async def test_a_request_in_words_finds_tools_with_what_they_need() -> None:
    async with gatewayed({"github": listing(ISSUE, tool("merge_pull", "number"))}) as case:
        lines = lines_of(await case.browse(query="open a new issue"))

    assert lines[0] == f"{ISSUE_ID} — Creates an issue. It has a title. (needs title)"


@pytest.mark.req("GW-7.1", "D4-2.1k", "D4-4.2b")
@pytest.mark.req("CL-1")
async def test_a_page_is_text_alone_for_a_model_and_its_cards_as_json_are_meta_for_programs() -> None:
    async with gatewayed({"github": listing(ISSUE)}) as case:
        known = await case.browse(query="issue", by=caller(protocol_version="2025-06-18"))
        older = await case.browse(query="issue", by=caller(protocol_version="2025-03-26"))
        newest = await case.browse(query="issue", by=modern())

    assert known["content"] == older["content"] == newest["content"]
    assert known.keys() == older.keys() == newest.keys() == {"content", "_meta"}
    (card,) = cards_of(known)["cards"]
    assert cards_of(newest) == cards_of(older) == cards_of(known)
    assert card["id"] == ISSUE_ID
    assert card.keys() <= set(ChoiceCard.model_fields)
    assert card["score"] > 0


@pytest.mark.req("GW-3.1", "GW-3.4", "GW-6.8", "D4-3.1c", "D4-3.1d", "D4-3.4a", "D4-3.4b")
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({}, ""),
        ({"query": "x", "path": "/github"}, "/github"),
        ({"query": 3}, ""),
        ({"path": ["/"]}, ""),
        ({"query": "x", "limit": 0}, ""),
        ({"path": "/", "limit": 51}, "/"),
        ({"path": "/", "top_k": 3}, "/"),
        ({"path": "/", "detail": "all"}, "/"),
    ],
)
async def test_anything_but_one_of_query_and_path_is_told_so_with_the_path(arguments: Any, path: str) -> None:
    # The reference answers a query that is no text with an error of the SDK in plain words.
    async with gatewayed({"github": listing(ISSUE)}) as case:
        error = error_of(await case.call("tool_browse", arguments))

    assert error["error"] == "ARGS_INVALID"
    assert error["path"] == path
    assert error["retryable"] is False


@pytest.mark.req("GW-3.1")
async def test_an_argument_that_is_null_counts_as_not_given() -> None:
    async with gatewayed({"github": listing(ISSUE)}) as case:
        lines = lines_of(await case.browse(query="issue", path=None, limit=None, detail=None))

    assert lines[0].startswith(ISSUE_ID)


@pytest.mark.req("GW-3.1")
async def test_an_empty_query_is_no_query() -> None:
    # The reference gives the first tools of the alphabet for it, with a score of zero.
    async with gatewayed({"github": listing(ISSUE)}) as case:
        result = await case.browse(query="")

    assert ISSUE_ID not in result["content"][0]["text"]


@pytest.mark.req("GW-3.2", "GW-3.4", "GW-6.8", "D4-3.2i", "D4-3.4a", "D4-3.4c")
@pytest.mark.parametrize("path", ["", "github", "/github/", "//", "/GitHub", "/*/x", "/3d", "/a b", "/github/*/x"])
async def test_what_is_no_path_is_invalid_and_named(path: str) -> None:
    async with gatewayed({"github": listing(ISSUE)}) as case:
        error = await case.failed("tool_browse", path=path)

    assert error["error"] == "PATH_INVALID"
    assert error["path"] == path
    assert "message" in error


@pytest.mark.req("GW-3.4", "GW-7.6", "D4-3.4d", "D4-3.4e")
async def test_a_path_that_leads_nowhere_is_answered_with_the_nearest() -> None:
    async with gatewayed({"github": listing(ISSUE)}) as case:
        error = await case.failed("tool_browse", path="/githup")

    assert (error["error"], error["path"]) == ("PATH_NOT_FOUND", "/githup")
    assert "/github" in error["details"]["nearest"]


@pytest.mark.req("GW-3.3")
async def test_every_tool_is_reached_by_going_down_the_paths_that_are_shown() -> None:
    # The reference loses whole namespaces of more than 20 tools, and names clusters that cannot be asked for.
    many = {
        name: listing(
            *(tool(f"{verb}_{noun}.{number}X") for verb in ("get", "set") for noun in NAMES for number in "12")
        )
        for name in ("github", "gitlab", "google")
    }
    found: set[str] = set()
    async with gatewayed(many) as case:
        rest = ["/"]
        while rest:
            page = await case.browse(path=rest.pop())
            cards = cards_of(page)["cards"]
            assert len(cards) <= 24
            rest += [card["id"] for card in cards if card["kind"] == "internal"]
            found |= {card["id"] for card in cards if card["kind"] == "tool"}
        everything = set(case.hub.catalog.snapshot().ids)

    assert found == everything
    assert len(found) == 96


@pytest.mark.req("GW-3.3", "D4-3.1b")
async def test_a_leaf_a_star_and_a_namespace_are_listed() -> None:
    async with gatewayed({"github": listing(ISSUE, tool("merge_pull"))}) as case:
        root = lines_of(await case.browse(path="/"))
        inside = lines_of(await case.browse(path="/github"))
        starred = lines_of(await case.browse(path="/github/*"))
        leaf = lines_of(await case.browse(path="/github/create_issue"))

    assert root == ["/github — 2 tools: create_issue, merge_pull"]
    assert inside == starred
    assert len(leaf) == 1
    assert leaf[0].startswith(ISSUE_ID)


@pytest.mark.req("CT-12", "GW-2.5", "D4-2.5b")
@pytest.mark.parametrize("limit", [None, 5])
async def test_a_page_by_path_is_in_the_order_of_the_ids(limit: int | None) -> None:
    # By segment the tools `Zoom` and `getIssue` would stand between the others, and the cluster after `merge_pull`.
    names = ("Zoom", "getIssue", "abort", "list_issues", "merge_pull", *(f"read_{each}" for each in "edcba"))
    files = listing(*map(tool, (f"{verb}_{noun}" for verb in ("get", "set", "drop") for noun in NAMES + names)))
    async with gatewayed({"github": listing(*map(tool, names)), "files": files}) as case:
        pages = [await case.browse(path=each, limit=limit) for each in ("/", "/github", "/files")]

    for page in pages:
        ids = [card["id"] for card in cards_of(page)["cards"]]
        assert ids == sorted(ids)
        assert len(ids) > 1


@pytest.mark.req("CT-12", "GW-2.5", "D4-2.5a")
@pytest.mark.parametrize("query", ["issue", "list issues", "list_issues", "a file to read or write", "search"])
async def test_a_page_by_query_is_in_the_order_of_the_scores(query: str) -> None:
    tools = [tool(each, description=f"Works on {each.partition('_')[2] or 'all'}.") for each in NAMES]
    async with gatewayed({each: listing(*tools) for each in ("github", "gitlab")}) as case:
        page = await case.gateway.browse(query=query, limit=50)

    cards = [each.card for each in page.cards]
    assert len(cards) > 1
    assert tuple(cards) == order_cards(cards)


@pytest.mark.req("GW-3.3", "D4-3.3c", "D4-3.3d", "D4-3.3e", "D4-3.3f")
async def test_a_cluster_lists_its_tools_with_and_without_a_star() -> None:
    issues = [tool(f"{verb}_issue") for verb in ("create", "close", "list", "lock", "pin")]
    others = [tool(f"{verb}_{noun}") for verb in ("get", "set", "drop", "list") for noun in NAMES]
    async with gatewayed({"github": listing(*issues, *others)}) as case:
        cluster, starred, leaf = [
            cards_of(await case.browse(path=f"/github/issues{each}"))["cards"] for each in ("", "/*", "/create_issue")
        ]
        error = await case.failed("tool_browse", path="/github/issues/burn_issue")

    names = [each["name"] for each in cluster]
    assert {"create_issue", "close_issue", "list_issue", "lock_issue", "pin_issue"} <= set(names)
    assert cluster == starred
    assert [each["name"] for each in leaf] == ["create_issue"]
    assert (error["error"], error["path"]) == ("PATH_NOT_FOUND", "/github/issues/burn_issue")


@pytest.mark.req("GW-3.2", "GW-3.3", "D4-3.2j")
async def test_a_server_with_capital_letters_is_browsed_in_lower_case() -> None:
    async with gatewayed({"GitHub": listing(ISSUE)}) as case:
        root = cards_of(await case.browse(path="/"))["cards"]
        inside = cards_of(await case.browse(path="/github"))["cards"]

    assert [each["id"] for each in root] == ["/github"]
    assert [each["id"] for each in inside] == [ISSUE_ID]


@pytest.mark.req("GW-2.3", "D4-2.3e")
async def test_a_page_of_ordinary_tools_keeps_to_the_target() -> None:
    tools = [tool(each, "repository", description=f"Does {each}. " + "More words of it. " * 40) for each in NAMES]
    async with gatewayed({"github": listing(*tools)}) as case:
        page = await case.gateway.browse(path="/github")

    assert len(page.cards) == len(NAMES)
    assert sum(card_tokens(each.card) for each in page.cards) <= CARD_TARGET_TOKENS * len(NAMES)


@pytest.mark.req("CL-5")
async def test_a_page_ends_where_relevance_drops_and_says_how_to_see_more() -> None:
    tools = [tool("list_commits", description="Lists the commits of a branch.")]
    tools += [tool(f"do_{number}", description=f"Does thing {number} to a branch.") for number in range(6)]
    async with gatewayed({"git": listing(*tools)}) as case:
        page = await case.browse(query="list the commits of a branch")
        more = await case.browse(query="list the commits of a branch", limit=8)

    assert [each["name"] for each in cards_of(page)["cards"]] == ["list_commits"]
    assert page["content"][0]["text"].startswith("1 of 7 matches; the others fit less, see them with `limit`.\n")
    assert len(cards_of(more)["cards"]) == 7


@pytest.mark.req("CL-5")
async def test_that_none_may_fit_is_said_of_weak_evidence_alone() -> None:
    tools = [tool(f"list_{name}s", description=f"Lists the {name}s of a repository.") for name in ("issue", "branch")]
    async with gatewayed({"git": listing(*tools)}) as case:
        weak = await case.browse(query="scarf wool repository")
        plain = await case.browse(query="branches of a repository")

    assert "None may fit" in weak["content"][0]["text"]
    assert "None may fit" not in plain["content"][0]["text"]


@pytest.mark.req("GW-7.1", "D4-3.1e")
@pytest.mark.parametrize("limit", [1, 15, 50])
async def test_the_limit_of_a_call_is_honoured(limit: int) -> None:
    # The reference caps it at its own number.
    async with gatewayed({"github": listing(*(tool(f"issue_{number}") for number in range(60)))}) as case:
        page = await case.browse(query="issue", limit=limit)
        by_default = await case.browse(query="issue")

    assert len(cards_of(page)["cards"]) == limit
    assert page["content"][0]["text"].startswith(f"{limit} of 60 matches.")
    assert len(cards_of(by_default)["cards"]) == 8


async def test_a_listing_that_is_cut_says_how_much_is_missing() -> None:
    async with gatewayed({"github": listing(*map(tool, NAMES))}) as case:
        lines = lines_of(await case.browse(path="/github", limit=3))

    assert lines[0] == "5 more entries with a higher limit."
    assert len(lines) == 4


@pytest.mark.req("GW-7.2", "D4-3.1e", "D4-4a")
async def test_schemas_of_the_first_three_come_with_the_cards_when_they_are_asked_for() -> None:
    async with gatewayed({"github": listing(*(tool(f"issue_{number}", "title") for number in range(5)))}) as case:
        page = await case.browse(query="issue", detail="schema")
        places = await case.browse(path="/", detail="schema")

    schemas = cards_of(page)["schemas"]
    assert len(schemas) == 3
    for tool_id, schema in schemas.items():
        assert json.loads(schema)["required"] == ["title"]
        assert f"args of {tool_id}: {schema}\n" in page["content"][0]["text"]
    assert "schemas" not in cards_of(places)


async def test_nothing_found_says_what_to_do() -> None:
    async with gatewayed({"github": listing(ISSUE)}) as case:
        lines = lines_of(await case.browse(query="zzzzqqq"))

    assert lines == ["No tool fits. Say it in other words, or browse path `/`."]


@pytest.mark.req("GW-2.3")
async def test_a_tool_whose_card_does_not_fit_breaks_no_page() -> None:
    # In the reference it makes every page fail that it would be on.
    long = tool("x" * 100)
    async with gatewayed({"github": listing(ISSUE, long)}) as case:
        lines = lines_of(await case.browse(path="/github"))
        (finding,) = case.hub.catalog.report.unlisted
        result = await case.execute(finding.tool_id)

    assert [line.split(" ")[0] for line in lines] == [ISSUE_ID]
    assert result == {"echo": {}}


@pytest.mark.req("GW-6.2", "GW-6.4")
async def test_a_server_that_is_missing_is_named_and_the_others_are_served() -> None:
    dead = ScriptedServer()
    dead.refuses = UpstreamUnavailable("It is not there.", retryable=False, details={"sent": False})
    ours = {"servers": {"dead": {"startTimeout": 0.3}}}
    behaviour = GatewayBehaviour(patience=0.5)
    async with gatewayed({"github": listing(ISSUE), "dead": dead}, ours=ours, behaviour=behaviour) as case:
        page = await case.browse(query="issue")

    assert page["content"][0]["text"].startswith("Not available: `dead`.\n")
    assert [each["server"] for each in page["_meta"]["io.toolcrib/unavailable"]] == ["dead"]


@pytest.mark.req("GW-6.2")
async def test_failures_never_pass_for_an_empty_page() -> None:
    dead = ScriptedServer()
    dead.refuses = UpstreamUnavailable("It is not there.", retryable=False, details={"sent": False})
    async with gatewayed({"dead": dead}, behaviour=GatewayBehaviour(patience=0.3)) as case:
        error = await case.failed("tool_browse", path="/")

    assert error["error"] == "UPSTREAM_UNAVAILABLE"
    assert error["path"] == "/"


async def test_many_missing_servers_are_counted_where_their_names_have_no_room() -> None:
    servers: dict[str, Any] = {"github": listing(ISSUE)}
    for number in range(12):
        servers[f"a_rather_long_name_{number}"] = dead = ScriptedServer()
        dead.refuses = UpstreamUnavailable("It is not there.", retryable=False, details={"sent": False})
    async with gatewayed(servers, behaviour=GatewayBehaviour(patience=0.3)) as case:
        page = await case.browse(query="issue")

    assert page["content"][0]["text"].startswith("12 servers not available.\n")


@asynccontextmanager
async def while_starting(*names: str, **options: Any) -> AsyncIterator[GatewayCase]:
    """A gateway over `github`, whose tools are known, and servers that never answer, with patience for both."""
    hanging = {name: ScriptedServer(initialize=None, **{"server/discover": None}) for name in names}
    servers = {"github": listing(ISSUE, tool("merge_pull")), **hanging}
    # A server that never answered is waited for at the end, too, unless the hub is told not to.
    async with asyncio.timeout(60), gatewayed(servers, behaviour=GatewayBehaviour(patience=600, **options)) as case:
        await case.hub.tools("github", timeout=30)
        yield case


@pytest.mark.req("CL-12")
@pytest.mark.parametrize("asked", [{"query": "open a new issue"}, {"path": "/"}, {"path": "/github/create_issue"}])
async def test_a_page_comes_at_once_from_what_is_known_and_says_which_servers_are_starting(asked: Any) -> None:
    async with while_starting("jira", "playwright") as case:
        page = await case.browse(**asked)
        for name in ("jira", "playwright"):
            await case.servers[name].until_heard("server/discover")
        again = await case.browse(**asked)

    assert again["content"] == page["content"]
    assert lines_of(page)[0].endswith("Starting: jira, playwright.")
    assert "create_issue" in lines_of(page)[1]
    assert [each["server"] for each in page["_meta"]["io.toolcrib/unavailable"]] == ["jira", "playwright"]


@pytest.mark.req("CL-12")
async def test_starting_servers_are_counted_where_their_names_have_no_room() -> None:
    async with while_starting(*(f"a_rather_long_name_{number}" for number in range(12))) as case:
        page = await case.browse(path="/github/create_issue")

    assert lines_of(page)[0] == "12 servers starting."


@pytest.mark.req("CL-12", "CL-10")
async def test_a_stable_page_says_at_its_end_what_is_starting() -> None:
    async with while_starting("jira", cache_stable=True) as case:
        page = await case.browse(query="open a new issue")

    assert lines_of(page)[-1].endswith("Starting: jira.")


@pytest.mark.req("CL-12")
async def test_a_later_page_shows_the_tools_of_a_server_that_was_starting() -> None:
    jira = listing(tool("list_issues"))
    began, ready = asyncio.Event(), asyncio.Event()

    async def initialized(_: dict[str, Any]) -> dict[str, Any]:
        began.set()
        await ready.wait()
        return HANDSHAKE

    jira.answers["initialize"] = initialized
    servers, behaviour = {"github": listing(ISSUE), "jira": jira}, GatewayBehaviour(patience=600)
    async with asyncio.timeout(60), gatewayed(servers, behaviour=behaviour) as case:
        await case.hub.tools("github", timeout=30)
        early = await case.browse(path="/")
        await began.wait()
        ready.set()
        # Its own path waits for it, and for no other server.
        own = await case.browse(path="/jira")
        later = await case.browse(path="/")

    assert lines_of(early)[0] == "Starting: jira."
    assert lines_of(own)[0].startswith("jira:list_issues")
    assert [line.split(" ")[0] for line in lines_of(later)] == ["/github", "/jira"]


@pytest.mark.req("CL-12")
@pytest.mark.parametrize("asked", [{"path": "/jira"}, {"path": "/jira/list_issues"}, {"query": "jira:list_issues"}])
async def test_a_path_or_an_id_of_a_starting_server_waits_for_that_server_alone(asked: Any) -> None:
    ready = asyncio.Event()

    async def listed(_: dict[str, Any]) -> dict[str, Any]:
        await ready.wait()
        return {"tools": [tool("list_issues")]}

    jira = ScriptedServer(**{"tools/list": listed})
    never = ScriptedServer(**{"tools/list": None})
    servers = {"github": listing(ISSUE), "jira": jira, "never": never}
    async with asyncio.timeout(60), gatewayed(servers, behaviour=GatewayBehaviour(patience=600)) as case:
        await case.hub.tools("github", timeout=30)
        browsing = asyncio.create_task(case.browse(**asked))
        await jira.until_heard("tools/list")
        assert not browsing.done()
        ready.set()
        page = await browsing
        await never.die()

    assert any(line.startswith("jira:list_issues") for line in lines_of(page))


@pytest.mark.req("CL-12", "GW-6.8")
async def test_the_path_of_a_server_that_is_not_there_is_unavailable_and_does_not_lead_nowhere() -> None:
    dead = ScriptedServer()
    dead.refuses = UpstreamUnavailable("It is not there.", retryable=False, details={"sent": False})
    async with gatewayed({"github": listing(ISSUE), "dead": dead}, behaviour=GatewayBehaviour(patience=0.3)) as case:
        await case.hub.tools("github", timeout=30)
        error = await case.failed("tool_browse", path="/dead")
        page = await case.browse(path="/")

    assert (error["error"], error["path"]) == ("UPSTREAM_UNAVAILABLE", "/dead")
    assert lines_of(page)[0] == "Not available: `dead`."


@pytest.mark.req("CL-12", "CL-13")
async def test_a_server_whose_tools_are_known_is_not_starting_although_it_does_not_run() -> None:
    jira = listing(tool("list_issues"))
    ours = {"servers": {"jira": {"restart": {"when": "never"}}}}
    async with gatewayed({"github": listing(ISSUE), "jira": jira}, ours=ours) as case:
        await case.hub.start(timeout=30)
        await jira.die()
        await eventually(lambda: not is_running(case.hub.status().servers["jira"]))
        page = await case.browse(path="/")

    assert [line.split(" ")[0] for line in lines_of(page)] == ["/github", "/jira"]
    assert page["_meta"].keys() == {"io.toolcrib/cards"}
    assert jira.lives == 1


words = st.text(alphabet=string.ascii_letters + " _-.é漢🙂{}\"'", max_size=60)
tools = st.lists(
    st.fixed_dictionaries(
        {"name": st.text(alphabet=string.ascii_letters + "_.-0123", min_size=1, max_size=70)},
        optional={
            "description": st.text(max_size=400) | words,
            "inputSchema": st.builds(
                lambda names: {
                    "type": "object",
                    "properties": {each: {"type": "string"} for each in names},
                    "required": names,
                },
                st.lists(st.text(max_size=30), max_size=12, unique=True),
            ),
        },
    ),
    max_size=12,
    unique_by=lambda each: str(each["name"]),
)


class Still:
    """The part of a runtime that browsing looks at, over a catalogue that no server changes."""

    def __init__(self, *listings: Any) -> None:
        self.hub = self
        self.catalog = Catalog()
        for number, each in enumerate(listings):
            self.catalog.update(f"server{number}", each)
        self.missing = self
        self.names: list[str] = []
        self.starting: list[str] = []

    async def start(self, named: str) -> None:
        """Nothing is missing."""

    def check_any(self) -> None:
        """An empty catalogue is just empty."""

    def told(self) -> list[Any]:
        return []


@pytest.mark.req("GW-2.3", "GW-7.1", "D4-2.3f")
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(listings=st.lists(tools, max_size=3), query=words, limit=st.integers(1, 50), stable=st.booleans())
async def test_no_page_of_any_catalogue_and_query_is_over_its_budget(
    listings: list[Any], query: str, limit: int, *, stable: bool
) -> None:
    still: Any = Still(*listings)  # all that is looked at
    browser = Browser(still, still, cache_stable=stable)

    rest: list[dict[str, Any]] = [{"query": query, "limit": limit}, {"query": query[:5] or "a"}, {"path": "/"}]
    while rest:
        page = await browser.browse(**rest.pop())
        rest += [{"path": each.card.id} for each in page.cards if each.card.id.startswith("/")]

        cards = [each for each in page.cards if each.card.kind != "internal" or each.card.id.startswith("/")]
        assert count_tokens(page.text) <= 80 * len(cards) + 32


@pytest.mark.req("D4-2.3d")
@given(names=st.lists(st.text(min_size=1, max_size=60), max_size=30, unique=True))
def test_the_line_of_a_tool_has_at_most_80_tokens_whatever_it_needs(names: list[str]) -> None:
    card = ChoiceCard(id="a:b@1", name="b", description="Does b.", namespace="a")
    schema: Any = {"properties": {each: {} for each in names}, "required": names}

    line = tool_card(card, schema).line

    assert line.startswith("a:b@1 — Does b.")
    assert line.isprintable()
    assert count_tokens(f"{line}\n") <= 80


@pytest.mark.parametrize("schema", [{}, {"required": 3, "properties": {}}, {"required": ["a"], "properties": 3}])
def test_a_schema_that_is_odd_shows_no_parameters(schema: Any) -> None:
    card = ChoiceCard(id="a:b@1", name="b", description="Does b.", namespace="a")

    assert tool_card(card, schema).line == "a:b@1 — Does b."


def test_a_tool_that_needs_much_is_shown_with_the_first_and_a_number() -> None:
    card = ChoiceCard(id="a:b@1", name="b", description="Does b.", namespace="a")
    names = [f"parameter_{number}" for number in range(20)]

    line = tool_card(card, {"properties": {each: {} for each in names}, "required": list(names)}).line

    assert line.endswith(f"(needs {', '.join(names[:8])} and 12 more)")


def test_what_a_tool_needs_gives_way_to_its_description() -> None:
    names = [f"parameter_{number}" for number in range(8)]
    card = ChoiceCard(id="a:b@1", name="b", description="word " * 47 + "end.", namespace="a")

    line = tool_card(card, {"properties": {each: {} for each in names}, "required": list(names)}).line

    assert line.endswith("(needs parameter_0, parameter_1, parameter_2, parameter_3 and 4 more)")
    assert count_tokens(f"{line}\n") <= 80


def test_the_line_of_a_place_says_how_many_tools_are_below() -> None:
    node = TreeNode(kind="range", path="/a-m", label="a" * 100, count=3, examples=())

    card = node_card(node)
    assert card is not None
    assert card.line == "/a-m — 3 tools"


@pytest.mark.req("GW-2.3")
def test_a_place_whose_path_alone_is_over_the_budget_is_on_no_page() -> None:
    def node(path: str) -> TreeNode:
        return TreeNode(kind="cluster", path=path, label="x", count=3, examples=("some", "names"))

    short = node_card(node("/" + "qzxj" * 18))

    assert short is not None
    assert count_tokens(f"{short.line}\n") <= 80
    assert node_card(node("/" + "qzxj" * 60)) is None


async def test_a_program_meets_errors_as_exceptions() -> None:
    async with gatewayed({"github": listing(ISSUE)}) as case:
        neither = await failure_of(case.gateway.browse(), GatewayError)
        too_many = await failure_of(case.gateway.browse(query="x", limit=51), GatewayError)

    assert neither.code == too_many.code == "ARGS_INVALID"
    assert not isinstance(neither, CardOverBudget)


@pytest.mark.req("GW-6.5", "GW-5.4")
async def test_a_tool_that_came_is_found_and_nobody_is_told_that_the_three_tools_changed() -> None:
    server = listing(tool("create_issue"))
    async with gatewayed({"github": server}) as case, case.client(Era.HANDSHAKE) as client:
        heard = Heard(case.hub)
        await case.browse(path="/github")
        before = await case.ask("tools/list")
        await heard.until(lambda notices: len(notices) == 1)
        server.answers["tools/list"] = {"tools": [tool("close_issue")]}
        await server.tell("notifications/tools/list_changed")
        await heard.until(lambda notices: len(notices) > 1)
        lines = lines_of(await case.browse(path="/github"))
        after = await client.ask("tools/list")

    assert lines[0].startswith("github:close_issue")
    assert before["tools"] == after["tools"]
    assert set(heard.methods) == {"notifications/tools/list_changed"}
    assert client.told == []
