"""Definitions and registries as JSON: the same bytes everywhere, and back again."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from toolcrib_core.definition import LossyFeature, ToolDefinition
from toolcrib_core.errors import CatalogError, InvalidDefinition, MalformedJson, ToolError
from toolcrib_core.registry import create_registry
from toolcrib_core.risk import ToolRisk
from toolcrib_core.serialization import (
    deserialize_registry,
    deserialize_tool_definition,
    registry_json,
    serialize_registry,
    serialize_tool_definition,
)

_FORECAST = ToolDefinition(
    namespace="weather",
    name="forecast",
    version="1.2.0",
    title="Forecast",
    description="The weather of the next days.",
    tags=["Weather", "read only"],
    examples=["will it rain in Oslo?"],
    input_examples=[{"days": 2, "city": "Oslo"}],
    input_schema={
        "type": "object",
        "required": ["city"],
        "properties": {
            "units": {"enum": ["metric", "imperial"], "default": None},
            "city": {"type": "string", "description": "Where"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
        },
        "additionalProperties": False,
    },
    output_schema={"type": "object"},
    risk=ToolRisk(effects="read", external_network=True),
    lifecycle={"deprecated": True, "replacedBy": "weather:outlook"},
    cost_hint=0.5,
    metadata={"z": {"b": 1, "a": [None, True]}, "a": "x"},
    lossy=[LossyFeature(pointer="/properties/city", feature="validator", message="Only Python checks it.")],
)


@pytest.mark.req("AR-6.1", "AR-6.2", "AR-6.6", "D1-0t", "D1-2j", "D1-6a", "D1-6e")
def test_a_definition_serializes_to_plain_provider_neutral_json() -> None:
    assert serialize_tool_definition(_FORECAST) == snapshot(
        {
            "schemaVersion": "2020-12",
            "id": "weather:forecast@1.2.0",
            "namespace": "weather",
            "name": "forecast",
            "version": "1.2.0",
            "title": "Forecast",
            "description": "The weather of the next days.",
            "inputSchema": {
                "additionalProperties": False,
                "properties": {
                    "units": {"default": None, "enum": ["metric", "imperial"]},
                    "city": {"description": "Where", "type": "string"},
                    "days": {"maximum": 14, "minimum": 1, "type": "integer"},
                },
                "required": ["city"],
                "type": "object",
            },
            "outputSchema": {"type": "object"},
            "tags": ["weather", "read-only"],
            "examples": ["will it rain in Oslo?"],
            "inputExamples": [{"city": "Oslo", "days": 2}],
            "kind": "tool",
            "risk": {
                "effects": "read",
                "destructive": False,
                "idempotent": False,
                "requiresApproval": False,
                "dataSensitivity": "internal",
                "externalNetwork": True,
                "systemAccess": False,
            },
            "lifecycle": {"deprecated": True, "replacedBy": "weather:outlook"},
            "costHint": 0.5,
            "metadata": {"a": "x", "z": {"a": [None, True], "b": 1}},
            "serialization": {
                "lossy": True,
                "warnings": [
                    {"pointer": "/properties/city", "feature": "validator", "message": "Only Python checks it."}
                ],
            },
        }
    )


@pytest.mark.req("AR-6.1", "D1-0v")
def test_keys_are_sorted_but_parameters_keep_the_order_of_their_author() -> None:
    schema = json.loads(_FORECAST.wire_json)["inputSchema"]

    assert list(schema) == ["additionalProperties", "properties", "required", "type"]
    assert list(schema["properties"]) == ["units", "city", "days"]
    assert list(schema["properties"]["days"]) == ["maximum", "minimum", "type"]


@pytest.mark.req("AR-6.1")
def test_a_property_called_properties_is_a_parameter_like_any_other() -> None:
    inner = {"type": "object", "properties": {"z": {}, "properties": {"type": "object", "default": {"z": 1, "a": 2}}}}
    definition = ToolDefinition(name="t", input_schema=inner)

    schema = json.loads(definition.wire_json)["inputSchema"]

    assert list(schema["properties"]) == ["z", "properties"]
    assert list(schema["properties"]["properties"]["default"]) == ["a", "z"]


@pytest.mark.req("AR-6.1", "D1-8c")
def test_deserializing_is_the_inverse_of_serializing() -> None:
    revived = deserialize_tool_definition(serialize_tool_definition(_FORECAST))

    assert revived == _FORECAST
    assert revived.wire_json == _FORECAST.wire_json
    assert deserialize_tool_definition(_FORECAST.wire_json) == _FORECAST
    assert deserialize_tool_definition(_FORECAST.wire_json.decode()) == _FORECAST


@pytest.mark.req("AR-6.1")
def test_what_was_serialized_can_be_changed_without_changing_the_definition() -> None:
    serialized = serialize_tool_definition(_FORECAST)
    before = _FORECAST.wire_json

    serialized["inputSchema"].clear()

    assert serialize_tool_definition(_FORECAST)["inputSchema"] != {}
    assert _FORECAST.wire_json == before


@pytest.mark.req("AR-6.2", "D1-6c")
def test_what_was_lost_is_said_with_its_pointer() -> None:
    whole = ToolDefinition(name="t")

    assert serialize_tool_definition(whole)["serialization"] == {"lossy": False, "warnings": []}
    assert serialize_tool_definition(_FORECAST)["serialization"]["lossy"] is True
    assert serialize_tool_definition(_FORECAST)["serialization"]["warnings"][0]["pointer"] == "/properties/city"


_CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x00")
_SCALARS: Any = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(_CHARACTERS, max_size=5)
_JSON: Any = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(_CHARACTERS, max_size=4), inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)


@pytest.mark.req("AR-6.1", "AR-6.3")
@settings(max_examples=150)
@given(
    namespace=_NAMES,
    name=_NAMES,
    version=st.none() | _NAMES,
    title=st.none() | st.text(_CHARACTERS, max_size=8),
    description=st.text(_CHARACTERS, max_size=20),
    metadata=st.dictionaries(st.text(_CHARACTERS, max_size=4), _JSON, max_size=3),
    cost_hint=st.floats(0, 1e9),
)
def test_every_definition_comes_back_as_it_was(**fields: Any) -> None:
    definition = ToolDefinition(**fields)

    revived = deserialize_tool_definition(definition.wire_json)

    assert revived == definition
    assert revived.wire_json == definition.wire_json
    assert revived.id == definition.id


@pytest.mark.req("AR-6.1")
@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"schemaVersion": "draft-07"}, InvalidDefinition, "2020-12"),
        ({"id": "weather:other@1.2.0"}, InvalidDefinition, "says it is"),
        ({"descripton": "x"}, InvalidDefinition, "descripton"),
        ({"serialization": 3}, InvalidDefinition, "serialization"),
        ({"serialization": {"odd": 1}}, InvalidDefinition, "serialization"),
        ({"inputSchema": {"type": "objekt"}}, CatalogError, "input_schema|inputSchema"),
        ({"metadata": []}, CatalogError, "metadata"),
    ],
)
def test_reading_something_else_is_a_clear_error(change: dict[str, Any], error: type[ToolError], said: str) -> None:
    with pytest.raises(error, match=said):
        deserialize_tool_definition({**serialize_tool_definition(_FORECAST), **change})


@pytest.mark.req("AR-6.1")
@pytest.mark.parametrize("text", ["[]", "nope", "", b"\xff"])
def test_text_that_is_not_a_json_object_is_refused(text: str | bytes) -> None:
    with pytest.raises(MalformedJson):
        deserialize_tool_definition(text)


def _some_tools() -> list[ToolDefinition]:
    return [
        _FORECAST.replace(name=f"tool_{number}", version=None if number % 3 else f"{number}.0.0", lossy=())
        for number in range(12)
    ]


@pytest.mark.fault("A9")
@pytest.mark.req("AR-6.1", "D1-6b")
def test_the_bytes_of_a_registry_do_not_depend_on_the_order_of_registration() -> None:
    tools, aliases = _some_tools(), {"weather:b": "weather:tool_1", "weather:a": "weather:b"}
    expected = registry_json(create_registry(tools, aliases=aliases))

    for seed in range(100):
        shuffled = random.Random(seed).sample(tools, len(tools))
        assert registry_json(create_registry(shuffled, aliases=dict(reversed(aliases.items())))) == expected


@pytest.mark.req("AR-6.1", "AR-2.1")
def test_a_registry_comes_back_with_its_tools_and_aliases() -> None:
    registry = create_registry(_some_tools(), aliases={"weather:a": "weather:tool_1"})

    revived = deserialize_registry(serialize_registry(registry))

    assert revived.list() == registry.list()
    assert registry_json(revived) == registry_json(registry)
    assert registry.serialize() == serialize_registry(registry)


def test_a_serialized_registry_with_unknown_keys_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="`extra`"):
        deserialize_registry({"tools": [], "extra": 1})


_PRINT_DIGEST = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from test_serialization import _some_tools
from toolcrib_core.registry import create_registry
from toolcrib_core.serialization import registry_json
print(hashlib.sha256(registry_json(create_registry(_some_tools()))).hexdigest())
"""


@pytest.mark.req("AR-6.1", "D1-6b")
@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_the_bytes_do_not_depend_on_the_hash_seed(seed: str) -> None:
    here = str(Path(__file__).parent)
    printed = [
        subprocess.run(
            [sys.executable, "-c", _PRINT_DIGEST, here],
            env={**os.environ, "PYTHONHASHSEED": each},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for each in (seed, "random")
    ]

    assert len(set(printed)) == 1
