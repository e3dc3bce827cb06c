"""Definitions from functions: parameters, docstrings, results, and what is refused."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import Field
from typing_extensions import TypedDict

from toolcrib_core.context import ToolContext
from toolcrib_core.docstrings import parse_docstring
from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.json_values import thaw
from toolcrib_core.schema.canonical import canonical_json
from toolcrib_core.sources import define_tool


class Options(TypedDict, total=False):
    verbose: bool
    limit: Annotated[int, Field(ge=1)]


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class RunContext(ToolContext):
    pass


class Connection:
    pass


def forecast(
    city: str,
    day: dt.date,
    ctx: ToolContext,
    unit: Unit = Unit.CELSIUS,
    days: Annotated[int, Field(gt=0, le=14)] = 3,
) -> list[float]:
    """Forecast the weather.

    Asks the nearest station.

    Args:
        city: The city
            to ask about.
        day: The first day.

    Returns:
        One temperature a day.
    """
    raise NotImplementedError


def schema_of(source: Any) -> dict[str, Any]:
    plain: dict[str, Any] = thaw(define_tool(source).input_schema)
    return plain


@pytest.mark.req("AR-1.1", "D1-0t")
def test_a_function_becomes_a_definition_with_its_names_types_defaults_and_docstring() -> None:
    definition = define_tool(forecast, version="1.0.0")

    assert definition.model_dump(mode="json", by_alias=True, exclude_defaults=True) == snapshot(
        {
            "name": "forecast",
            "version": "1.0.0",
            "description": """\
Forecast the weather.

