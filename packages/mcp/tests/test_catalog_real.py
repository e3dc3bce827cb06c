"""The tools of real servers, and as many tools as a large installation has."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pytest

from toolcrib_core import CARD_MAX_TOKENS, card_tokens, parse_tool_id
from toolcrib_mcp.catalog import Catalog

RawTool = Callable[..., dict[str, Any]]
Servers = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def real_catalog(real_servers: Servers) -> Catalog:
    """All tools of all real servers."""
    catalog = Catalog()
    for server, tools in real_servers.items():
        catalog.update(server, tools)
    return catalog


@pytest.mark.req("GW-1.1", "GW-1.5", "GW-6.3", "D4-7b")
def test_every_tool_of_every_real_server_is_served_under_an_id_of_its_own(
    real_servers: Servers, real_catalog: Catalog
) -> None:
    snapshot = real_catalog.snapshot()

    listed = {(server, tool["name"]) for server, tools in real_servers.items() for tool in tools}
    served = {(tool.upstream, tool.upstream_name) for tool in map(snapshot.hydrate, snapshot.ids)}
    assert served == listed
    assert len(snapshot) == len(snapshot.cards) == sum(map(len, real_servers.values()))
    assert all(str(parse_tool_id(each, profile="gateway")) == each for each in snapshot.ids)


@pytest.mark.req("GW-6.3")
def test_of_real_tools_only_patterns_with_look_around_had_to_be_repaired(real_catalog: Catalog) -> None:
    report = real_catalog.report

    assert len(report.repaired) == 3
    assert all("/pattern" in finding.reason for finding in report.repaired)
    assert {finding.kind for finding in report.findings} <= {"repaired", "flagged"}
    assert len(report.flagged) <= 0.02 * len(real_catalog.snapshot())


@pytest.mark.req("GW-4.1")
def test_every_real_tool_is_found_by_every_form_of_its_id(real_catalog: Catalog) -> None:
    snapshot = real_catalog.snapshot()

    for tool_id, name in snapshot.wire_names.items():
        assert snapshot.resolve(name) == tool_id
        assert snapshot.resolve(tool_id.replace(":", "%3A").replace("#", "%23")) == tool_id


@pytest.mark.req("GW-2.3")
def test_every_card_of_a_real_tool_is_within_its_budget(real_catalog: Catalog) -> None:
    assert max(map(card_tokens, real_catalog.snapshot().cards.values())) <= CARD_MAX_TOKENS


@pytest.mark.req("GW-6.4", "D4-0b")
def test_real_servers_in_another_order_give_the_same_bytes_ids_and_cards(
    real_servers: Servers, real_catalog: Catalog
) -> None:
    chance = random.Random(5)
    shuffled = Catalog()
    for server in chance.sample(sorted(real_servers), len(real_servers)):
        shuffled.update(server, chance.sample(real_servers[server], len(real_servers[server])))

    assert shuffled.to_manifest() == real_catalog.to_manifest()
    assert shuffled.snapshot().cards == real_catalog.snapshot().cards
    assert shuffled.snapshot().tree == real_catalog.snapshot().tree


@pytest.mark.req("D4-1.5c")
@pytest.mark.slow
@pytest.mark.fault("F8")
def test_a_server_with_ten_thousand_tools_is_served_whole(raw_tool: RawTool) -> None:
    catalog = Catalog()

    change = catalog.update("big", [raw_tool(f"tool_{number}", "a") for number in range(10_000)])

    assert len(change.added) == len(catalog.snapshot()) == 10_000
    assert catalog.report.findings == ()


@pytest.mark.req("GW-6.5")
def test_updating_one_server_of_forty_costs_at_most_a_twentieth_of_building_all(raw_tool: RawTool) -> None:
    catalog = Catalog()
    servers = [f"server-{number}" for number in range(40)]

    build = _seconds(lambda: [catalog.update(each, _tools(raw_tool, 50)) for each in servers])
    updates = [_seconds(lambda each=each: catalog.update(each, _tools(raw_tool, 50, "anew"))) for each in servers[:9]]

    assert median(updates) <= build / 20


@pytest.mark.req("GW-6.5")
def test_only_the_tools_that_a_server_changed_are_read_again(raw_tool: RawTool) -> None:
    catalog = Catalog()
    tools = _tools(raw_tool, 20)
    catalog.update("github", tools)
    before = catalog.snapshot()

    change = catalog.update("github", [*tools[:-1], {**tools[-1], "description": "Other words."}])

    kept = [each for each in before.ids if catalog.hydrate(each) is before.hydrate(each)]
    assert len(change.replaced) == 1
    assert len(kept) == 19


def _tools(raw_tool: RawTool, number: int, words: str = "first") -> list[dict[str, Any]]:
    return [raw_tool(f"tool_{each}", "a", "b", "c", description=f"Does it {words}.") for each in range(number)]


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started
