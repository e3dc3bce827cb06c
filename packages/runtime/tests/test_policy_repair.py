from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_core import ToolErrorCategory, define_tool, is_valid
from toolcrib_runtime.policy.repair import MAX_REPAIRS, repair_arguments, repaired_example
from toolcrib_runtime.testing import EventRecorder, FakeTool, fake_tool
from toolcrib_runtime.toolbox import Toolbox, create_toolbox

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "days": {"type": "integer"},
        "ratio": {"type": "number"},
        "metric": {"type": "boolean"},
        "level": {"type": "integer", "enum": [1, 2, 3]},
        "limit": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "names": {"type": "array", "items": {"type": "string"}},
        "place": {"$ref": "#/$defs/Place"},
        "home": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}]},
        "places": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        "either": {"type": ["integer", "array"]},
        "free": {"anyOf": [{"type": "string", "maxLength": 1}, {"type": "integer"}]},
        "vague": {"anyOf": [{"minimum": 1, "type": ["integer", "boolean"]}, {"type": "null"}]},
        "city": {"type": "string"},
    },
    "$defs": {"Place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
    "additionalProperties": False,
}


def made(arguments: dict[str, Any]) -> tuple[Any, list[tuple[str, str, str]]]:
    repair = repair_arguments(SCHEMA, arguments)
    assert repair is not None
    return repair.arguments, [(each.pointer, each.found, each.made) for each in repair.repairs]


@pytest.mark.req("RT-11")
@pytest.mark.parametrize(
    ("sent", "meant", "kind"),
    [
        ({"days": "5"}, {"days": 5}, "integer"),
        ({"days": "-12"}, {"days": -12}, "integer"),
        ({"ratio": "0.25"}, {"ratio": 0.25}, "number"),
        ({"ratio": "3"}, {"ratio": 3}, "integer"),
        ({"metric": "true"}, {"metric": True}, "boolean"),
        ({"metric": "false"}, {"metric": False}, "boolean"),
        ({"level": "2"}, {"level": 2}, "integer"),
        ({"limit": "7"}, {"limit": 7}, "integer"),
        ({"sizes": "[1, 2]"}, {"sizes": [1, 2]}, "array"),
        ({"place": '{"x": 1.5}'}, {"place": {"x": 1.5}}, "object"),
        ({"home": '{"x": 1.5}'}, {"home": {"x": 1.5}}, "object"),
        ({"names": "[]"}, {"names": []}, "array"),
    ],
)
def test_text_that_is_plainly_the_value_becomes_the_value(sent, meant, kind):
    arguments, repairs = made(sent)

    assert orjson.dumps(arguments) == orjson.dumps(meant)
    assert repairs == [(f"/{next(iter(sent))}", "string", kind)]


@pytest.mark.req("RT-11")
@pytest.mark.parametrize(
    ("sent", "found"), [({"sizes": 4}, "integer"), ({"names": "Rome"}, "string"), ({"places": {"x": 1}}, "object")]
)
def test_one_value_where_a_list_of_such_is_asked_for_becomes_a_list(sent, found):
    [(name, value)] = sent.items()

    arguments, repairs = made(sent)

    assert arguments == {name: [value]}
    assert repairs == [(f"/{name}", found, "array")]


@pytest.mark.req("RT-11")
def test_what_comes_to_light_by_a_repair_is_repaired_too():
    arguments, repairs = made({"places": '[{"x": "1.5"}]', "sizes": "4"})

    assert arguments == {"places": [{"x": 1.5}], "sizes": [4]}
    assert repairs == [
        ("/places", "string", "array"),
        ("/sizes", "string", "array"),
        ("/places/0/x", "string", "number"),
        ("/sizes/0", "string", "integer"),
    ]


@pytest.mark.req("RT-11")
@pytest.mark.parametrize(
    "sent",
    [
        {"days": "007"},
        {"days": "5.0"},
        {"days": "1e3"},
        {"days": "-0"},
        {"days": "+5"},
        {"days": " 5"},
        {"days": "5 days"},
        {"days": "٥"},
        {"days": ""},
        {"days": "99999999999999999999"},
        {"days": 5.5},
        {"days": True},
        {"days": None},
        {"days": [5]},
        {"ratio": "0.1234567890123456789"},
        {"ratio": "NaN"},
        {"metric": "True"},
        {"metric": "yes"},
        {"metric": 1},
        {"level": "9"},
        {"limit": "0"},
        {"limit": "null"},
        {"city": 5},
        {"names": "Rome, Oslo"},
        {"names": '["Rome", "Os'},
        {"names": None},
        {"sizes": "[1, 2"},
        {"sizes": "many"},
        {"place": "[1]"},
        {"place": '{"x": 1, "x": 2}'},
        {"home": {"x": "1"}},
        {"either": "5"},
        {"free": "55"},
        {"vague": "5"},
        {"citty": "Rome"},
        {"days": "5", "citty": "Rome"},
        {"days": "5", "metric": "perhaps"},
    ],
)
def test_what_is_not_obvious_at_every_place_is_left_alone(sent):
    assert repair_arguments(SCHEMA, sent) is None


@pytest.mark.req("RT-11")
@pytest.mark.parametrize("sent", [{"days": 5}, {}, [], "5", None])
def test_there_is_nothing_to_repair_in_what_is_valid_or_no_object(sent):
    assert repair_arguments(SCHEMA, sent) is None


@pytest.mark.req("RT-11")
def test_what_was_sent_is_not_changed():
    sent = {"place": {"x": "1.5"}, "sizes": ["1"]}
    before = copy.deepcopy(sent)

    repair = repair_arguments(SCHEMA, sent)

    assert repair is not None
    assert sent == before


