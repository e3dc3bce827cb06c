"""`ToolDefinition`: strict, deeply immutable, with an id and digests of its own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from toolcrib_core.definition import LossyFeature, ToolDefinition, ToolLifecycle, is_tool_definition
from toolcrib_core.errors import CatalogError, InvalidDefinition, InvalidSchema, InvalidToolId, NotJson, ToolError
from toolcrib_core.identity import ToolIdentity, hash8
from toolcrib_core.risk import ToolRisk

_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": None}},
    "required": ["city"],
}


def _forecast(**changes: Any) -> ToolDefinition:
    fields: dict[str, Any] = {"namespace": "weather", "name": "forecast", "input_schema": _SCHEMA}
    return ToolDefinition(**fields | changes)


@pytest.mark.req("AR-1.1", "D1-0a", "D1-1k", "D1-2f", "D1-2g")
def test_a_definition_holds_everything_the_contract_lists_and_no_handler() -> None:
    assert set(ToolDefinition.model_fields) == {
        *("namespace", "name", "version", "title", "description", "input_schema", "output_schema", "tags", "examples"),
        *("input_examples", "kind", "risk", "lifecycle", "cost_hint", "metadata", "upstream_name", "lossy"),
    }


@pytest.mark.req("AR-1.1", "D1-2e")
@pytest.mark.parametrize(
    "fields",
    [
        {"namespace": "weather", "name": "forecast", "version": "1.0.0"},
        {"identity": "weather:forecast@1.0.0"},
        {"identity": {"namespace": "weather", "name": "forecast", "version": "1.0.0"}},
        {"identity": ToolIdentity(namespace="weather", name="forecast", version="1.0.0")},
        {"identity": "weather:forecast@1.0.0", "name": "forecast"},
    ],
)
def test_the_identity_can_be_given_flat_or_whole(fields: dict[str, Any]) -> None:
    assert ToolDefinition(**fields).id == "weather:forecast@1.0.0"


@pytest.mark.req("AR-1.1")
def test_camel_case_of_the_wire_and_snake_case_of_python_mean_the_same() -> None:
    snake = ToolDefinition(name="t", input_schema=_SCHEMA, cost_hint=2, risk={"data_sensitivity": "secret"})
    camel = ToolDefinition(name="t", inputSchema=_SCHEMA, costHint=2, risk={"dataSensitivity": "secret"})

    assert snake == camel


@pytest.mark.req("AR-1.4", "CT-20", "D1-0c")
def test_an_unversioned_tool_carries_a_hash_only_if_it_comes_from_a_server() -> None:
    assert _forecast().id == "weather:forecast"
    assert _forecast(version="2.0.0").id == "weather:forecast@2.0.0"
    assert _forecast(upstream_name="weather.forecast", version="2.0.0").id == "weather:forecast@2.0.0"
    assert _forecast(upstream_name="weather.forecast").id == f"weather:forecast#{hash8('weather.forecast', _SCHEMA)}"


@pytest.mark.req("AR-1.1")
def test_a_definition_and_everything_in_it_refuses_changes() -> None:
    definition = _forecast(metadata={"team": {"name": "sky"}}, input_examples=[{"city": "Oslo"}])

    with pytest.raises(ValidationError, match="frozen"):
        definition.name = "other"  # type: ignore[misc]  # on purpose
    for change in (
        lambda: definition.input_schema.update(x=1),
        lambda: definition.input_schema["properties"]["city"].clear(),
        lambda: definition.input_schema["required"].append("days"),
        lambda: definition.metadata["team"].update(name="x"),
        lambda: definition.input_examples[0].clear(),
    ):
        with pytest.raises(TypeError, match="frozen"):
            change()


@pytest.mark.req("AR-1.1")
def test_changing_what_a_definition_was_built_from_does_not_change_it() -> None:
    schema = copy.deepcopy(_SCHEMA)
    definition = _forecast(input_schema=schema)
    before = definition.wire_json

    schema["properties"]["city"]["type"] = "integer"  # type: ignore[index]  # plain JSON

    assert ToolDefinition.model_validate(definition.model_dump()).wire_json == before
    assert definition.input_schema == _SCHEMA


@pytest.mark.req("AR-1.1")
def test_every_violation_is_reported_at_once() -> None:
    with pytest.raises(InvalidDefinition) as caught:
        ToolDefinition(name="", tags=["{x}"], kind="robot", cost_hint=float("inf"), metadata={"a": {1}}, handler=print)

    violations: Any = caught.value.details["violations"]
    assert [each["pointer"] for each in violations] == [
        "/name",
        "/tags",
        "/kind",
        "/cost_hint",
        "/metadata",
        "/handler",
    ]
    assert violations[4]["code"] == "toolbox.not-json"
    assert "Traceback" not in str(caught.value)


@pytest.mark.req("AR-1.1")
def test_a_misspelt_field_is_answered_with_the_right_one() -> None:
    with pytest.raises(
        InvalidDefinition, match="`/descripton` is not known here; did you mean `description`"
    ) as caught:
        ToolDefinition(descripton="x")

    assert "`/name` is missing" in caught.value.message


@pytest.mark.req("AR-1.1", "AR-6.3", "AR-6.4", "D1-0y", "D1-6g")
@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"metadata": {"when": object()}}, NotJson, "/when"),
        ({"input_schema": {"type": "objekt"}}, InvalidSchema, "input_schema"),
        ({"output_schema": {"properties": 3}}, InvalidSchema, "output_schema"),
        ({"input_schema": {"type": "array"}}, InvalidDefinition, "must describe an object"),
        ({"input_schema": [1]}, NotJson, "expected an object"),
        ({"identity": "a:b:c"}, InvalidToolId, "a:b:c"),
        ({"identity": "a:forecast", "name": "other"}, InvalidDefinition, "say different things"),
        ({"name": "n" * 300}, InvalidDefinition, "256"),
        ({"version": ""}, InvalidDefinition, "empty"),
        ({"description": "\ud800"}, NotJson, "surrogate"),
        ({"title": "a\x00"}, NotJson, "NUL"),
    ],
)
def test_a_single_fault_raises_the_narrowest_error(fields: dict[str, Any], error: type[ToolError], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        ToolDefinition(**{"name": "forecast"} | fields)

    assert type(caught.value) is error
    assert isinstance(caught.value, CatalogError)


@pytest.mark.fault("A2")
@pytest.mark.req("AR-1.4")
def test_a_name_with_a_look_alike_letter_is_refused() -> None:
    ToolDefinition(namespace="fs", name="read")

    with pytest.raises(InvalidDefinition, match="ASCII"):
        ToolDefinition(namespace="fs", name="rеad")


@pytest.mark.req("AR-1.3", "D1-0m")
def test_a_lifecycle_says_since_when_until_when_and_what_to_use_instead() -> None:
    definition = _forecast(
        lifecycle={
            "deprecated": True,
            "message": "Use v2.",
            "since": "1.4.0",
            "sunset": "2027-01-31",
            "replacedBy": "weather:forecast@2.0.0",
        }
    )

    assert definition.lifecycle.sunset is not None
    assert definition.lifecycle.sunset.year == 2027
    assert definition.lifecycle.replaced_by == "weather:forecast@2.0.0"
    assert not ToolLifecycle().deprecated


@pytest.mark.req("AR-1.6")
def test_the_shape_digest_covers_the_whole_schemas_and_nothing_else() -> None:
    base = _forecast()
    nested = copy.deepcopy(_SCHEMA)
    nested["properties"]["days"]["maximum"] = 7  # type: ignore[index]  # plain JSON

    assert _forecast(description="new", title="T", examples=["x"]).shape_digest == base.shape_digest
    assert _forecast(input_schema=dict(reversed(_SCHEMA.items()))).shape_digest == base.shape_digest
    assert _forecast(input_schema=nested).shape_digest != base.shape_digest
    assert _forecast(input_schema=nested).id == base.id
    assert _forecast(output_schema={"type": "object"}).shape_digest != base.shape_digest


@pytest.mark.req("AR-1.6")
@pytest.mark.parametrize(
    "change",
    [
        {"title": "T"},
        {"description": "D"},
        {"examples": ["x"]},
        {"input_examples": [{"city": "Oslo"}]},
        {"tags": ["x"]},
        {"risk": ToolRisk(destructive=True)},
        {"metadata": {"annotations": {"readOnlyHint": False}}},
    ],
)
def test_the_prose_digest_changes_with_every_word_and_annotation(change: dict[str, Any]) -> None:
    base = _forecast()

    assert _forecast(**change).prose_digest != base.prose_digest
    assert _forecast(**change).shape_digest == base.shape_digest
    assert _forecast(**change).digest != base.digest


@pytest.mark.req("AR-1.6")
def test_an_integer_of_64_bits_in_a_schema_has_a_digest() -> None:
    wide = _forecast(input_schema={"type": "object", "properties": {"n": {"maximum": 2**63 - 1}}})
    wider = _forecast(input_schema={"type": "object", "properties": {"n": {"maximum": 2**63 - 2}}})

    assert wide.shape_digest != wider.shape_digest


def test_a_changed_copy_is_checked_and_gets_its_own_id() -> None:
    definition = _forecast()
    assert definition.id == "weather:forecast"

    assert definition.model_copy(update={"version": "1.0.0"}).id == "weather:forecast@1.0.0"
    assert definition.replace(name="alerts").name == "alerts"
    assert definition.model_copy() is definition
    with pytest.raises(InvalidDefinition):
        definition.replace(name="")


def test_equal_definitions_are_equal_and_hash_alike_even_after_pickling() -> None:
    one, other = _forecast(), _forecast(input_schema=dict(reversed(_SCHEMA.items())))
    _ = one.digest

    assert one == other
    assert len({one, other, pickle.loads(pickle.dumps(one))}) == 1
    assert one != _forecast(description="x")


@pytest.mark.req("AR-1.7", "D1-1e")
def test_only_definitions_are_definitions() -> None:
    assert is_tool_definition(_forecast())
    assert not is_tool_definition(_forecast().model_dump())
    assert not is_tool_definition(ToolDefinition)


@pytest.mark.req("AR-1.1")
def test_what_the_schema_cannot_say_stays_with_the_definition() -> None:
    lost = LossyFeature(
        pointer="/properties/city", feature="validator", message="A Python validator is not in the schema."
    )

    assert _forecast(lossy=[lost]).lossy == (lost,)
