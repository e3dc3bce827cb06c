"""Definitions from functions, models, TypedDicts, dataclasses and JSON Schemas."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

from toolcrib_core.context import ToolContext
from toolcrib_core.definition import ToolDefinition, ToolLifecycle
from toolcrib_core.errors import CatalogError, InvalidDefinition, NotJson
from toolcrib_core.json_values import thaw
from toolcrib_core.risk import ToolRisk
from toolcrib_core.sources import define_tool


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    code: Annotated[str, Field(pattern=r"^\d{5}$")]


class Person(BaseModel):
    name: str
    home: Address | None = None
    friends: list[Person] = []


class Options(TypedDict, total=False):
    verbose: bool
    limit: Annotated[int, Field(ge=1)]


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    norm: float = dataclasses.field(init=False, default=0.0)


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class RunContext(ToolContext):
    pass


class Connection:
    pass


def plan(city: str, person: Person) -> Address:
    """Plan a journey."""
    raise NotImplementedError


def schema_of(source: Any, **fields: Any) -> dict[str, Any]:
    plain: dict[str, Any] = thaw(define_tool(source, **fields).input_schema)
    return plain


@pytest.mark.req("AR-1.1")
def test_a_model_class_becomes_a_definition_without_repeating_its_name() -> None:
    definition = define_tool(Person)

    assert definition.name == "person"
    assert thaw(definition.input_schema) == snapshot(
        {
            "$defs": {
                "Address_79a360d7": {
                    "additionalProperties": False,
                    "description": "Where somebody lives.",
                    "properties": {"street": {"type": "string"}, "code": {"pattern": "^\\d{5}$", "type": "string"}},
                    "required": ["street", "code"],
                    "type": "object",
                },
                "Person_f201d162": {
                    "additionalProperties": False,
                    "properties": {
                        "name": {"type": "string"},
                        "home": {"anyOf": [{"$ref": "#/$defs/Address_79a360d7"}, {"type": "null"}], "default": None},
                        "friends": {"default": [], "items": {"$ref": "#/$defs/Person_f201d162"}, "type": "array"},
                    },
                    "required": ["name"],
                    "type": "object",
                },
            },
            "additionalProperties": False,
            "properties": {
                "name": {"type": "string"},
                "home": {"anyOf": [{"$ref": "#/$defs/Address_79a360d7"}, {"type": "null"}], "default": None},
                "friends": {"default": [], "items": {"$ref": "#/$defs/Person_f201d162"}, "type": "array"},
            },
            "required": ["name"],
            "type": "object",
        }
    )


@pytest.mark.req("AR-1.1")
def test_a_dataclass_offers_what_its_constructor_takes() -> None:
    definition = define_tool(Point)

    assert (definition.name, definition.description) == ("point", "")
    assert thaw(definition.input_schema) == {
        "additionalProperties": False,
        "properties": {"x": {"type": "number"}, "y": {"default": 0.0, "type": "number"}},
        "required": ["x"],
        "type": "object",
    }


class SearchHTTPIndex(TypedDict):
    """Search the index.

    Attributes:
        text: What to look for.
    """

    text: str
    limit: NotRequired[int]


@pytest.mark.req("AR-1.1")
def test_a_typed_dict_becomes_a_definition_with_a_name_in_snake_case() -> None:
    definition = define_tool(SearchHTTPIndex)

    assert (definition.name, definition.description) == ("search_http_index", "Search the index.")
    assert definition.input_schema["required"] == ["text"]
    assert definition.input_schema["properties"]["text"]["description"] == "What to look for."


@pytest.mark.req("AR-1.1")
def test_a_json_schema_is_taken_as_it_is() -> None:
    schema = {
        "title": "Look up",
        "description": "Looks things up.",
        "type": "object",
        "properties": {"b": {"$ref": "#/$defs/mine"}, "a": {"title": "A"}},
        "$defs": {"mine": {"type": "string"}, "unused": {}},
    }

    definition = define_tool(schema, name="look_up")

    assert thaw(definition.input_schema) == schema
    assert (definition.title, definition.description) == ("Look up", "Looks things up.")


@pytest.mark.req("AR-1.1")
def test_every_other_field_of_a_definition_can_be_given() -> None:
    fields: dict[str, Any] = {
        "name": "other",
        "namespace": "weather",
        "version": "2.0.0",
        "title": "Other",
        "description": "Something else.",
        "tags": ("weather",),
        "examples": ("Will it rain?",),
        "input_examples": ({"city": "Oslo"},),
        "kind": "agent",
        "risk": ToolRisk(effects="read"),
        "lifecycle": ToolLifecycle(deprecated=True),
        "cost_hint": 2.0,
        "metadata": {"team": "sky"},
        "upstream_name": "forecast-v2",
    }

    definition = define_tool(plan, output=False, **fields)

    assert {name: getattr(definition, name) for name in fields} == fields
    assert definition.output_schema is None


class Closed(BaseModel):
    a: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Indifferent(BaseModel):
    model_config = ConfigDict(extra="ignore")
    a: int


class Extras(TypedDict, extra_items=int):  # type: ignore[call-arg]  # PEP 728, which mypy does not know yet
    a: int


@pytest.mark.fault("B10")
@pytest.mark.parametrize(
    ("source", "additional"),
    [
        (Closed, False),
        (Open, True),
        (Indifferent, None),
        (Extras, {"type": "integer"}),
        (Options, False),
        (Point, False),
    ],
)
def test_objects_are_closed_unless_the_source_says_otherwise(source: type, additional: object) -> None:
    def tool(it: Any) -> None: ...

    tool.__annotations__ = {"it": source}

    assert schema_of(source).get("additionalProperties") == additional
    [nested] = schema_of(tool)["$defs"].values()
    assert nested.get("additionalProperties") == additional
    assert schema_of(tool)["additionalProperties"] is False


def test_an_output_can_be_given_as_a_type_or_as_a_json_schema() -> None:
    as_type, as_schema = define_tool(Point, output=list[int]), define_tool(Point, output={"type": "array"})

    assert as_type.output_schema == {"type": "array", "items": {"type": "integer"}}
    assert as_schema.output_schema == {"type": "array"}


@pytest.mark.req("AR-6.2")
def test_dates_decimals_and_the_like_have_a_schema() -> None:
    def tool(at: dt.datetime, day: dt.date, amount: Decimal = Decimal("1.5")) -> None: ...

    schema = schema_of(tool)

    assert schema["properties"]["at"] == {"type": "string", "format": "date-time"}
    assert schema["properties"]["day"] == {"type": "string", "format": "date"}
    assert schema["properties"]["amount"]["default"] == "1.5"


class Dangling(BaseModel):
    there: Nowhere  # type: ignore[name-defined]  # noqa: F821  # the point


def test_a_model_with_an_undefined_type_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidDefinition, match="not defined") as caught:
        define_tool(Dangling)

    assert "model_rebuild" in str(caught.value.hint)


def test_a_root_model_that_is_no_object_is_refused() -> None:
    with pytest.raises(CatalogError, match="object"):
        define_tool(RootModel[list[int]], name="numbers")


def test_a_schema_keyword_that_is_not_json_is_refused_with_its_place() -> None:
    def tool(city: Annotated[str, Field(json_schema_extra={"x-limit": float("inf")})]) -> None: ...

    with pytest.raises(NotJson, match="x-limit"):
        define_tool(tool)


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


def test_a_tagged_union_has_no_word_that_is_not_json_schema() -> None:
    def tool(pet: Annotated[Cat | Dog, Field(discriminator="kind")]) -> None: ...

    [cat, dog] = schema_of(tool)["properties"]["pet"]["oneOf"]

    assert schema_of(tool)["properties"]["pet"].keys() == {"oneOf"}
    assert {cat["$ref"], dog["$ref"]} == {f"#/$defs/{name}" for name in schema_of(tool)["$defs"]}


def test_titles_of_the_authors_own_are_kept() -> None:
    class Titled(BaseModel):
        model_config = ConfigDict(title="Look up")
        city: int = Field(title="The city")

    definition = define_tool(Titled)

    assert definition.title == "Look up"
    assert definition.input_schema["properties"]["city"]["title"] == "The city"


def test_a_definition_made_from_a_source_is_a_plain_definition() -> None:
    definition = define_tool(plan)

    assert ToolDefinition(**definition.model_dump()) == definition
