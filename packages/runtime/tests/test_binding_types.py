"""Arguments arrive in the types that the function asks for."""

from __future__ import annotations

import datetime
import enum
import uuid
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field
from small_toolboxes import as_tool, called, error_of
from typing_extensions import TypedDict, Unpack

from toolcrib_core import ToolContext
from toolcrib_runtime import RetryPolicy, RuntimeToolContext, create_tool

pytestmark = pytest.mark.req("RT-1")


class Colour(enum.Enum):
    RED = "red"


class Line(BaseModel):
    sku: str
    price: Decimal


class Options(TypedDict, total=False):
    days: int
    until: datetime.date


def even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


received: list[Any] = []


def a_model(line: Line) -> None:
    received.append(line)


def a_list_of_models(lines: list[Line]) -> None:
    received.append(lines)


def a_date(day: datetime.date) -> None:
    received.append(day)


def a_time(at: datetime.datetime) -> None:
    received.append(at)


def an_enum(colour: Colour) -> None:
    received.append(colour)


def a_tuple(pair: tuple[int, str]) -> None:
    received.append(pair)


def a_decimal(price: Decimal) -> None:
    received.append(price)


def a_uuid(of: uuid.UUID) -> None:
    received.append(of)


def a_set(of: set[int]) -> None:
    received.append(of)


def a_path(of: PurePosixPath) -> None:
    received.append(of)


def an_optional(line: Line | None = None) -> None:
    received.append(line)


def some_bytes(of: bytes) -> None:
    received.append(of)


