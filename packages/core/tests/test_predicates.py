"""Predicates by themselves: what they answer, and that they are checked when they are made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from registry_tools import deprecated, refused, tool

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import NotJson, QueryError
from toolcrib_core.predicates import (
    all_of,
    any_of,
    has_parameters,
    has_tags,
    holds,
    in_namespace,
    is_deprecated,
    metadata_matches,
    none_of,
    of_kind,
    text_contains,
    with_risk,
    with_version,
)

_READ = tool(
    "fs:read@1.2.0",
    "path",
    tags=["files"],
    risk={"effects": "read"},
    metadata={"tier": 1, "owners": ["ann", {"name": "bob"}], "beta": False},
)


def _yes(_: ToolDefinition) -> bool:
    return True


def _no(_: ToolDefinition) -> bool:
    return False


@pytest.mark.req("AR-1.7", "D1-1a")
@pytest.mark.parametrize(
    "predicate",
    [
        in_namespace("db", "fs"),
        with_version("1.2.0"),
        with_version("^1"),
        none_of(is_deprecated()),
        of_kind("tool"),
        with_risk(effects="read", destructive=False),
        with_risk(),
        has_tags("Files"),
        has_tags(tags_any=["files", "mail"], tags_none=["mail"]),
        has_parameters("path"),
        has_parameters(),
        metadata_matches({"tier": 1.0, "owners": ["ann", {"name": "bob"}]}, has=["beta"]),
        metadata_matches(),
        text_contains("FS path"),
        text_contains("path nothing", match="any"),
        all_of(),
        all_of(_yes, _yes),
        any_of(_no, _yes),
        none_of(),
        none_of(_no, _no),
    ],
)
def test_a_predicate_holds_for_a_tool_that_is_as_it_says(predicate: Any) -> None:
    assert holds(predicate, _READ) is True


@pytest.mark.req("AR-1.7")
@pytest.mark.parametrize(
    "predicate",
    [
        in_namespace(),
        in_namespace("FS"),
        with_version("latest"),
        with_version("^2"),
        is_deprecated(),
        of_kind("agent", "skill"),
        with_risk(effects="none"),
        has_tags("files", "mail"),
        has_tags(tags_any=["mail"]),
        has_tags(tags_none=["files"]),
        has_parameters("path", "limit"),
        metadata_matches({"tier": True}),
        metadata_matches({"beta": 0}),
        metadata_matches({"owners": ["ann", {"name": "bob", "age": 3}]}),
        metadata_matches({"owners": ["ann"]}),
        metadata_matches({"owners": {"0": "ann"}}),
        metadata_matches(has=["owner"]),
        text_contains("path nothing"),
        all_of(_yes, _no),
        any_of(),
        any_of(_no, _no),
        none_of(_no, _yes),
    ],
)
def test_a_predicate_does_not_hold_for_a_tool_that_is_otherwise(predicate: Any) -> None:
    assert holds(predicate, _READ) is False


@pytest.mark.req("AR-1.7")
def test_an_unversioned_tool_has_no_version_and_an_odd_version_is_in_no_range() -> None:
    assert not holds(with_version("*"), tool("fs:read"))
    assert not holds(with_version("*"), tool("fs:read@weekly"))
    assert holds(with_version("weekly"), tool("fs:read@weekly"))
    assert holds(is_deprecated(), deprecated("fs:read"))


@pytest.mark.req("AR-1.7")
def test_what_a_predicate_cannot_mean_is_refused_when_it_is_made() -> None:
    risk: Any = {"external": True}

    refused(QueryError, lambda: with_version("^^1"))
    refused(QueryError, lambda: with_risk(**risk))
    refused(QueryError, lambda: with_risk(effects="everything"))
    refused(QueryError, lambda: has_tags("no/*tag"))
    refused(NotJson, lambda: metadata_matches({"when": object()}))


@pytest.mark.req("AR-1.7")
@given(st.lists(st.sampled_from([_yes, _no]), max_size=4))
def test_none_of_is_the_opposite_of_any_of_and_all_of_the_same_as_no_opposite(predicates: list[Any]) -> None:
    opposites = [none_of(predicate) for predicate in predicates]

    assert holds(none_of(*predicates), _READ) is not holds(any_of(*predicates), _READ)
    assert holds(all_of(*predicates), _READ) is holds(none_of(*opposites), _READ)
