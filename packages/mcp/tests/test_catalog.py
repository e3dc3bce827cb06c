"""The catalogue changes one server at a time, whole or not at all, and tells of what can be seen."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib_core import BrowseTree, UnknownTool
from toolcrib_mcp.catalog import Catalog, CatalogChange, UpstreamTerms

RawTool = Callable[..., dict[str, Any]]


@pytest.fixture
def catalog(raw_tool: RawTool) -> Catalog:
    """GitHub with two tools and Slack with one."""
    catalog = Catalog()
    catalog.update("github", [raw_tool("create_issue", "title"), raw_tool("list_issues")])
    catalog.update("slack", [raw_tool("send_message", "text")])
    return catalog


@pytest.fixture
def heard(catalog: Catalog) -> list[CatalogChange]:
    """What a listener of the catalogue heard."""
    heard: list[CatalogChange] = []
    catalog.subscribe(heard.append)
    return heard


def _id_of(catalog: Catalog, name: str) -> str:
    return next(each for each in catalog.snapshot().ids if f":{name}" in each)


def test_an_update_says_what_came_went_and_changed(catalog: Catalog, raw_tool: RawTool) -> None:
    created, listed = _id_of(catalog, "create_issue"), _id_of(catalog, "list_issues")

    change = catalog.update(
        "github", [raw_tool("create_issue", "title", description="Opens one."), raw_tool("close_issue")]
    )

    assert change == CatalogChange(
        upstream="github",
        revision=3,
        added=(_id_of(catalog, "close_issue"),),
        removed=(listed,),
        replaced=(created,),
        visible=True,
    )


@pytest.mark.req("GW-6.5")
def test_an_update_of_one_server_leaves_the_tools_of_the_others_as_they_are(
    catalog: Catalog, raw_tool: RawTool
) -> None:
    sent, created = _id_of(catalog, "send_message"), _id_of(catalog, "create_issue")
    before = catalog.snapshot()

    catalog.update("github", [raw_tool("create_issue", "title"), raw_tool("close_issue")])

    assert catalog.hydrate(sent) is before.hydrate(sent)
    assert catalog.hydrate(created) is before.hydrate(created)


def test_a_snapshot_shows_nothing_of_what_comes_later(catalog: Catalog, raw_tool: RawTool) -> None:
    before = catalog.snapshot()
    listed = _id_of(catalog, "list_issues")

    catalog.update("github", [raw_tool("close_issue")])

    assert (len(before), before.upstreams, before.revision) == (3, ("github", "slack"), 2)
    assert before.hydrate(listed).upstream_name == "list_issues"
    assert listed in before
    assert listed not in catalog.snapshot()
    assert [hit.id for hit in before.search("list issues").hits][:1] == [listed]
    assert before.tree.path_of(listed) == "/github/issues/list_issues"
    with pytest.raises(UnknownTool):
        catalog.tree.path_of(listed)


def test_the_same_tools_again_in_any_order_change_nothing(
    catalog: Catalog, heard: list[CatalogChange], raw_tool: RawTool
) -> None:
    before = catalog.snapshot()

    change = catalog.update("github", [raw_tool("list_issues"), raw_tool("create_issue", "title")])

    assert change == CatalogChange(upstream="github", revision=2)
    assert catalog.snapshot() is before
    assert heard == []


@pytest.mark.req("GW-6.5")
def test_listeners_hear_of_what_a_list_of_cards_shows(
    catalog: Catalog, heard: list[CatalogChange], raw_tool: RawTool
) -> None:
    shown = [
        catalog.update("github", [raw_tool("create_issue", "title"), raw_tool("list_issues"), raw_tool("close_issue")]),
        catalog.update("github", [raw_tool("create_issue", "title"), raw_tool("list_issues")]),
        catalog.update("slack", [raw_tool("send_message", "text", description="Other words.")]),
        catalog.remove("slack"),
    ]

    assert heard == shown
    assert [change.visible for change in shown] == [True] * 4


@pytest.mark.req("GW-6.5")
def test_listeners_do_not_hear_of_what_no_card_shows(
    catalog: Catalog, heard: list[CatalogChange], raw_tool: RawTool
) -> None:
    hidden = [
        catalog.update("slack", [raw_tool("send_message", "text", _meta={"internal": 1})]),
        catalog.update("empty", []),
        catalog.update("empty", [{"name": 3}]),
        catalog.update("empty", [raw_tool("x" * 100)]),
        catalog.remove("empty"),
        catalog.remove("never-there"),
    ]

    assert heard == []
    assert [len(change.replaced) for change in hidden] == [1, 0, 0, 0, 0, 0]
    assert [len(change.findings) for change in hidden] == [0, 0, 1, 1, 0, 0]


def test_a_listener_that_stopped_hears_no_more_and_one_that_listens_twice_can_stop_once(
    catalog: Catalog, raw_tool: RawTool
) -> None:
    heard: list[CatalogChange] = []
    stop = catalog.subscribe(heard.append)
    catalog.subscribe(heard.append)

    stop()
    stop()
    change = catalog.remove("slack")

    assert heard == [change]


def test_a_listener_may_change_the_catalogue_and_everybody_hears_in_order(catalog: Catalog, raw_tool: RawTool) -> None:
    revisions: list[tuple[str, int]] = []

    def follow(change: CatalogChange) -> None:
        revisions.append(("first", change.revision))
        if change.upstream == "slack":
            catalog.remove("github")

    catalog.subscribe(follow)
    catalog.subscribe(lambda change: revisions.append(("second", change.revision)))
    catalog.remove("slack")

    assert revisions == [("first", 3), ("second", 3), ("first", 4), ("second", 4)]


def test_a_listener_that_fails_is_logged_and_keeps_nobody_from_hearing(
    catalog: Catalog, raw_tool: RawTool, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[CatalogChange] = []
    catalog.subscribe(lambda _: 1 / 0)
    catalog.subscribe(heard.append)

    with caplog.at_level(logging.ERROR, logger="toolcrib.mcp"):
        change = catalog.remove("slack")

    assert heard == [change]
    assert [record.message for record in caplog.records] == ["a listener failed on revision 3 of the catalogue"]


def test_servers_that_are_updated_at_once_are_all_there_afterwards(raw_tool: RawTool) -> None:
    catalog = Catalog()
    heard: list[CatalogChange] = []
    catalog.subscribe(heard.append)
    servers = [f"server-{number}" for number in range(8)]

    threads = [threading.Thread(target=catalog.update, args=(each, [raw_tool("ping")])) for each in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert catalog.snapshot().upstreams == tuple(servers)
    assert len(catalog.snapshot()) == 8
    assert [change.revision for change in heard] == list(range(1, 9))


def test_an_update_without_terms_keeps_those_of_the_one_before(raw_tool: RawTool) -> None:
    catalog = Catalog()
    catalog.update("a", [raw_tool("ping")], terms=UpstreamTerms(server="named"))

    catalog.update("a", [raw_tool("ping"), raw_tool("pong")])

    assert [each.partition(":")[0] for each in catalog.snapshot().ids] == ["named", "named"]


@pytest.mark.parametrize("namespaces", [3, 30])
def test_the_tree_after_many_updates_is_the_one_that_is_built_at_once(raw_tool: RawTool, namespaces: int) -> None:
    catalog = Catalog()
    chance = random.Random(3)
    for _ in range(2 * namespaces):
        tools = [raw_tool(f"{verb}_{chance.choice(['issue', 'page'])}") for verb in ("get", "list", "close")]
        catalog.update(f"server-{chance.randrange(namespaces)}", tools[: chance.randrange(4)])
        if chance.random() < 0.5:
            catalog.tree.children("/")

    assert catalog.tree == BrowseTree.build(catalog.snapshot().registry.list())


def test_a_search_finds_the_listed_tools_as_they_are_now(catalog: Catalog, raw_tool: RawTool) -> None:
    sent = _id_of(catalog, "send_message")

    before = [hit.id for hit in catalog.search("send a message", limit=1).hits]
    catalog.remove("slack")
    after = [hit.id for hit in catalog.search("send a message").hits]

    assert before == [sent]
    assert sent not in after


def test_a_finding_is_json_without_what_it_does_not_say(raw_tool: RawTool) -> None:
    catalog = Catalog()

    change = catalog.update("github", [{"name": 3}, {"name": "ping"}])

    assert [finding.to_dict() for finding in change.findings] == [
        {
            "kind": "left-out",
            "upstream": "github",
            "reason": "The name of a tool must be text, not an integer.",
        },
        {
            "kind": "repaired",
            "upstream": "github",
            "name": "ping",
            "id": _id_of(catalog, "ping"),
            "reason": "It has no input schema; any arguments are passed on.",
        },
    ]


def test_a_catalogue_tells_its_size_when_it_is_printed(catalog: Catalog) -> None:
    assert repr(catalog) == "<Catalog, now <CatalogSnapshot of 3 tools of 2 servers, revision 2>>"
