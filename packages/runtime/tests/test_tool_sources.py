"""What a tool can be made of, and how its handler is then called."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from small_toolboxes import as_tool, called, error_of
from typing_extensions import TypedDict

from toolcrib_core import InvalidDefinition, ToolContext, ToolDefinition, ToolRisk, define_tool
from toolcrib_runtime import RuntimeToolContext, create_tool, is_runnable_tool, tool

pytestmark = pytest.mark.req("RT-1")

_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Place(BaseModel):
    """Where somebody is."""

    city: str
    country: str = "Norway"


class PlaceDict(TypedDict):
    city: str


@dataclass
class PlaceData:
    city: str


class Weather:
    def __init__(self, word: str) -> None:
        self.word = word

    def plain(self, city: str) -> str:
        """The weather."""
        return f"{self.word} in {city}"

    async def waiting(self, city: str) -> str:
        """The weather."""
        return f"{self.word} in {city}"


class CallablePlain:
    """A forecast."""

    def __call__(self, city: str) -> str:
        return f"sun in {city}"


class CallableAsync:
    """A forecast."""

    async def __call__(self, city: str, context: RuntimeToolContext) -> str:
        return f"sun in {city}, try {context.attempt}"


def plain(city: str) -> str:
    return f"sun in {city}"


async def waiting(city: str) -> str:
    return f"sun in {city}"


def with_word(word: str, city: str) -> str:
    return f"{word} in {city}"


async def with_word_waiting(word: str, city: str) -> str:
    return f"{word} in {city}"


@pytest.mark.parametrize(
    "function",
    [
        plain,
        waiting,
        Weather("sun").plain,
        Weather("sun").waiting,
        functools.partial(with_word, "sun"),
        functools.partial(with_word, word="sun"),
        functools.partial(with_word_waiting, word="sun"),
        CallablePlain(),
        functools.partial(CallablePlain()),
        lambda city: f"sun in {city}",
    ],
)
async def test_every_kind_of_function_becomes_a_tool_that_is_called_by_name(function: Any) -> None:
    made = as_tool(function, name="forecast")

    result = await called(made, {"city": "Oslo"})

    assert result.unwrap() == "sun in Oslo"
    assert list(made.definition.input_schema["properties"]) == ["city"]


async def test_a_callable_object_that_is_async_gets_its_context() -> None:
    result = await called(as_tool(CallableAsync(), name="forecast"), {"city": "Oslo"})

    assert result.unwrap() == "sun in Oslo, try 1"


async def test_a_plain_function_that_returns_a_coroutine_is_awaited_on_the_loop() -> None:
    def through(city: str) -> object:
        return waiting(city)

    assert (await called(through, {"city": "Oslo"})).unwrap() == "sun in Oslo"


def test_the_decorator_works_with_and_without_options() -> None:
    @tool
    def bare(city: str) -> str:
        """Forecast the weather."""
        return city

    @tool(name="other", namespace="weather", effects="read", timeout=5)
    def optioned(city: str) -> str:
        """Forecast the weather."""
        return city

    assert (bare.name, bare.definition.description) == ("bare", "Forecast the weather.")
    assert (optioned.name, optioned.definition.namespace, optioned.timeout) == ("other", "weather", 5)


@pytest.mark.req("D1-2k")
def test_schema_descriptions_and_defaults_come_from_the_function() -> None:
    @tool
    def forecast(city: Annotated[str, Field(description="Which city.")], days: int = 3) -> str:
        """Forecast the weather.

        Args:
            city: Overruled by the annotation.
            days: How many days.
        """
        return f"{city}{days}"

    properties = forecast.definition.input_schema["properties"]

    assert properties["city"]["description"] == "Which city."
    assert (properties["days"]["description"], properties["days"]["default"]) == ("How many days.", 3)
    assert forecast.definition.input_schema["required"] == ["city"]


def test_calling_a_tool_calls_its_function_as_if_it_had_never_become_one() -> None:
    made = as_tool(plain)

    assert made("Oslo") == "sun in Oslo"
    assert is_runnable_tool(made)
    assert not is_runnable_tool(plain)


@pytest.mark.parametrize(
    ("source", "kind"),
    [(Place, Place), (PlaceDict, dict), (PlaceData, PlaceData)],
)
async def test_a_class_beside_a_handler_gives_it_one_object_of_that_class(source: type, kind: type) -> None:
    async def handler(place: Any) -> str:
        assert type(place) is kind
        return place["city"] if isinstance(place, dict) else place.city

    made = create_tool(source, handler, name="locate", description="Locate.")

    assert (await called(made, {"city": "Oslo"})).unwrap() == "Oslo"


async def test_a_model_fills_in_its_defaults_and_the_context_stands_beside_it() -> None:
    def handler(given: Place, *, why: str = "because", where: ToolContext) -> str:
        return f"{given.country} {why} {type(where).__name__}"

    made = create_tool(Place, handler, name="locate")

    assert (await called(made, {"city": "Oslo"})).unwrap() == "Norway because RuntimeToolContext"
    assert made.definition.description == "Where somebody is."


@pytest.mark.parametrize("handler", [lambda: 1, lambda one, two: (one, two)])
def test_a_handler_that_does_not_take_one_object_is_refused_beside_a_model(handler: Any) -> None:
    with pytest.raises(InvalidDefinition, match="must take one object"):
        create_tool(Place, handler, name="locate")


@pytest.mark.req("D1-0b")
@pytest.mark.parametrize(
    "source", [_SCHEMA, define_tool(_SCHEMA, name="locate", description="Locate.")], ids=["schema", "definition"]
)
async def test_a_schema_or_a_definition_gives_its_handler_keywords(source: Any) -> None:
    options = {} if isinstance(source, ToolDefinition) else {"name": "locate", "description": "Locate."}

    made = create_tool(source, waiting, **options)

    assert (await called(made, {"city": "Oslo"})).unwrap() == "sun in Oslo"


async def test_a_handler_whose_only_parameter_is_arguments_gets_them_all_at_once() -> None:
    async def handler(arguments: dict[str, Any], context: RuntimeToolContext) -> object:
        return [arguments, context.attempt]

    made = create_tool(_SCHEMA, handler, name="locate", description="Locate.")

    assert (await called(made, {"city": "Oslo", "more": 1})).unwrap() == [{"city": "Oslo", "more": 1}, 1]


async def test_a_property_called_arguments_is_one_argument_like_any_other() -> None:
    async def handler(arguments: str) -> str:
        return arguments

    schema = {"type": "object", "properties": {"arguments": {"type": "string"}}}
    made = create_tool(schema, handler, name="echo", description="Echo.")

    assert (await called(made, {"arguments": "x"})).unwrap() == "x"


async def test_a_handler_with_open_keywords_takes_whatever_an_open_schema_allows() -> None:
    async def handler(**given: object) -> object:
        return given

    made = create_tool({"type": "object"}, handler, name="echo", description="Echo.")

    assert (await called(made, {"a": 1, "b": [2]})).unwrap() == {"a": 1, "b": [2]}


class Described:
    async def __call__(self, city: str, told: RuntimeToolContext) -> str:
        return f"{city} {told.attempt}"


async def described(client: str, city: str, told: RuntimeToolContext) -> str:
    return f"{client} {city} {told.attempt}"


@pytest.mark.parametrize(
    ("handler", "value"),
    [
        (Described(), "Oslo 1"),
        (functools.partial(described, "me"), "me Oslo 1"),
        (functools.partial(described, client="me"), "me Oslo 1"),
    ],
)
async def test_objects_and_partials_beside_a_schema_get_their_context_too(handler: Any, value: str) -> None:
    made = create_tool(_SCHEMA, handler, name="locate", description="Locate.")

    assert (await called(made, {"city": "Oslo"})).unwrap() == value


async def test_what_a_partial_has_bound_cannot_be_overruled_by_a_caller() -> None:
    made = create_tool(_SCHEMA, functools.partial(described, client="me"), name="locate", description="Locate.")

    result = await called(made, {"city": "Oslo", "client": "somebody else"})

    assert error_of(result) == ("toolbox.invalid-arguments", "validation")
    assert "somebody else" not in str(result.error)


def test_a_schema_property_that_the_handler_does_not_take_is_refused_when_the_tool_is_made() -> None:
    with pytest.raises(InvalidDefinition, match="has no parameter `city`"):
        create_tool(_SCHEMA, lambda town: town, name="locate", description="Locate.")


async def test_an_argument_that_only_an_open_schema_allows_is_a_validation_error_and_starts_nothing() -> None:
    started = []

    async def handler(city: str) -> None:
        started.append(city)

    made = create_tool(_SCHEMA, handler, name="locate", description="Locate.")
    result = await called(made, {"city": "Oslo", "planet": "Mars"})

    assert error_of(result) == ("toolbox.invalid-arguments", "validation")
    assert (result.attempts, started) == (0, [])
    assert result.error is not None
    assert "`planet`" in result.error.message
    assert "Mars" not in str(result.error.to_dict())


@pytest.mark.parametrize("make", [lambda: create_tool(Place), lambda: create_tool(_SCHEMA), lambda: create_tool("x")])
def test_a_source_without_anything_to_run_is_refused(make: Any) -> None:
    with pytest.raises(InvalidDefinition, match="nothing to run"):
        make()


def test_a_handler_that_is_no_function_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="not a function"):
        create_tool(_SCHEMA, "handler", name="locate")


def test_a_handler_without_a_signature_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="no signature"):
        create_tool(_SCHEMA, max, name="locate", description="Locate.")


def test_an_unknown_option_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TypeError, match=r"no option `timeot`; known are .*`timeout`"):
        create_tool(plain, timeot=5)


def test_the_short_forms_of_risk_become_risk_and_do_not_stand_beside_it() -> None:
    made = create_tool(plain, description="x", effects="write", idempotent=True)

    assert (made.definition.risk.effects, made.definition.risk.idempotent) == ("write", True)
    with pytest.raises(InvalidDefinition, match="both given"):
        create_tool(plain, description="x", effects="read", risk=ToolRisk(effects="read"))


def test_options_beside_a_definition_change_it() -> None:
    definition = define_tool(_SCHEMA, name="locate", description="Locate.")

    made = create_tool(definition, waiting, namespace="geo", effects="read")

    assert (made.definition.namespace, made.definition.risk.effects) == ("geo", "read")
    assert definition.namespace == "default"


def test_a_tool_is_replaced_and_not_changed() -> None:
    made = as_tool(plain)

    slower = made.replace(timeout=9.0)

    assert (made.timeout, slower.timeout) == (None, 9.0)
    assert slower.definition is made.definition
