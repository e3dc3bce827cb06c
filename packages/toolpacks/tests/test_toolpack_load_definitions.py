"""A pack as a tool definition: its identity, what it says, and its risk; and the schema of the file format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from loading_packs import CHILDREN, CLI, GOOD, loaded, pack_with, write

import toolcrib_toolpacks
from toolcrib_core import check_schema, create_registry, findability, make_card, serialize_tool_definition
from toolcrib_toolpacks import toolpack_schema

HTTP = {"kind": "http", "url": "https://example.com/"}


@pytest.mark.req("TP-13")
def test_the_first_segment_of_the_id_is_the_namespace_and_the_rest_the_name(tmp_path: Path) -> None:
    write(tmp_path, {"id": "docs.load.fetch", "version": "0.1.0"})

    definition = loaded(tmp_path).definition

    assert (definition.namespace, definition.name, definition.version) == ("docs", "load.fetch", "0.1.0")
    assert definition.id == "docs:load.fetch@0.1.0"


@pytest.mark.req("TP-13")
def test_what_a_pack_says_of_itself_is_in_its_definition(tmp_path: Path) -> None:
    example = {"request": "rain in Ulm?", "input": {"city": "Ulm"}}
    failing = {"input": {"city": 3}, "error": "validation"}
    write(
        tmp_path,
        {
            "name": "Forecast",
            "description": "What the weather will be.",
            "tags": ["Weather"],
            "examples": [example, failing],
            "searchCases": ["will it rain"],
            "metadata": {"owner": "me"},
        },
    )

    pack = loaded(tmp_path)
    definition = pack.definition

    assert (definition.title, definition.description) == ("Forecast", "What the weather will be.")
    assert definition.tags == ("weather",)
    assert (definition.examples, definition.input_examples) == (("rain in Ulm?",), ({"city": "Ulm"},))
    assert definition.metadata["owner"] == "me"
    assert definition.metadata["searchCases"] == ["will it rain"]
    assert definition.metadata["toolpack"] == {
        "id": "weather.forecast",
        "kind": "python",
        "deterministic": True,
        "contentHash": pack.content_hash,
    }


@pytest.mark.req("TP-13")
def test_a_definition_goes_where_every_definition_goes(tmp_path: Path) -> None:
    write(tmp_path, {"title": "Forecast", "description": "Rain and sun.", "searchCases": ["will there be rain"]})
    definition = loaded(tmp_path).definition

    registry = create_registry()
    registry.register(definition)
    report = findability(registry.search_index())

    assert registry.resolve("weather:forecast") is definition
    assert make_card(definition).id == definition.id
    assert serialize_tool_definition(definition)["id"] == "weather:forecast@1.0.0"
    assert [case.rank for case in report.cases] == [1]


@pytest.mark.req("TP-13")
@pytest.mark.parametrize(
    ("changes", "risk"),
    [
        ({}, {"effects": "unknown", "system_access": False, "external_network": False}),
        ({"risk": {"effects": "none"}}, {"effects": "none", "system_access": False}),
        ({"risk": {"effects": "none"}, "caps": {"filesystem": {"read": ["."]}}}, {"effects": "read"}),
        ({"risk": {"effects": "read"}, "caps": {"filesystem": {"write": ["."]}}}, {"effects": "write"}),
        ({"risk": {"effects": "none"}, "caps": {"network": ["https"]}}, {"effects": "read", "external_network": True}),
        ({"risk": {"effects": "none"}, "execution": CLI, "caps": CHILDREN}, {"effects": "read", "system_access": True}),
        (
            {
                "risk": {"effects": "none"},
                "execution": {**HTTP, "method": "DELETE"},
                "caps": {"network": ["https"]},
            },
            {"effects": "write", "external_network": True},
        ),
        ({"risk": {"effects": "write", "destructive": True}}, {"effects": "write", "destructive": True}),
    ],
)
def test_the_risk_is_what_the_author_says_and_never_less_than_the_capabilities_allow(
    tmp_path: Path, changes: dict[str, Any], risk: dict[str, object]
) -> None:
    write(tmp_path, changes)

    found = loaded(tmp_path).definition.risk

    assert {key: getattr(found, key) for key in risk} == risk


@pytest.mark.req("TP-3")
def test_the_schema_of_the_file_takes_good_packs_and_refuses_bad_ones() -> None:
    schema = toolpack_schema()
    validator = jsonschema.Draft202012Validator(schema)

    check_schema(schema)
    assert validator.is_valid(json.loads(json.dumps(GOOD)))
    assert validator.is_valid(pack_with({"execution": CLI, "caps": CHILDREN, "env": {"set": {"A": "1"}}}))
    for changes in ({"timeout_ms": 1}, {"timeoutMs": 0}, {"id": "x"}, {"execution": {"kind": "ruby"}}, {"caps": []}):
        assert not validator.is_valid(pack_with(changes)), changes


def test_the_face_of_the_package_has_what_it_lists_and_nothing_else() -> None:
    assert all(getattr(toolcrib_toolpacks, name) is not None for name in toolcrib_toolpacks.__all__)
    assert set(toolcrib_toolpacks.__all__) <= set(dir(toolcrib_toolpacks))
    with pytest.raises(AttributeError, match="has no attribute `Toolpak`"):
        _ = toolcrib_toolpacks.Toolpak
