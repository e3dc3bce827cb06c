"""What real servers publish becomes definitions, ids and cards without exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolcrib_core.cards import (
    CARD_MAX_TOKENS,
    CARD_TARGET_TOKENS,
    PREAMBLE_TOKENS,
    card_tokens,
    make_card,
    render_cards,
)
from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import SchemaError
from toolcrib_core.identity import parse_tool_id
from toolcrib_core.schema.check import check_schema
from toolcrib_core.tokens import count_tokens


@pytest.fixture(params=["own_definitions", "shared_definitions"])
def definitions(request: pytest.FixtureRequest) -> list[ToolDefinition]:
    found: list[ToolDefinition] = request.getfixturevalue(request.param)
    return found


@pytest.mark.req("AR-1.1")
@pytest.mark.parametrize(("catalog", "refused"), [("own_catalog", 0), ("shared_catalog", 3)])
def test_every_tool_becomes_a_definition_unless_its_schema_has_a_look_around_pattern(
    request: pytest.FixtureRequest,
    define_mcp_tool: Callable[[dict[str, Any]], ToolDefinition],
    catalog: str,
    refused: int,
) -> None:
    failures: list[SchemaError] = []
    for row in request.getfixturevalue(catalog):
        try:
            define_mcp_tool(row)
        except SchemaError as failure:
            failures.append(failure)

    assert len(failures) == refused
    assert all("/pattern" in failure.message and "(?!" in failure.message for failure in failures)


@pytest.mark.req("AR-6.4")
@pytest.mark.parametrize(("catalog", "refused"), [("own_catalog", 0), ("shared_catalog", 3)])
def test_every_schema_is_checked_in_the_dialect_it_was_published_in(
    request: pytest.FixtureRequest, catalog: str, refused: int
) -> None:
    tools = [row["tool"] for row in request.getfixturevalue(catalog)]
    schemas = [tool[key] for tool in tools for key in ("inputSchema", "outputSchema") if key in tool]

    assert sum(not _is_usable(schema) for schema in schemas) == refused


def _is_usable(schema: dict[str, Any]) -> bool:
    try:
        check_schema(schema)
    except SchemaError:
        return False
    return True


@pytest.mark.req("GW-1.1")
def test_every_id_is_one_of_its_own_in_the_gateway_grammar(definitions: list[ToolDefinition]) -> None:
    ids = {definition.id for definition in definitions}

    assert len(ids) == len(definitions)
    for each in ids:
        parse_tool_id(each, profile="gateway")


@pytest.mark.req("GW-2.3")
def test_every_card_is_within_the_maximum_and_nearly_all_within_the_target(definitions: list[ToolDefinition]) -> None:
    tokens = [card_tokens(make_card(definition)) for definition in definitions]

    within_target = sum(each <= CARD_TARGET_TOKENS for each in tokens) / len(tokens)

    assert max(tokens) <= CARD_MAX_TOKENS
    assert within_target >= 0.95


@pytest.mark.req("GW-2.3")
def test_a_response_with_every_card_stays_within_its_bound(definitions: list[ToolDefinition]) -> None:
    cards = [make_card(definition) for definition in definitions]

    tokens = count_tokens(render_cards(cards, preamble=f"{len(cards)} tools:"))

    assert tokens <= CARD_MAX_TOKENS * len(cards) + PREAMBLE_TOKENS


@pytest.mark.req("GW-2.4")
def test_every_card_says_something(definitions: list[ToolDefinition]) -> None:
    silent = [definition.id for definition in definitions if not make_card(definition).description.strip("…. ")]

    assert silent == []