@pytest.mark.req("RT-11")
def test_a_definition_says_what_is_asked_for_as_well_as_a_schema():
    def forecast(days: int | None = None) -> str:
        """Tell the weather."""
        return str(days)

    repair = repair_arguments(define_tool(forecast), {"days": "5"})

    assert repair is not None
    assert repair.arguments == {"days": 5}


@pytest.mark.req("RT-11")
def test_a_value_is_mended_inside_before_it_is_put_into_a_list():
    item = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"properties": {"a": {"type": "array", "items": item, "properties": {"x": {"type": "integer"}}}}}

    repair = repair_arguments(schema, {"a": {"x": "1"}})

    assert repair is not None
    assert repair.arguments == {"a": [{"x": 1}]}


@pytest.mark.req("RT-11")
def test_with_very_many_faults_nothing_is_obvious():
    few, many = ({"sizes": ["1"] * number} for number in (MAX_REPAIRS, MAX_REPAIRS + 1))

    assert repair_arguments(SCHEMA, few) is not None
    assert repair_arguments(SCHEMA, many) is None


@pytest.mark.req("RT-11")
def test_text_inside_text_inside_text_is_not_followed_for_ever():
    text = "1"
    for _ in range(10):
        text = orjson.dumps([text]).decode()
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(10):
        nested = {"type": "array", "items": nested}

    assert repair_arguments({"properties": {"a": nested}}, {"a": text}) is None


def nested(depth: int) -> Any:
    value: Any = "5"
    for _ in range(depth):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.req("RT-11")
@pytest.mark.fault("B6", "B7")
@pytest.mark.parametrize(
    "odd", [nested(300), nested(100_000), endless(), float("nan"), 10**30, object(), {1: 2}, "\ud800"], ids=type
)
def test_what_is_no_json_or_over_a_bound_is_not_repaired(odd):
    assert repair_arguments(SCHEMA, {"days": "5", "sizes": odd}) is None


@pytest.mark.req("RT-11")
def test_a_repair_that_leads_over_a_bound_is_none():
    text = orjson.dumps([0] * 60_000).decode()
    lists = {"properties": {name: {"type": "array"} for name in ("one", "two")}}

    assert repair_arguments(lists, {"one": text}) is not None
    assert repair_arguments(lists, {"one": text, "two": text}) is None


@pytest.mark.req("RT-11")
def test_repairs_are_told_by_place_and_kind_and_never_by_value():
    repair = repair_arguments(SCHEMA, {"days": "31337", "metric": "true", "sizes": "31337", "place": '{"x": 31337}'})

    assert repair is not None
    told = [each.to_dict() for each in repair.repairs]
    assert told[0] == {"pointer": "/days", "from": "string", "to": "integer"}
    assert repaired_example(repair) == [
        {"pointer": "/days", "send": "the same integer, without quotes"},
        {"pointer": "/metric", "send": "true or false, without quotes"},
        {"pointer": "/place", "send": "the object itself, not its JSON text"},
        {"pointer": "/sizes", "send": "a list: the items themselves in brackets, even if there is only one; not text"},
        {"pointer": "/sizes/0", "send": "the same integer, without quotes"},
    ]
    assert "31337" not in orjson.dumps([told, repaired_example(repair)]).decode()


def boxed(**options: Any) -> tuple[Toolbox, FakeTool, EventRecorder]:
    forecast, events = fake_tool("forecast", schema=SCHEMA, returns="rain"), EventRecorder()
    return create_toolbox([forecast], listeners=(events,), **options), forecast, events


@pytest.mark.req("RT-11")
@pytest.mark.fault("B10")
async def test_a_toolbox_repairs_nothing_unless_it_is_told_to():
    box, forecast, events = boxed()

    result = await box.call("forecast", {"days": "31337"})

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.VALIDATION
    assert result.error.details["repaired"] == [{"pointer": "/days", "send": "the same integer, without quotes"}]
    assert "31337" not in str(result.error.to_dict())
    assert (forecast.calls, "repaired" in events.kinds()) == ([], False)


@pytest.mark.req("RT-11")
@pytest.mark.parametrize("arguments", [{"days": "5"}, '{"days": "5"}'])
async def test_a_toolbox_that_repairs_tells_what_it_did_and_runs_the_tool_with_valid_arguments(arguments):
    box, forecast, events = boxed(repair=True)

    result = await box.call("forecast", arguments)

    assert (result.value, forecast.calls) == ("rain", [{"days": 5}])
    assert events.data("repaired") == [{"repairs": [{"pointer": "/days", "from": "string", "to": "integer"}]}]


@pytest.mark.req("RT-11")
async def test_a_toolbox_that_repairs_still_refuses_what_is_not_obvious():
    box, forecast, events = boxed(repair=True)

    result = await box.call("forecast", {"days": "5", "metric": "perhaps"})

    assert result.error is not None
    assert [each["pointer"] for each in result.error.details["violations"]] == ["/days", "/metric"]
    assert (forecast.calls, "repaired" in events.kinds()) == ([], False)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-2, 2) | st.sampled_from("5 true [1] {} a 1.5".split()),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y"]), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.req("RT-11")
@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"]]), VALUES, max_size=4))
def test_repaired_arguments_are_valid_and_differ_at_the_told_places_only(arguments):
    repair = repair_arguments(SCHEMA, arguments)

    if repair is not None:
        assert is_valid(SCHEMA, repair.arguments)
        roots = {each.pointer.split("/")[1] for each in repair.repairs}
        assert roots == {
            key for key in arguments if orjson.dumps(arguments[key]) != orjson.dumps(repair.arguments[key])
        }
