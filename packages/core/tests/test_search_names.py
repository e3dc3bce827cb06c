"""A tool is first for its own name, in every form that a model may write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.search import SearchIndex
from toolcrib_core.wire_names import WireNames

pytestmark = pytest.mark.req("CL-5")


def forms_with_server(tool: ToolDefinition) -> Iterator[str]:
    yield tool.id
    yield tool.id.partition("#")[0]
    yield f"{tool.namespace}:{tool.name}"
    yield f"{tool.namespace}:{tool.upstream_name or tool.name}"
    yield WireNames((tool.id,)).encode(tool.id)


def forms_of_name(name: str) -> Iterator[str]:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name) or [name]
    yield name
    yield name.upper()
    if "".join(words) == re.sub(r"[\W_]", "", name):
        yield from (mark.join(words) for mark in (" ", "-", "_"))
        yield "".join(word.capitalize() for word in words)


def is_first(index: SearchIndex, query: str, fits: Callable[[ToolDefinition], bool]) -> bool:
    found = index.search(query, limit=1)
    return bool(found.hits) and found.confident and fits(index.definitions[index.ids.index(found.hits[0].id)])


def plain(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum()) or name


def assert_first_for_every_form(index: SearchIndex, tools: list[ToolDefinition]) -> None:
    lost = [
        (tool.id, form)
        for tool in tools
        for form in forms_with_server(tool)
        if not is_first(index, form, lambda found, tool=tool: found.id.split("#")[0] == tool.id.split("#")[0])
    ]
    # Several servers may have a tool of one name: any of them is that tool.
    lost += [
        (tool.id, form)
        for tool in tools
        for form in forms_of_name(tool.name)
        if not is_first(index, form, lambda found, tool=tool: plain(found.name) == plain(tool.name))
    ]

    assert lost == []


def test_real_tools_are_first_for_their_names_in_every_form(
    shared_catalog: list[dict[str, object]], define_mcp_tool: Callable[[dict[str, object]], ToolDefinition]
) -> None:
    tools = [define_mcp_tool(row) for row in shared_catalog]

    assert_first_for_every_form(SearchIndex.build(tools), tools[::60])


def test_tools_of_our_corpus_are_first_for_their_names_in_every_form(
    own_catalog: list[dict[str, object]], define_mcp_tool: Callable[[dict[str, object]], ToolDefinition]
) -> None:
    tools = [define_mcp_tool(row) for row in own_catalog]

    assert_first_for_every_form(SearchIndex.build(tools), tools[::10])


_NAMES = st.from_regex(r"[a-z]{1,6}([_-][a-z0-9]{1,6}){0,3}|[a-z]{2,6}([A-Z][a-z]{1,6}){1,3}", fullmatch=True)


@settings(max_examples=25)
@given(names=st.lists(_NAMES, min_size=1, max_size=6, unique_by=plain), text=st.text(max_size=60))
def test_a_tool_is_first_for_its_name_whatever_else_there_is(names: list[str], text: str) -> None:
    # Every other tool says the names as well, where search reads them.
    tools = [
        ToolDefinition(namespace=f"s{place % 3}", name=name, description=f"{' '.join(names)} {text}".replace("\0", ""))
        for place, name in enumerate(names)
    ]

    assert_first_for_every_form(SearchIndex.build(tools), tools)


def test_a_version_and_the_name_that_a_server_sends_lead_to_the_tool() -> None:
    tools = [
        ToolDefinition(namespace="crm", name="get_user", version="2.0.0", description="Reads a user."),
        ToolDefinition(namespace="crm", name="find", upstream_name="Find/All", description="Reads users: get user."),
    ]
    index = SearchIndex.build(tools)

    for form in ("crm:get_user@2.0.0", "crm:get_user", "getUser", "GET-USER"):
        assert index.search(form).hits[0].id == tools[0].id
    for form in ("Find/All", "crm:find", "find all"):
        assert index.search(form).hits[0].id == tools[1].id