Asks the nearest station.\
""",
            "inputSchema": {
                "$defs": {"Unit_a531f820": {"enum": ["c", "f"], "type": "string"}},
                "additionalProperties": False,
                "properties": {
                    "city": {"description": "The city to ask about.", "type": "string"},
                    "day": {"description": "The first day.", "format": "date", "type": "string"},
                    "unit": {"$ref": "#/$defs/Unit_a531f820", "default": "c"},
                    "days": {"default": 3, "exclusiveMinimum": 0, "maximum": 14, "type": "integer"},
                },
                "required": ["city", "day"],
                "type": "object",
            },
            "outputSchema": {"description": "One temperature a day.", "items": {"type": "number"}, "type": "array"},
        }
    )


@pytest.mark.req("AR-1.1")
def test_parameters_keep_the_authors_order() -> None:
    def tool(zebra: int, apple: int, *, mango: int = 1) -> None: ...

    assert list(schema_of(tool)["properties"]) == ["zebra", "apple", "mango"]


@pytest.mark.req("RT-1")
def test_an_async_function_reads_like_a_sync_one() -> None:
    async def tool(city: str) -> int:
        raise NotImplementedError

    definition = define_tool(tool)

    assert schema_of(tool)["required"] == ["city"]
    assert definition.output_schema == {"type": "integer"}


GOOGLE = "Do it.\n\nArgs:\n    city (str): The city.\n"
NUMPY = "Do it.\n\nParameters\n----------\ncity : str\n    The city.\n"
REST = "Do it.\n\n:param city: The city.\n"


@pytest.mark.req("RT-1")
@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_parameter_descriptions_are_read_from_every_docstring_style(docstring: str) -> None:
    def tool(city: str) -> None: ...

    tool.__doc__ = docstring

    definition = define_tool(tool)

    assert definition.description == "Do it."
    assert definition.input_schema["properties"]["city"] == {"type": "string", "description": "The city."}


@pytest.mark.req("RT-1")
def test_what_a_parameter_says_itself_goes_before_the_docstring() -> None:
    def tool(
        field: Annotated[int, Field(description="field wins")],
        text: Annotated[int, "text wins"],
        both: Annotated[int, "text", Field(description="field wins")],
    ) -> None:
        """Do it.

        Args:
            field: docstring
            text: docstring
            both: docstring
        """

    described = {name: each["description"] for name, each in schema_of(tool)["properties"].items()}

    assert described == {"field": "field wins", "text": "text wins", "both": "field wins"}


@given(st.text())
@settings(max_examples=100)
def test_every_text_can_be_read_as_a_docstring(text: str) -> None:
    parsed = parse_docstring(text)

    assert parsed.description.strip() == parsed.description


def test_a_parameter_named_without_a_word_has_no_description() -> None:
    def tool(city: str) -> None:
        """Do it.

        :param city:
        """

    assert schema_of(tool)["properties"]["city"] == {"type": "string"}


@pytest.mark.req("AR-1.1")
def test_an_alias_is_the_name_of_the_property() -> None:
    def tool(city_name: Annotated[str, Field(alias="cityName")]) -> None:
        """Do it.

        Args:
            city_name: The city.
        """

    schema = schema_of(tool)

    assert schema["properties"] == {"cityName": {"type": "string", "description": "The city."}}
    assert schema["required"] == ["cityName"]


@pytest.mark.req("AR-4.1")
@pytest.mark.parametrize(
    "annotation", [ToolContext, RunContext, ToolContext | None, Annotated[RunContext, "the run"]], ids=str
)
def test_a_parameter_that_takes_the_context_is_no_argument(annotation: Any) -> None:
    def tool(city: str, run: Any) -> None: ...

    tool.__annotations__ = {"city": str, "run": annotation}

    assert list(schema_of(tool)["properties"]) == ["city"]


def test_a_parameter_without_annotation_takes_any_value() -> None:
    def tool(anything, other=3):  # type: ignore[no-untyped-def]  # the point of the test
        raise NotImplementedError

    schema = schema_of(tool)

    assert schema["properties"] == {"anything": {}, "other": {"default": 3}}
    assert define_tool(tool).lossy == ()


def test_keywords_of_an_unpacked_typed_dict_are_properties() -> None:
    def tool(city: str, **options: Unpack[Options]) -> None:
        """Do it.

        Args:
            verbose: Say more.
        """

    schema = schema_of(tool)

    assert schema["properties"]["verbose"] == {"type": "boolean", "description": "Say more."}
    assert schema["properties"]["limit"] == {"type": "integer", "minimum": 1}
    assert schema["required"] == ["city"]
    assert schema["additionalProperties"] is False


class OpenOptions(TypedDict, extra_items=int):  # type: ignore[call-arg]  # PEP 728, which mypy does not know yet
    verbose: bool


def test_keywords_of_an_open_typed_dict_leave_the_object_open() -> None:
    def tool(city: str, **options: Unpack[OpenOptions]) -> None: ...

    assert schema_of(tool)["additionalProperties"] == {"type": "integer"}


class Service:
    """A service."""

    def __init__(self, key: str) -> None:
        self.key = key

    def find(self, query: str) -> list[str]:
        """Find things."""
        raise NotImplementedError

    @classmethod
    def about(cls, topic: str) -> str:
        raise NotImplementedError

    def __call__(self, again: bool) -> None: ...  # noqa: FBT001  # a parameter like any


def test_bound_methods_and_callable_objects_leave_self_out() -> None:
    service = Service("k")

    bound, of_class, called = define_tool(service.find), define_tool(Service.about), define_tool(service)

    assert (bound.name, list(bound.input_schema["properties"])) == ("find", ["query"])
    assert (of_class.name, list(of_class.input_schema["properties"])) == ("about", ["topic"])
    assert (called.name, called.description) == ("service", "A service.")
    assert list(called.input_schema["properties"]) == ["again"]


def test_values_bound_by_a_partial_are_neither_arguments_nor_visible() -> None:
    def tool(api_key: str, city: str) -> None: ...

    definition = define_tool(functools.partial(tool, api_key="s3cret"))

    assert definition.name == "tool"
    assert list(definition.input_schema["properties"]) == ["city"]
    assert b"s3cret" not in canonical_json(definition.model_dump(mode="json"))


NUMBER = {"type": "number"}


@pytest.mark.req("AR-1.1")
@pytest.mark.parametrize(
    ("returns", "schema"),
    [
        (str, {"type": "string"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Point, {"type": "object", "required": ["x"], "properties": {"x": NUMBER, "y": {"default": 0.0, **NUMBER}}}),
        (None, None),
        (Any, None),
        (AsyncIterator[int], None),
    ],
    ids=str,
)
def test_the_return_annotation_is_the_output_schema(returns: object, schema: object) -> None:
    def tool() -> Any: ...

    tool.__annotations__ = {"return": returns}

    assert define_tool(tool).output_schema == schema
    assert define_tool(tool).lossy == ()


def test_a_result_that_json_cannot_carry_has_no_output_schema_and_is_reported() -> None:
    def tool() -> Connection: ...  # type: ignore[empty-body]  # never called

    definition = define_tool(tool)

    assert definition.output_schema is None
    assert [(each.pointer, each.feature) for each in definition.lossy] == [("/outputSchema", "arbitrary-type")]


def positional_only(city: str, /) -> None: ...
def variadic(*cities: str) -> None: ...
def any_keyword(**options: int) -> None: ...
def unresolved(city: str, where: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821  # the point
def unresolved_inside(where: list[Nowhere]) -> None: ...  # type: ignore[name-defined]  # noqa: F821  # the point
def malformed(city: "list[") -> None: ...  # type: ignore[valid-type]  # noqa: F722  # the point
def not_a_type(city: 3) -> None: ...  # type: ignore[valid-type]  # the point
def takes_a_connection(city: str, conn: Connection) -> None: ...
def takes_a_callback(city: str, done: Callable[[int], None]) -> None: ...
def takes_a_class(kind: type[int]) -> None: ...
def bad_pattern(city: Annotated[str, Field(pattern="(")]) -> None: ...


REFUSED = [
    (positional_only, "Parameter `city` of `positional_only`", "by position"),
    (variadic, "Parameter `*cities` of `variadic`", "list"),
    (any_keyword, "`any_keyword`", "Unpack"),
    (unresolved, "Parameter `where` of `unresolved`", "`Nowhere`"),
    (unresolved_inside, "Parameter `where` of `unresolved_inside`", "`Nowhere`"),
    (malformed, "Parameter `city` of `malformed`", "not a type"),
    (dict.update, "`update`", "Wrap it"),
    (not_a_type, "Parameter `city` of `not_a_type`", "`3`"),
    (takes_a_connection, "Parameter `conn` of `takes_a_connection`", "`Connection`"),
    (takes_a_callback, "Parameter `done` of `takes_a_callback`", "`Callable[[int], None]`"),
    (takes_a_class, "Parameter `kind` of `takes_a_class`", "`type[int]`"),
    (bad_pattern, "Parameter `city` of `bad_pattern`", "constraint"),
    (Service.find, "`find`", "bound method"),
    (Connection, "`Connection`", "pydantic model"),
    (Unit, "`Unit`", "pydantic model"),
    (lambda city: city, "no name", "`name=`"),
    ({"type": "object"}, "no name", "`name=`"),
    (3, "`int`", "function"),
]


@pytest.mark.req("AR-5.3")
@pytest.mark.parametrize(("source", "names", "says"), REFUSED)
def test_what_cannot_be_a_tool_is_refused_in_one_sentence_with_a_hint(source: Any, names: str, says: str) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        define_tool(source)

    assert names in caught.value.message
    assert says in str(caught.value)
    assert caught.value.hint
    assert "pydantic.dev" not in str(caught.value)
    assert "\n" not in str(caught.value)
