"""Hostile requests and definitions: bounded work, sane answers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex
from toolcrib_core.search.query import MAX_CONCEPTS, MAX_QUERY_LENGTH, read_query

TOOLS = tuple(
    ToolDefinition(namespace=f"server{number % 7}", name=f"{verb}_{thing}", description=f"{verb.title()} the {thing}.")
    for number, (verb, thing) in enumerate(
        (verb, thing)
        for verb in ("create", "delete", "list", "export")
        for thing in ("invoice", "customer", "dashboard", "branch", "photo")
    )
)
INDEX = SearchIndex.build(TOOLS)


@pytest.mark.req("AR-3.2")
@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "query", ["", "   ", "\n\t", "\x00\x01\x07", "???", "🎉🎉", "***", "\\", "\u200b", "((((((((((", "[a-"]
)
def test_a_request_without_words_finds_nothing_and_is_not_an_error(query: str) -> None:
    result = INDEX.search(query)

    assert result.hits == ()
    assert not result.confident


@pytest.mark.req("AR-3.1")
@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "query",
    [
        ".*(delete|remove)+invoice$",
        "delete\x00invoice",
        "DELETE 🎉 invoice 🎉",
        "удалить delete 删除 invoice",
        "delete invoice'; DROP TABLE tools; --",
        '{"query": "delete invoice"}',
        "\u202edelete invoice",
    ],
)
def test_a_request_is_words_whatever_else_it_holds(query: str) -> None:
    result = INDEX.search(query)

    assert result.hits[0].id.startswith("server5:delete_invoice")


@pytest.mark.req("AR-3.1")
@pytest.mark.fault("A7")
def test_a_request_of_nothing_but_grammar_finds_the_tools_named_so() -> None:
    index = SearchIndex.build(
        [*TOOLS, ToolDefinition(namespace="music", name="the_who", description="Songs of a band.")]
    )

    found = index.search("the who").hits

    assert found[0].id.startswith("music:the_who")


@pytest.mark.req("AR-3.3")
@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "query",
    [
        "delete invoice " * 8_000,
        "a" * 100_000,
        "".join(chr(0x4E00 + n % 20_000) for n in range(100_000)),
        "x1" * 50_000,
    ],
    ids=["words", "one letter", "han", "alternating"],
)
def test_a_request_of_a_hundred_thousand_letters_is_cut_and_says_so(query: str) -> None:
    started = time.process_time()

    result = INDEX.search(query)

    assert result.truncated
    # Two orders of magnitude above what it takes: a bound on growth, not on speed.
    assert time.process_time() - started < 5


@pytest.mark.req("AR-3.3")
@pytest.mark.fault("A7")
def test_the_number_of_things_a_request_may_say_is_bounded() -> None:
    text = " ".join(f"w{number}q" for number in range(2_000))

    query = read_query(text, knows=lambda term: True)

    assert len(query.concepts) <= MAX_CONCEPTS
    assert len(query.text) == MAX_QUERY_LENGTH


@pytest.mark.req("AR-3.1")
@pytest.mark.fault("A7")
@settings(max_examples=150, deadline=None)
@given(query=st.text(max_size=200))
def test_any_text_is_answered_with_hits_in_order(query: str) -> None:
    hits = INDEX.search(query, explain=True).hits

    assert [(-hit.score, hit.id) for hit in hits] == sorted((-hit.score, hit.id) for hit in hits)
    assert all(hit.score > 0 for hit in hits)


@pytest.mark.fault("A7")
def test_a_definition_stuffed_with_words_does_not_outrank_a_plain_one() -> None:
    stuffed = ToolDefinition(
        namespace="spam",
        name="everything",
        description="invoice customer dashboard branch photo delete create list export " * 2_000,
    )
    index = SearchIndex.build([*TOOLS, stuffed])

    found = index.search("delete an invoice").hits

    assert found[0].id.startswith("server5:delete_invoice")


@pytest.mark.fault("A7")
def test_a_definition_with_thousands_of_parameters_is_read_in_part() -> None:
    many = {f"field{number}": {"type": "string", "description": "x " * 50} for number in range(5_000)}
    properties = {"walrus": {"type": "string"}, **many, "zymurgy": {"type": "string"}}
    wide = ToolDefinition(namespace="wide", name="load", input_schema={"type": "object", "properties": properties})

    index = SearchIndex.build([wide])

    assert index.search("walrus").hits[0].id == wide.id
    assert index.search("zymurgy").hits == ()
