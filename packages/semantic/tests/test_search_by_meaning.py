from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex
from toolcrib_core.search.dense import DocumentVectors
from toolcrib_semantic import MiniLmEmbedder, SqliteVectorCache

pytestmark = pytest.mark.req("AR-3.2")

TOOLS = tuple(
    ToolDefinition(namespace=namespace, name=name, version="1.0.0", description=description)
    for namespace, name, description in (
        ("billing", "cancel_subscription", "End a recurring plan of a customer."),
        ("billing", "create_invoice", "Bill a customer for an amount."),
        ("billing", "list_disputes", "List chargebacks raised by card holders."),
        ("calendar", "create_event", "Book an appointment with guests and a room."),
        ("calendar", "find_free_busy", "Intervals in which people are available."),
        ("files", "compress_folder", "Pack a directory into a zip archive."),
        ("files", "search_text", "Find files that contain a phrase."),
        ("weather", "get_forecast", "Temperature and rain for the coming days."),
    )
)


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("do I need an umbrella on Sunday", "weather:get_forecast@1.0.0"),
        ("customers who went to their bank to get their money back", "billing:list_disputes@1.0.0"),
        ("make this smaller so that I can mail it", "files:compress_folder@1.0.0"),
    ],
)
def test_a_tool_is_found_by_meaning_where_no_word_is_shared(
    embedder: MiniLmEmbedder, request_text: str, expected: str
) -> None:
    hits = SearchIndex.build(TOOLS).search(request_text, embedder=embedder).hits

    assert hits[0].id == expected


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_first_for_its_own_name(embedder: MiniLmEmbedder, tool: ToolDefinition) -> None:
    assert SearchIndex.build(TOOLS).search(tool.name, embedder=embedder).hits[0].id == tool.id


def test_a_request_without_meaning_finds_next_to_nothing(embedder: MiniLmEmbedder) -> None:
    assert len(SearchIndex.build(TOOLS).search("zzkqv wwxy", embedder=embedder).hits) <= 2


@pytest.mark.parametrize("text", ["", "\x00\x07", "\ud800 rain", "🙂" * 99, "(a+)+$ [", "rain " * 20_000], ids=range(6))
def test_an_odd_request_is_answered(embedder: MiniLmEmbedder, text: str) -> None:
    found = SearchIndex.build(TOOLS).search(text, embedder=embedder)

    assert all(hit.score > 0 for hit in found.hits)


def test_cached_vectors_give_the_same_scores_as_fresh_ones(embedder: MiniLmEmbedder, tmp_path: Path) -> None:
    cache = SqliteVectorCache(tmp_path / "vectors.sqlite")
    fresh = SearchIndex.build(TOOLS).search("is anybody free", embedder=DocumentVectors(embedder, cache=cache))

    again = SearchIndex.build(TOOLS).search("is anybody free", embedder=DocumentVectors(embedder, cache=cache))

    assert again == fresh
