"""What real servers publish becomes definitions, ids and cards without exceptions."""

from __future__ import annotations

import random
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
from toolcrib_core.errors import InvalidArguments, SchemaError
from toolcrib_core.identity import parse_tool_id
from toolcrib_core.registry import create_registry
from toolcrib_core.schema.check import check_schema
from toolcrib_core.schema.validate import validate_arguments
from toolcrib_core.serialization import deserialize_tool_definition, registry_json, serialize_tool_definition
from toolcrib_core.tokens import count_tokens


@pytest.fixture(params=["own_definitions", "shared_definitions"])
def definitions(request: pytest.FixtureRequest) -> list[ToolDefinition]:
    found: list[ToolDefinition] = request.getfixturevalue(request.param)
    return found


@pytest.mark.req("AR-1.1", "AR-6.2")
@pytest.mark.parametrize(
    ("definitions", "relaxed"), [("own_definitions", 0), ("shared_definitions", 3)], indirect=["definitions"]
)
def test_every_tool_becomes_a_definition_and_what_was_relaxed_is_said(
    definitions: list[ToolDefinition], relaxed: int
) -> None:
    lossy = [definition for definition in definitions if definition.lossy]

    assert len(lossy) == relaxed
    assert all("/pattern" in lost.pointer for definition in lossy for lost in definition.lossy)


@pytest.mark.req("AR-6.1")
def test_every_definition_comes_back_from_its_serialized_form(definitions: list[ToolDefinition]) -> None:
    for definition in definitions:
        revived = deserialize_tool_definition(serialize_tool_definition(definition))

        assert revived == definition
        assert revived.wire_json == definition.wire_json


@pytest.mark.fault("A9")
@pytest.mark.req("AR-6.1", "AR-2.1")
def test_a_whole_catalogue_serializes_to_the_same_bytes_in_any_order(definitions: list[ToolDefinition]) -> None:
    shuffled = random.Random(7).sample(definitions, len(definitions))

    assert registry_json(create_registry(shuffled)) == registry_json(create_registry(definitions))


@pytest.mark.req("AR-6.4")
def test_every_definition_judges_arguments_or_says_why_not(definitions: list[ToolDefinition]) -> None:
    for definition in definitions:
        required = definition.input_schema.get("required", [])

        if required:
            with pytest.raises(InvalidArguments) as caught:
                validate_arguments(definition, {})
            assert {each["keyword"] for each in caught.value.details["violations"]} >= {"required"}


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
