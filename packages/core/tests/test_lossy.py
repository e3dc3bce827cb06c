"""What a source says that its JSON Schema cannot, with the place."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import re
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Predicate
from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    HttpUrl,
    PastDate,
    PlainSerializer,
    PlainValidator,
    Strict,
    StringConstraints,
    Tag,
    WithJsonSchema,
    WrapValidator,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import InvalidDefinition
from toolcrib_core.json_values import thaw
from toolcrib_core.sources import define_tool


def even(value):  # type: ignore[no-untyped-def]  # a serializer that does not say what it writes
    return value


def wrapped(value: Any, handler: Any) -> Any:
    return handler(value)


def by_kind(value: Any) -> str:
    return str(value)


class Lenient(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> Lenient:  # the signature of enum
        return cls.A


class Custom:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(even)


class Chained:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.chain_schema([core_schema.str_schema(), core_schema.int_schema()])


class Opaque:
    pass


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Steady(BaseModel):
    """Nothing is lost in it."""

    day: dt.date = dt.date(2020, 1, 1)
    names: set[str] = set()
    pair: tuple[int, str] = (1, "a")
    unit: Literal["c", "f"] = "c"
    count: Annotated[int, Field(ge=0, multiple_of=2)] = 0
    code: Annotated[str, Field(pattern=r"^\d+$", max_length=4)] = "1"
    by_name: dict[Literal["a", "b"], int] = {}
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    address: Annotated[str, WithJsonSchema({"type": "string", "format": "email"})] = ""
    _secret: int = 0


def lossy_of(annotation: Any, default: Any = ...) -> list[tuple[str, str]]:
    def tool(it: Any) -> None: ...

    tool.__annotations__ = {"it": annotation}
    if default is not ...:
        tool.__defaults__ = (default,)
    return features_of(define_tool(tool))


def features_of(definition: ToolDefinition) -> list[tuple[str, str]]:
    return [(each.pointer, each.feature) for each in definition.lossy]


HERE = "/inputSchema/properties/it"
LOST = [
    (Annotated[int, BeforeValidator(even)], "validator"),
    (Annotated[int, AfterValidator(even)], "validator"),
    (Annotated[int, WrapValidator(wrapped)], "validator"),
    (Annotated[int, PlainValidator(even)], "validator"),
    (Annotated[int, Predicate(bool)], "validator"),
    (Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)], "transform"),
    (Annotated[int, Strict()], "strict"),
    (Annotated[str, Field(pattern=re.compile("^(?=a)"))], "python-regex"),
    (Annotated[Decimal, Field(max_digits=4)], "constraint"),
    (AwareDatetime, "constraint"),
    (PastDate, "constraint"),
    (Annotated[dt.date, Field(ge=dt.date(2020, 1, 1))], "constraint"),
    (Annotated[dt.timedelta, Field(le=dt.timedelta(1))], "constraint"),
    (HttpUrl, "constraint"),
    (Annotated[str, Field(pattern=re.compile("^a", re.IGNORECASE))], "python-regex"),
    (dict[int, str], "dict-keys"),
    (Chained, "transform"),
]


@pytest.mark.req("AR-6.2", "D1-0x", "D1-6c")
@pytest.mark.parametrize(
    ("annotation", "feature"), LOST, ids=[f"{feature}-{at}" for at, (_, feature) in enumerate(LOST)]
)
def test_what_a_schema_cannot_say_is_reported_at_the_parameter(annotation: Any, feature: str) -> None:
    found = lossy_of(annotation)

    assert found == [(HERE, feature)]


@pytest.mark.req("AR-6.2", "D1-6g")
@pytest.mark.parametrize("default", [object(), math.inf, math.nan, {1, "a", 2.5j}], ids=["object", "inf", "nan", "set"])
def test_a_default_that_is_no_json_is_left_out_and_reported(default: object) -> None:
    def tool(it: Any = default) -> None: ...

    definition = define_tool(tool)

    assert thaw(definition.input_schema)["properties"] == {"it": {}}
    assert features_of(definition) == [(HERE, "non-json-default")]


class Tagged(BaseModel):
    tags: set[str] = set()


@pytest.mark.req("AR-6.1")
def test_a_default_whose_order_differs_between_processes_is_left_out() -> None:
    ordered, hidden = lossy_of(set[str], {"b", "a"}), lossy_of(Tagged, Tagged(tags={"b", "a"}))

    assert ordered == []
    assert hidden == [(HERE, "non-json-default")]


@pytest.mark.req("AR-6.2")
def test_a_default_factory_is_reported() -> None:
    assert lossy_of(Annotated[list[int], Field(default_factory=list)]) == [(HERE, "default-factory")]


@pytest.mark.req("AR-6.2", "D1-0x")
def test_nothing_is_reported_where_nothing_is_lost() -> None:
    definition = define_tool(Steady, output=Steady)

    assert definition.lossy == ()


class Eager(BaseModel):
    model_config = ConfigDict(strict=True, str_strip_whitespace=True)

    x: int = 1
    name: Annotated[str, Field(validation_alias=AliasChoices("name", "title"))] = ""

    @field_validator("x")
    @classmethod
    def check_x(cls, value: int) -> int:
        return value

    @model_validator(mode="after")
    def check_all(self) -> Eager:
        return self

    @computed_field  # type: ignore[prop-decorator]  # how pydantic documents it
    @property
    def area(self) -> int:
        return 1

    def model_post_init(self, context: Any) -> None: ...


@pytest.mark.req("AR-6.2")
def test_what_a_model_does_as_a_whole_is_reported_at_the_model() -> None:
    assert features_of(define_tool(Eager)) == [
        ("/inputSchema", "computed-field"),
        ("/inputSchema", "transform"),
        ("/inputSchema", "strict"),
        ("/inputSchema", "post-init"),
        ("/inputSchema", "validator"),
        ("/inputSchema/properties/x", "validator"),
        ("/inputSchema/properties/name", "alias"),
    ]


@pytest.mark.req("AR-6.2")
def test_pointers_into_a_shared_definition_lead_to_its_final_name_and_come_once() -> None:
    def tool(one: Eager, other: list[Eager]) -> None: ...

    definition = define_tool(tool)

    [name] = definition.input_schema["$defs"]
    assert [pointer for pointer, feature in features_of(definition) if feature == "validator"] == [
        f"/inputSchema/$defs/{name}",
        f"/inputSchema/$defs/{name}/properties/x",
    ]


@dataclasses.dataclass
class Made:
    x: int

    def __post_init__(self) -> None: ...


@pytest.mark.req("AR-6.2")
@pytest.mark.parametrize(
    ("annotation", "feature"),
    [(Made, "post-init"), (Lenient, "enum-missing")],
)
def test_what_a_class_does_when_it_is_made_is_reported_in_its_definition(annotation: Any, feature: str) -> None:
    [(pointer, found)] = lossy_of(annotation)

    assert pointer.startswith("/inputSchema/$defs/")
    assert found == feature


@pytest.mark.req("AR-6.2")
def test_a_function_that_chooses_the_alternative_is_reported() -> None:
    pets = Annotated[Annotated[Cat, Tag("cat")] | Annotated[Dog, Tag("dog")], Discriminator(by_kind)]

    assert lossy_of(pets) == [(HERE, "callable-discriminator")]


@pytest.mark.req("AR-6.2")
def test_a_type_with_a_core_schema_of_its_own_takes_any_value_and_is_reported() -> None:
    def tool(it: Custom) -> None: ...

    definition = define_tool(tool)

    assert thaw(definition.input_schema)["properties"] == {"it": {}}
    assert features_of(definition) == [(HERE, "validator"), (HERE, "arbitrary-type")]


class Holder(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    size: int | Opaque
    extra: Opaque = Opaque()


@pytest.mark.req("AR-6.2")
def test_what_has_no_json_form_is_left_out_where_the_tool_works_without_it() -> None:
    definition = define_tool(Holder)

    assert thaw(definition.input_schema)["properties"] == {"size": {"type": "integer"}}
    assert features_of(definition) == [
        ("/inputSchema", "arbitrary-type"),
        ("/inputSchema/properties/size", "arbitrary-type"),
    ]


class Needy(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    thing: Opaque


class NeedyTree(Needy):
    children: list[NeedyTree] = []


@pytest.mark.req("AR-6.2")
@pytest.mark.parametrize("model", [Needy, NeedyTree])
def test_what_has_no_json_form_is_refused_where_a_caller_would_have_to_send_it(model: type) -> None:
    with pytest.raises(InvalidDefinition, match=model.__name__):
        define_tool(model)


@pytest.mark.req("AR-6.2")
def test_what_has_no_json_form_may_be_anything_in_a_result() -> None:
    definition = define_tool(Cat, output=Needy)

    assert definition.output_schema is not None
    assert definition.output_schema["properties"] == {"thing": {}}
    assert features_of(definition) == [("/outputSchema/properties/thing", "arbitrary-type")]


class Silent(BaseModel):
    said: Annotated[int, PlainSerializer(by_kind, return_type=str)]
    unsaid: Annotated[int, PlainSerializer(even)]
    field: int

    @field_serializer("field")
    def write(self, value: int):  # type: ignore[no-untyped-def]  # that it does not say is the point
        return value


@pytest.mark.req("AR-6.2")
def test_a_serializer_that_does_not_say_what_it_writes_is_reported_in_the_result() -> None:
    definition = define_tool(Cat, output=Silent)

    assert features_of(definition) == [
        ("/outputSchema/properties/unsaid", "serializer"),
        ("/outputSchema/properties/field", "serializer"),
    ]


class Regular(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")

    code: Annotated[str, Field(pattern=r"^(?!x)\w+$")]


@pytest.mark.fault("B3")
def test_a_pattern_that_only_python_knows_is_left_out_and_reported() -> None:
    definition = define_tool(Regular)

    assert thaw(definition.input_schema)["properties"] == {"code": {"type": "string"}}
    assert features_of(definition) == [("/inputSchema/properties/code", "python-regex")]


Checked = Annotated[int, AfterValidator(even)]


@pytest.mark.req("AR-6.2")
@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        (Checked | int, int | int),
        (Annotated[int | str, AfterValidator(even)] | None, int | str | None),
        (list[Checked | None], list[int | None]),
        (dict[str, Checked], dict[str, int]),
        (tuple[Checked, Checked], tuple[int, int]),
        (Annotated[str, StringConstraints(strip_whitespace=True)] | int, str | int),
    ],
    ids=["union", "annotated union", "list", "dict", "tuple", "stripped text"],
)
def test_the_schema_is_the_same_with_and_without_what_is_reported(marked: Any, plain: Any) -> None:
    def tool(it: Any) -> None: ...

    def schema_with(annotation: Any) -> Any:
        tool.__annotations__ = {"it": annotation}
        return define_tool(tool).input_schema

    assert schema_with(marked) == schema_with(plain)
    assert lossy_of(marked) != []


def test_messages_are_sentences_that_name_what_was_lost() -> None:
    [lost] = define_tool(Regular).lossy
    [validator] = [each for each in define_tool(Eager).lossy if each.pointer == "/inputSchema/properties/x"]

    assert lost.message.endswith(".")
    assert "`check_x`" in validator.message
