from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import EmbedderUnusable
from toolcrib_core.search import SearchIndex
from toolcrib_core.search.dense import MAX_TEXT_LENGTH, DocumentVectors, document_text, remembering
from toolcrib_core.search.evidence import NO_EVIDENCE
from toolcrib_core.search.fusion import trust_in_meaning

pytestmark = pytest.mark.req("AR-3.2")

CONCEPTS = (
    ("rain", "umbrella", "forecast", "weather"),
    ("invoice", "bill", "owe", "charge"),
    ("zip", "archive", "smaller", "pack"),
    ("meeting", "appointment", "calendar", "busy"),
)


class ToyEmbedder:
    """Knows four things: a text's vector says which of them its words are about."""

    def __init__(self, *, name: str = "toy", spare_dimensions: int = 1) -> None:
        self.name = name
        self.dimensions = len(CONCEPTS) + spare_dimensions
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[: len(CONCEPTS)] = [sum(word in text.lower() for word in concept) for concept in CONCEPTS]
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)


class SlowEmbedder(ToyEmbedder):
    """Embeds when it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.started, self.go_on = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.started.set()
        assert self.go_on.wait(timeout=30)
        return super().embed(texts)


class DictCache:
    """A vector cache in memory."""

    def __init__(self) -> None:
        self.vectors: dict[tuple[str, str], NDArray[np.float32]] = {}

    def load(self, embedder: str, digests: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        return {each: self.vectors[embedder, each] for each in digests if (embedder, each) in self.vectors}

    def store(self, embedder: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        self.vectors |= {(embedder, digest): vector for digest, vector in vectors.items()}


def tool(name: str, description: str, **more: object) -> ToolDefinition:
    return ToolDefinition(namespace="crib", name=name, version="1.0.0", description=description, **more)


TOOLS = (
    tool("get_forecast", "Weather of the coming days."),
    tool("send_bill", "Charge a customer."),
    tool("make_zip", "Pack a folder."),
    tool("list_meetings", "What is in the calendar."),
    tool("paint_wall", "Give a wall another colour."),
)


def test_a_tool_is_found_by_meaning_where_no_word_is_shared() -> None:
    index = SearchIndex.build(TOOLS)

    by_words = index.search("umbrella?")
    by_meaning = index.search("umbrella?", embedder=ToyEmbedder())

    assert "crib:get_forecast@1.0.0" not in [hit.id for hit in by_words.hits]
    assert [hit.id for hit in by_meaning.hits] == ["crib:get_forecast@1.0.0"]


def test_any_embedder_serves_whatever_its_dimensions() -> None:
    index = SearchIndex.build(TOOLS)

    small = index.search("umbrella?", embedder=ToyEmbedder())
    large = index.search("umbrella?", embedder=ToyEmbedder(name="large toy", spare_dimensions=900))

    assert large == small


def test_what_neither_words_nor_meaning_speak_for_is_not_a_hit() -> None:
    found = SearchIndex.build(TOOLS).search("xqzzkv", embedder=ToyEmbedder())

    assert found.hits == ()


@pytest.mark.parametrize("query", ["", "   ", "\x00\x07", "???", "🙂" * 50, "a" * 100_000], ids=range(6))
def test_an_odd_request_is_answered_without_padding(query: str) -> None:
    found = SearchIndex.build(TOOLS).search(query, embedder=ToyEmbedder())

    assert all(hit.score > 0 for hit in found.hits)


@pytest.mark.parametrize("definition", TOOLS, ids=lambda definition: definition.name)
def test_a_tool_is_first_for_its_own_name_whatever_else_is_near(definition: ToolDefinition) -> None:
    near = [tool(f"{word}_{concept[0]}", f"{word} {concept[0]}") for concept in CONCEPTS for word in concept]
    index = SearchIndex.build([*TOOLS, *near])

    assert index.search(definition.name, embedder=ToyEmbedder()).hits[0].id == definition.id


def test_a_step_of_a_request_finds_its_tool() -> None:
    query = "tell me about the umbrella situation and then make the holiday photos smaller"

    hits = SearchIndex.build(TOOLS).search(query, embedder=ToyEmbedder()).hits

    assert {"crib:get_forecast@1.0.0", "crib:make_zip@1.0.0"} <= {hit.id for hit in hits}


def test_an_index_of_one_tool_and_of_none_can_be_searched() -> None:
    one = SearchIndex.build(TOOLS[:1]).search("weather", embedder=ToyEmbedder())
    none = SearchIndex.build(()).search("weather", embedder=ToyEmbedder())

    assert [hit.id for hit in one.hits] == ["crib:get_forecast@1.0.0"]
    assert none.hits == ()


@given(order=st.permutations(TOOLS), cut=st.integers(min_value=0, max_value=len(TOOLS)))
@settings(max_examples=40, deadline=None)
def test_scores_do_not_depend_on_the_order_of_registration(order: list[ToolDefinition], cut: int) -> None:
    expected = SearchIndex.build(TOOLS).search("charge for the appointment", embedder=ToyEmbedder())

    grown = SearchIndex.build(order[:cut]).with_tools(order[cut:])

    assert grown.search("charge for the appointment", embedder=ToyEmbedder()) == expected


def test_without_an_embedder_nothing_changes() -> None:
    index = SearchIndex.build(TOOLS)
    before = index.search("charge a customer")

    index.search("charge a customer", embedder=ToyEmbedder())

    assert index.search("charge a customer") == before


def test_only_tools_that_are_new_are_embedded() -> None:
    embedder = ToyEmbedder()
    index = SearchIndex.build(TOOLS)
    index.search("weather", embedder=embedder)
    embedder.texts.clear()

    index.with_tools([tool("dig", "Make a hole.")], [TOOLS[0].id]).search("weather", embedder=embedder)

    assert [text for text in embedder.texts if text.startswith("crib:")] == ["crib: dig. Make a hole."]


def test_threads_that_ask_for_the_same_new_tools_embed_them_once() -> None:
    embedder = SlowEmbedder()
    memory = DocumentVectors(embedder)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(memory.tools, TOOLS)
        assert embedder.started.wait(timeout=30)
        second = threads.submit(memory.tools, TOOLS)
        embedder.go_on.set()

        assert first.result(timeout=30) is second.result(timeout=30)
    assert sum(text.startswith("crib:") for text in embedder.texts) == len(TOOLS)


def test_tools_that_are_ready_do_not_wait_for_others_to_be_embedded() -> None:
    embedder = SlowEmbedder()
    memory = DocumentVectors(embedder)
    embedder.go_on.set()
    ready = memory.tools(TOOLS)
    embedder.started.clear()
    embedder.go_on.clear()

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(memory.tools, (tool("dig", "Make a hole."),))
        assert embedder.started.wait(timeout=30)

        assert memory.tools(TOOLS) is ready
        assert not waiting.done()
        embedder.go_on.set()


def test_a_changed_schema_alone_costs_no_embedding() -> None:
    embedder, cache = ToyEmbedder(), DictCache()
    DocumentVectors(embedder, cache=cache).tools(TOOLS)
    embedder.texts.clear()

    DocumentVectors(embedder, cache=cache).tools([TOOLS[0].replace(input_schema={"type": "object", "title": "new"})])

    assert not any(text.startswith("crib:") for text in embedder.texts)


def test_a_restart_with_a_cache_embeds_no_tool_again() -> None:
    cache = DictCache()
    fresh = DocumentVectors(ToyEmbedder(), cache=cache).tools(TOOLS)
    embedder = ToyEmbedder()

    again = DocumentVectors(embedder, cache=cache).tools(TOOLS)

    assert not any(text.startswith("crib:") for text in embedder.texts)
    assert np.array_equal(again.rows, fresh.rows)


def test_vectors_of_another_embedder_are_never_taken_from_the_cache() -> None:
    cache = DictCache()
    DocumentVectors(ToyEmbedder(), cache=cache).tools(TOOLS)
    other = ToyEmbedder(name="another toy")

    DocumentVectors(other, cache=cache).tools(TOOLS)

    assert sum(text.startswith("crib:") for text in other.texts) == len(TOOLS)


def test_a_cached_vector_of_the_wrong_length_is_made_again() -> None:
    cache = DictCache()
    DocumentVectors(ToyEmbedder(spare_dimensions=3), cache=cache).tools(TOOLS)

    rows = DocumentVectors(ToyEmbedder(), cache=cache).tools(TOOLS).rows

    assert rows.shape == (len(TOOLS), ToyEmbedder().dimensions)


def test_an_embedder_that_breaks_its_promise_is_an_error_that_says_which() -> None:
    embedder = ToyEmbedder(name="liar")
    embedder.dimensions = 7

    embedder.embed = lambda texts: np.zeros((len(texts), 3), dtype=np.float32)  # type: ignore[method-assign]  # a liar

    with pytest.raises(EmbedderUnusable) as broken:
        SearchIndex.build(TOOLS).search("weather", embedder=embedder)

    assert broken.value.message == "The embedder `liar` gave an array of shape (5, 3) for 5 texts."
    assert broken.value.hint == "It must give one row of 7 numbers for each text."


def test_numbers_that_are_not_finite_are_refused() -> None:
    embedder = ToyEmbedder()
    full = np.full((len(TOOLS), embedder.dimensions), np.nan, dtype=np.float32)
    embedder.embed = lambda texts: full[: len(texts)]  # type: ignore[method-assign]  # a broken model

    with pytest.raises(EmbedderUnusable, match="not finite"):
        SearchIndex.build(TOOLS).search("weather", embedder=embedder)


def test_dot_products_are_exact_so_that_no_processor_ranks_differently() -> None:
    chance = np.random.default_rng(0)
    raw = chance.normal(size=(300, 384)).astype(np.float32)
    embedder = ToyEmbedder(spare_dimensions=380)
    embedder.embed = lambda texts: raw[: len(texts)]  # type: ignore[method-assign]  # any vectors do

    rows = DocumentVectors(embedder).embed(["text"] * 300)

    assert np.array_equal((rows @ rows.T).astype(np.float64), rows.astype(np.float64) @ rows.T.astype(np.float64))


def test_a_bare_embedder_is_remembered_and_a_remembering_one_stays_itself() -> None:
    embedder = ToyEmbedder()
    memory = remembering(embedder)

    assert remembering(embedder) is memory
    assert remembering(memory) is memory


def test_rare_shared_words_lower_the_trust_in_meaning_and_unknown_words_raise_it() -> None:
    plain = trust_in_meaning(NO_EVIDENCE)

    assert trust_in_meaning(replace(NO_EVIDENCE, specificity=1.0, gap=0.5)) < plain
    assert trust_in_meaning(replace(NO_EVIDENCE, unknown=1.0)) > plain


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (tool("getUserList", "All  users.\n\nMore."), "crib: get User List. All users. More."),
        (tool("ping", "", title="Are you there?"), "crib: ping. Are you there?"),
        (tool("ping", "Ping.", metadata={"serverDescription": "Net  tools."}), "crib: ping. Ping. Net tools."),
        (ToolDefinition(name="ping"), "ping."),
        (ToolDefinition(namespace="@acme/mcp-server-maps", name="route"), "acme maps: route."),
    ],
    ids=["words of a name", "title where nothing is described", "server", "default namespace", "packaging words"],
)
def test_what_is_embedded_of_a_tool_is_its_namespace_name_and_description(
    definition: ToolDefinition, text: str
) -> None:
    assert document_text(definition) == text


def test_a_huge_description_is_cut() -> None:
    assert len(document_text(tool("x", "long " * 100_000))) == MAX_TEXT_LENGTH


def test_importing_core_does_not_import_numpy() -> None:
    code = "import sys, toolcrib_core; print('numpy' in sys.modules)"

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert printed.stdout.strip() == "False"