@pytest.mark.parametrize(
    ("function", "given", "seen"),
    [
        (a_model, {"line": {"sku": "a", "price": "1.10"}}, Line(sku="a", price=Decimal("1.10"))),
        (a_list_of_models, {"lines": [{"sku": "a", "price": 1}]}, [Line(sku="a", price=Decimal(1))]),
        (a_date, {"day": "2026-02-28"}, datetime.date(2026, 2, 28)),
        (a_time, {"at": "2026-02-28T10:00:00Z"}, datetime.datetime(2026, 2, 28, 10, tzinfo=datetime.UTC)),
        (an_enum, {"colour": "red"}, Colour.RED),
        (a_tuple, {"pair": [1, "x"]}, (1, "x")),
        (a_decimal, {"price": "0.10"}, Decimal("0.10")),
        (a_uuid, {"of": "12345678-1234-5678-1234-567812345678"}, uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (a_set, {"of": [1, 2]}, {1, 2}),
        (a_path, {"of": "a/b"}, PurePosixPath("a/b")),
        (an_optional, {"line": None}, None),
        (an_optional, {}, None),
        (some_bytes, {"of": "abc"}, b"abc"),
    ],
)
async def test_a_parameter_gets_the_type_of_its_annotation(function: Any, given: Any, seen: object) -> None:
    received.clear()

    result = await called(function, given)

    assert result.error is None
    assert received == [seen]
    assert type(received[0]) is type(seen)


@pytest.mark.parametrize("given", [{"x": 5}, '{"x": 5}', {"x": 5.0}])
async def test_a_float_parameter_gets_a_float_also_for_a_whole_number(given: Any) -> None:
    async def half(x: float) -> str:
        return repr(x / 2)

    assert (await called(half, given)).unwrap() == "2.5"


@pytest.mark.parametrize("given", [{"x": 5.0}, '{"x": 5.0}', '{"x": 50e-1}', {"x": 5}])
async def test_an_integer_parameter_gets_an_integer_also_for_the_spelling_that_has_a_point(given: Any) -> None:
    async def show(x: int, y: int | None = None) -> str:
        return repr((x, y))

    result = await called(show, given)

    assert result.unwrap() == "(5, None)"
    assert result.input_digest == (await called(show, {"x": 5})).input_digest


async def test_integers_inside_a_list_are_integers_too() -> None:
    async def show(numbers: list[int]) -> str:
        return repr(numbers)

    assert (await called(show, {"numbers": [1.0, 2]})).unwrap() == "[1, 2]"


async def test_an_alias_is_what_the_caller_says_and_the_name_is_what_the_function_sees() -> None:
    async def move(source: Annotated[str, Field(alias="from")], to: str = Field(default="home")) -> list[str]:
        return [source, to]

    made = as_tool(move)

    assert set(made.definition.input_schema["properties"]) == {"from", "to"}
    assert (await called(made, {"from": "work"})).unwrap() == ["work", "home"]


async def test_a_default_factory_fills_in_what_is_missing() -> None:
    async def collect(items: Annotated[list[str], Field(default_factory=lambda: ["a"])]) -> list[str]:
        return items

    assert (await called(collect, {})).unwrap() == ["a"]


async def test_the_defaults_of_the_function_hold_where_nothing_is_said() -> None:
    async def show(word: str = "x", often: Literal[1, 2] = 2, more: dict[str, str] | None = None) -> object:
        return [word, often, more]

    assert (await called(show, {"word": "y"})).unwrap() == ["y", 2, None]


async def forecast(city: str, options: str = "none", **more: Unpack[Options]) -> list[str]:
    return [city, options, *sorted(f"{key}={type(value).__name__}" for key, value in more.items())]


async def test_the_keys_of_an_unpacked_typed_dict_are_parameters_of_their_types() -> None:
    result = await called(forecast, {"city": "Oslo", "options": "all", "days": 3, "until": "2026-01-01"})

    assert result.unwrap() == ["Oslo", "all", "days=int", "until=date"]
    assert (await called(forecast, {"city": "Oslo"})).unwrap() == ["Oslo", "none"]


def checked(number: Annotated[int, AfterValidator(even)], day: Annotated[datetime.date | None, "When."] = None) -> None:
    received.append((number, day))


@pytest.mark.req("RT-11")
async def test_what_only_the_types_of_the_function_refuse_is_a_validation_error_with_every_place() -> None:
    received.clear()

    result = await called(checked, {"number": 3, "day": "2026-02-31"})

    assert error_of(result) == ("toolbox.invalid-arguments", "validation")
    assert result.error is not None
    assert result.error.details["violations"] == [
        {"pointer": "/number", "message": "Value error, must be even"},
        {"pointer": "/day", "message": "Input should be a valid date or datetime, day value is outside expected range"},
    ]
    assert (received, result.attempts) == ([], 0)


@pytest.mark.req("RT-11")
async def test_what_a_model_refuses_names_the_place_inside_it() -> None:
    result = await called(a_list_of_models, {"lines": [{"sku": "a", "price": "many"}]})

    assert result.error is not None
    assert result.error.category == "validation"
    assert "/lines/0/price" in str(result.error.to_dict())
    assert "many" not in str(result.error.to_dict())


@pytest.mark.req("RT-11")
async def test_what_only_the_validators_of_a_model_refuse_is_a_validation_error_too() -> None:
    class Even(BaseModel):
        number: Annotated[int, AfterValidator(even)]

    result = await called(create_tool(Even, lambda given: given.number, name="even", description="x"), {"number": 3})

    assert error_of(result) == ("toolbox.invalid-arguments", "validation")
    assert result.error is not None
    assert result.error.message.startswith("The arguments of `even` are not usable: `/number`: ")


@pytest.mark.parametrize("kind", [RuntimeToolContext, ToolContext])
async def test_the_context_is_found_by_its_type_under_any_name(kind: type) -> None:
    def ask(city: str, whatever: Any) -> str:
        return f"{city} {whatever.attempt}"

    ask.__annotations__["whatever"] = kind
    made = as_tool(ask)

    assert list(made.definition.input_schema["properties"]) == ["city"]
    assert (await called(made, {"city": "Oslo"})).unwrap() == "Oslo 1"


async def test_an_optional_context_is_given_too() -> None:
    def ask(context: RuntimeToolContext | None = None) -> bool:
        return context is not None

    assert (await called(ask)).unwrap() is True


async def test_a_function_cannot_change_what_its_caller_gave() -> None:
    async def spoil(items: list[int], more: dict[str, list[int]]) -> None:
        items.append(1)
        more["a"].append(1)

    given = {"items": [0], "more": {"a": [0]}}

    assert (await called(spoil, given)).ok
    assert given == {"items": [0], "more": {"a": [0]}}


async def test_every_attempt_gets_the_arguments_as_they_were() -> None:
    seen = []

    async def spoil(items: list[int]) -> None:
        seen.append(list(items))
        items.append(1)
        raise ConnectionError

    await called(as_tool(spoil, retries=RetryPolicy(attempts=3, first_delay=0)), {"items": [0]})

    assert seen == [[0], [0], [0]]
