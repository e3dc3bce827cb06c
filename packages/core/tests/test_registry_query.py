"""Queries: filters that can be combined, pages, selections, and bounded time for any text."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from registry_tools import deprecated, ids, refused, tool

from toolcrib_core.errors import NotJson, QueryError
from toolcrib_core.predicates import all_of, any_of, has_tags, in_namespace, is_deprecated, none_of
from toolcrib_core.registry import ToolRegistry, ToolSummary, create_registry

_ALL = ["db:migrate@2.0.0", "fs:read@1.0.0", "fs:read@2.0.0-rc.1", "fs:write@1.1.0", "mail:send@1.0.0"]


@pytest.fixture
def registry() -> ToolRegistry:
    return create_registry(
        [
            tool("fs:read@1.0.0", "path", tags=["files", "read-only"], risk={"effects": "read"}, title="Read a file"),
            tool("fs:read@2.0.0-rc.1", "path", "limit", tags=["files"], risk={"effects": "read", "idempotent": True}),
            tool("fs:write@1.1.0", "path", "text", tags=["files"], risk={"effects": "write", "destructive": True}),
            tool("mail:send@1.0.0", "to", "subject", description="Send an E-Mail to ÉMILE.", kind="agent"),
            deprecated("db:migrate@2.0.0").model_copy(
                update={"metadata": {"team": "data", "tier": 1, "flags": {"beta": True}}}
            ),
        ]
    )


@pytest.mark.req("AR-2.6", "D1-3h")
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, _ALL),
        ({"namespace": "fs"}, _ALL[1:4]),
        ({"namespace": ["mail", "db"]}, [_ALL[0], _ALL[4]]),
        ({"namespace": "f"}, []),
        ({"version": "1.0.0"}, [_ALL[1], _ALL[4]]),
        ({"version": "^1"}, [_ALL[1], _ALL[3], _ALL[4]]),
        ({"version": ">=2.0.0-alpha"}, [_ALL[0], _ALL[2]]),
        ({"version": "weekly"}, []),
        ({"deprecated": True}, _ALL[:1]),
        ({"deprecated": False}, _ALL[1:]),
        ({"risk": {"effects": "read"}}, _ALL[1:3]),
        ({"risk": {"effects": "read", "idempotent": True}}, _ALL[2:3]),
        ({"tags_any": ["read-only", "mail"]}, _ALL[1:2]),
        ({"tags_all": ["files", "Read Only"]}, _ALL[1:2]),
        ({"tags_none": ["files"]}, [_ALL[0], _ALL[4]]),
        ({"tags_any": ["files"], "tags_none": "read-only"}, _ALL[2:4]),
        ({"kind": "agent"}, _ALL[4:]),
        ({"kind": ["agent", "tool"]}, _ALL),
        ({"schema_keys": ["path"]}, _ALL[1:4]),
        ({"schema_keys": ["path", "limit"]}, _ALL[2:3]),
        ({"metadata": {"team": "data"}}, _ALL[:1]),
        ({"metadata": {"flags": {"beta": True}}}, _ALL[:1]),
        ({"metadata": {"tier": True}}, []),
        ({"metadata_has": ["tier", "team"]}, _ALL[:1]),
        ({"metadata_has": ["owner"]}, []),
        ({"text": "READ"}, _ALL[1:3]),
        ({"text": "read file"}, _ALL[1:3]),
        ({"text": "émile"}, _ALL[4:]),
        ({"text": "subject"}, _ALL[4:]),
        ({"text": "send migrate"}, []),
        ({"text": "send migrate", "text_match": "any"}, [_ALL[0], _ALL[4]]),
        ({"where": lambda definition: definition.title is not None}, _ALL[1:2]),
        ({"where": any_of(in_namespace("db"), has_tags("read-only"))}, _ALL[:2]),
        ({"where": none_of(in_namespace("fs"), is_deprecated())}, _ALL[4:]),
        ({"where": all_of(in_namespace("fs"), none_of(has_tags("read-only")))}, _ALL[2:4]),
        ({"namespace": "fs", "version": "^1", "text": "path", "risk": {"destructive": True}}, _ALL[3:4]),
    ],
)
def test_a_query_gives_the_tools_that_pass_every_filter_ascending_by_id(
    registry: ToolRegistry, filters: dict[str, Any], found: list[str]
) -> None:
    assert ids(registry.query(**filters)) == found


@pytest.mark.req("AR-2.6")
@pytest.mark.parametrize(
    "filters",
    [
        {"namespace": None, "version": None, "deprecated": None, "risk": None, "kind": None, "metadata": None},
        {"namespace": [], "risk": {}, "tags_any": [], "tags_all": (), "tags_none": set(), "schema_keys": []},
        {"text": None, "where": None, "limit": None, "metadata_has": []},
        {"text": ""},
        {"text": " \n\t "},
    ],
)
@pytest.mark.fault("A7")
def test_an_empty_filter_lets_everything_pass(registry: ToolRegistry, filters: dict[str, Any]) -> None:
    assert ids(registry.query(**filters)) == _ALL


@pytest.mark.req("AR-2.6")
@pytest.mark.parametrize(
    ("page", "found"),
    [
        ({"limit": 2}, _ALL[:2]),
        ({"limit": 2, "offset": 3}, _ALL[3:]),
        ({"offset": 4}, _ALL[4:]),
        ({"offset": 99}, []),
        ({"limit": 0}, []),
        ({"limit": 99}, _ALL),
    ],
)
def test_limit_and_offset_cut_out_a_page(registry: ToolRegistry, page: dict[str, Any], found: list[str]) -> None:
    assert ids(registry.query(**page)) == found


@pytest.mark.req("AR-2.6")
@given(st.integers(min_value=1, max_value=7), st.integers(min_value=0, max_value=12))
def test_pages_visit_every_tool_once(size: int, count: int) -> None:
    registry = create_registry([tool(f"a:t{number}@1") for number in range(count)])

    pages = [registry.query(limit=size, offset=offset, select="id") for offset in range(0, count + size, size)]

    assert [tool_id for page in pages for tool_id in page] == ids(registry.list())


@pytest.mark.req("AR-2.6")
def test_a_selection_says_what_to_give_of_each_tool(registry: ToolRegistry) -> None:
    assert registry.query(namespace="fs", limit=1, select="id") == ("fs:read@1.0.0",)
    assert registry.query(namespace="fs", limit=1, select="name") == ("read",)
    assert registry.query(namespace="fs", limit=1, select=lambda definition: definition.title) == ("Read a file",)
    assert registry.query(namespace="fs", limit=1, select="summary") == (
        ToolSummary(
            id="fs:read@1.0.0",
            title="Read a file",
            description="",
            tags=("files", "read-only"),
            parameters=("path",),
            deprecated=False,
        ),
    )


@pytest.mark.req("AR-2.6")
@pytest.mark.parametrize(
    ("filters", "says"),
    [
        ({"namespac": "fs"}, "namespac"),
        ({"limit": -1}, "limit"),
        ({"limit": True}, "limit"),
        ({"limit": "3"}, "limit"),
        ({"offset": -1}, "offset"),
        ({"offset": 1.5}, "offset"),
        ({"offset": None}, "offset"),
        ({"select": "everything"}, "select"),
        ({"version": ">>1"}, "range"),
        ({"deprecated": "no"}, "deprecated"),
        ({"kind": "robot"}, "robot"),
        ({"risk": {"effect": "read"}}, "effect"),
        ({"risk": {"effects": "reads"}}, "effects"),
        ({"risk": {"destructive": "yes"}}, "destructive"),
        ({"tags_any": ["what?"]}, "tag"),
        ({"text": 5}, "text"),
        ({"text": "a", "text_match": "some"}, "some"),
        ({"namespace": 5}, "filter"),
    ],
)
def test_a_malformed_query_is_refused_and_names_the_fault(
    registry: ToolRegistry, filters: dict[str, Any], says: str
) -> None:
    error = refused(QueryError, lambda: registry.query(**filters))

    assert says in error.message


@pytest.mark.req("AR-2.6")
def test_a_misspelt_filter_is_told_which_is_meant(registry: ToolRegistry) -> None:
    misspelt: dict[str, Any] = {"tag_any": ["files"]}

    assert refused(QueryError, lambda: registry.query(**misspelt)).hint == "Did you mean `tags_any`?"


@pytest.mark.req("AR-2.6")
def test_metadata_that_is_not_json_is_refused(registry: ToolRegistry) -> None:
    refused(NotJson, lambda: registry.query(metadata={"tier": {1, 2}}))


@pytest.mark.req("AR-2.6")
def test_a_predicate_that_raises_is_named_and_not_taken_for_a_no(registry: ToolRegistry) -> None:
    def starts_with_a(definition: Any) -> bool:
        return bool(definition.title.startswith("A"))

    error = refused(QueryError, lambda: registry.query(where=any_of(is_deprecated(), starts_with_a)))

    assert "starts_with_a" in error.message
    assert "`AttributeError`" in error.message
    assert error.details["id"] == "fs:read@2.0.0-rc.1"
    assert isinstance(error.__cause__, AttributeError)


@pytest.mark.req("AR-2.6")
def test_a_predicate_that_does_not_answer_yes_or_no_is_refused(registry: ToolRegistry) -> None:
    title: Any = lambda definition: definition.title  # noqa: E731  # a predicate as careless as people write them

    error = refused(QueryError, lambda: registry.query(where=title))

    assert "`NoneType`" in error.message


@pytest.mark.req("AR-2.6")
def test_a_selection_that_raises_is_named(registry: ToolRegistry) -> None:
    def broken(definition: Any) -> str:
        return str(definition.no_such_field)

    assert "broken" in refused(QueryError, lambda: registry.query(select=broken)).message


@pytest.mark.req("AR-2.6")
@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "text", [".*", "(a+)+$", "^fs", "[", "\\", "read|write", "re?ad", "\x00", "\x1b[31m", "\u202e"]
)
def test_a_text_is_never_a_pattern(registry: ToolRegistry, text: str) -> None:
    assert registry.query(text=text) == ()


@pytest.mark.req("AR-2.6")
@pytest.mark.fault("A7")
def test_a_text_with_signs_of_patterns_is_found_literally() -> None:
    registry = create_registry([tool("a:b@1", description="Matches (a+)+$ and [x].")])

    assert len(registry.query(text="(A+)+$ [X].")) == 1


@pytest.mark.req("AR-2.6")
@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    "text", ["a" * 4097, "ä" * 2049, "x" * 100_000, " ".join(map(str, range(33))), "\ud800" * 2000]
)
def test_a_text_beyond_the_bounds_is_refused_without_repeating_it(registry: ToolRegistry, text: str) -> None:
    error = refused(QueryError, lambda: registry.query(text=text))

    assert len(error.message) < 100


@pytest.mark.req("AR-2.6")
@pytest.mark.fault("A7")
def test_the_longest_text_and_the_most_words_take_bounded_time() -> None:
    registry = create_registry([tool(f"a:t{number}@1", description="aaaa " * 200) for number in range(500)])
    words = " ".join("a" * length + "b" for length in range(1, 33))
    started = time.process_time()

    found = (registry.query(text="a" * 4096), registry.query(text=words, text_match="any"))

    assert found == ((), ())
    assert time.process_time() - started < 2


@pytest.mark.req("AR-2.6")
@pytest.mark.fault("A7")
@given(st.text(max_size=60))
def test_any_text_gives_an_answer_in_the_order_of_ids(text: str) -> None:
    registry = create_registry([tool("a:one@1", description="1"), tool("a:two@1", description="a b c")])

    found = ids(registry.query(text=text, text_match="any"))

    assert found == sorted(found)
