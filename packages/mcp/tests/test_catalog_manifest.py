"""A manifest brings a catalogue back without any server, and says so when it cannot."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from toolcrib_core import CatalogError
from toolcrib_mcp.catalog import Catalog, UpstreamTerms

RawTool = Callable[..., dict[str, Any]]


@pytest.fixture
def catalog(raw_tool: RawTool) -> Catalog:
    """Servers with good, repaired, malformed, doubled and unlisted tools, and one without any."""
    catalog = Catalog()
    doubled = [raw_tool("search", "a"), raw_tool("search", "b")]
    catalog.update("github", [raw_tool("create_issue", "title"), {"name": "ping"}, {"name": 3}, *doubled])
    catalog.update("Été", [raw_tool("x" * 100), raw_tool("日本", icons=[{"src": "data:,"}], size=1.0)])
    catalog.update("empty", [])
    return catalog


def _damaged(manifest: bytes, **changes: Any) -> bytes:
    return orjson.dumps(orjson.loads(manifest) | changes)


@pytest.mark.req("GW-6.4")
def test_what_a_manifest_brings_back_can_be_browsed_and_hydrated_like_the_original(catalog: Catalog) -> None:
    revived = Catalog.from_manifest(catalog.to_manifest())

    now, then = revived.snapshot(), catalog.snapshot()
    assert (now.ids, now.upstreams, now.cards, now.report) == (then.ids, then.upstreams, then.cards, then.report)
    assert [now.hydrate(each) for each in now.ids] == [then.hydrate(each) for each in then.ids]
    assert now.tree == then.tree
    assert now.search("create an issue").hits == then.search("create an issue").hits


@pytest.mark.req("GW-6.4")
def test_a_server_that_lists_what_its_manifest_says_changes_nothing(raw_tool: RawTool) -> None:
    catalog = Catalog()
    catalog.update("github", [raw_tool("create_issue"), raw_tool("list_issues")])
    revived = Catalog.from_manifest(catalog.to_manifest())

    change = revived.update("github", [raw_tool("list_issues"), raw_tool("create_issue")])

    assert (change.added, change.removed, change.replaced, change.visible) == ((), (), (), False)


def test_the_bytes_do_not_depend_on_the_order_of_servers_or_tools(raw_tool: RawTool) -> None:
    chance = random.Random(11)
    servers = {name: [raw_tool(f"tool_{number}") for number in range(5)] for name in ("one", "two", "three")}
    manifests = set()

    for _ in range(100):
        catalog = Catalog()
        for name in chance.sample(sorted(servers), 3):
            catalog.update(name, chance.sample(servers[name], 5))
        manifests.add(catalog.to_manifest())

    assert len(manifests) == 1


def test_a_manifest_holds_nothing_of_the_configuration(raw_tool: RawTool) -> None:
    catalog = Catalog()
    terms = UpstreamTerms(server="hub", trusted=True, withhold=("https://user:hunter2@example.com",))
    catalog.update("github", [raw_tool(annotations={"readOnlyHint": True})], terms=terms)

    manifest = catalog.to_manifest()
    plain = Catalog.from_manifest(manifest)
    configured = Catalog.from_manifest(manifest, terms={"github": terms})

    assert b"hunter2" not in manifest
    assert plain.hydrate(plain.snapshot().ids[0]).definition.risk.effects == "unknown"
    assert configured.snapshot().ids == catalog.snapshot().ids
    assert configured.hydrate(configured.snapshot().ids[0]).definition.risk.effects == "read"


def test_a_manifest_may_be_text_and_laid_out_for_reading(catalog: Catalog) -> None:
    manifest = catalog.to_manifest()

    laid_out = orjson.dumps(orjson.loads(manifest), option=orjson.OPT_INDENT_2).decode()

    assert Catalog.from_manifest(laid_out).to_manifest() == manifest


def test_a_manifest_of_a_newer_version_says_to_update(catalog: Catalog) -> None:
    with pytest.raises(CatalogError, match="has version 2, and this program reads 1") as caught:
        Catalog.from_manifest(_damaged(catalog.to_manifest(), version=2))

    assert caught.value.details == {"version": 2, "readable": 1}
    assert "Update toolcrib" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"sha256": "0" * 64}, "checksum"),
        ({"sha256": None}, "checksum"),
        ({"upstreams": {"github": []}}, "checksum"),
        ({"upstreams": {"github": {}}}, "must have a list of tools"),
        ({"upstreams": None}, "must have a list of tools"),
        ({"version": 0}, "does not say its version"),
        ({"version": "1"}, "does not say its version"),
        ({"format": "other"}, "not a manifest"),
    ],
)
def test_a_damaged_manifest_is_refused_with_what_is_wrong(catalog: Catalog, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(CatalogError, match=why):
        Catalog.from_manifest(_damaged(catalog.to_manifest(), **changes))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON, from line 1, column 1 on"),
        (b"[]", "must be an object, not a list of 0 items"),
        (b"{}", "not a manifest"),
        (b"\xff", "not JSON"),
        (b" " * (256 * 1024 * 1024 + 1), "over 268,435,456 bytes"),
    ],
)
def test_what_is_no_manifest_is_refused_with_what_it_is(data: bytes, why: str) -> None:
    with pytest.raises(CatalogError, match=why):
        Catalog.from_manifest(data)


def test_a_manifest_cut_anywhere_or_with_any_byte_changed_is_refused(raw_tool: RawTool) -> None:
    catalog = Catalog()
    catalog.update("github", [raw_tool("create_issue", "title")])
    manifest = catalog.to_manifest()

    for at in range(len(manifest)):
        flipped = manifest[:at] + bytes([manifest[at] ^ 1]) + manifest[at + 1 :]
        for broken in (manifest[:at], flipped):
            with pytest.raises(CatalogError):
                Catalog.from_manifest(broken)


@pytest.mark.parametrize("depth", [260, 900])
def test_tools_nested_too_deep_to_write_are_refused(catalog: Catalog, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    manifest = b'{"format":"toolcrib-catalog","version":1,"sha256":"","upstreams":{"a":[' + deep + b"]}}"

    with pytest.raises(CatalogError, match="nested too deep"):
        Catalog.from_manifest(manifest)


def test_a_tool_at_the_limit_of_nesting_comes_back(raw_tool: RawTool) -> None:
    nested: Any = 0
    for _ in range(252):
        nested = [nested]
    catalog = Catalog()
    catalog.update("github", [raw_tool(deep=nested)])

    revived = Catalog.from_manifest(catalog.to_manifest())

    assert revived.snapshot().ids == catalog.snapshot().ids
    assert len(revived.snapshot()) == 1
