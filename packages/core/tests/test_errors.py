"""Errors are data with stable, reserved codes."""

from __future__ import annotations

import ast
import inspect
import pickle

import pytest
from inline_snapshot import snapshot
from pydantic import BaseModel, ConfigDict

from toolcrib_core import errors
from toolcrib_core.error_codes import create_tool_error, tool_code_prefix
from toolcrib_core.errors import CatalogError, NotJson, ToolError, ToolErrorCategory, UnknownTool

_TREE = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, ToolError)]


@pytest.mark.req("AR-5.1", "D1-5a")
def test_an_error_travels_as_json_and_comes_back_equal() -> None:
    error = create_tool_error(
        "tool.weather.forecast.no-station",
        "There is no station near `Atlantis`.",
        category="not_found",
        hint="Try a city on land.",
        details={"nearest": ["Lisbon"]},
        tool="weather:forecast",
    )

    wire = error.to_dict()

    assert wire == snapshot(
        {
            "code": "tool.weather.forecast.no-station",
            "category": "not_found",
            "message": "There is no station near `Atlantis`.",
            "retryable": False,
            "hint": "Try a city on land.",
            "details": {"nearest": ["Lisbon"]},
        }
    )
    assert ToolError.from_dict(wire) == error
    assert hash(ToolError.from_dict(wire)) == hash(error)


@pytest.mark.req("AR-5.1", "D1-5b")
def test_the_categories_are_those_of_the_contract() -> None:
    assert [each.value for each in ToolErrorCategory] == [
        "validation",
        "output_validation",
        "permission",
        "approval_required",
        "not_found",
        "unavailable",
        "conflict",
        "transient",
        "timeout",
        "cancelled",
        "limit",
        "budget",
        "unknown_outcome",
        "internal",
    ]


@pytest.mark.req("AR-5.1", "D1-5g")
@pytest.mark.parametrize("category", list(ToolErrorCategory))
def test_only_failures_that_may_pass_are_retryable_by_default(category: ToolErrorCategory) -> None:
    error = create_tool_error("toolbox.x", "x", category=category)

    assert error.retryable is (category in {"transient", "timeout", "unavailable"})
    assert create_tool_error("toolbox.x", "x", category=category, retryable=True).retryable is True


@pytest.mark.req("AR-5.2", "D1-5i")
@pytest.mark.parametrize("error", _TREE)
def test_every_error_of_ours_has_its_own_code_under_our_prefix(error: type[ToolError]) -> None:
    same_code = [each for each in _TREE if each.default_code == error.default_code]

    assert create_tool_error(error.default_code, "x").code == error.default_code
    assert error.default_code.startswith("toolbox.")
    assert same_code == [error]


def test_the_tree_in_the_docstring_names_every_error() -> None:
    tree = ast.get_docstring(ast.parse(inspect.getsource(errors))) or ""

    assert [each.__name__ for each in _TREE if each.__name__ not in tree] == []


@pytest.mark.req("AR-5.2", "D1-5i")
@pytest.mark.parametrize(
    "code",
    [
        "",
        "mine",
        "toolbox",
        "toolbox.",
        "toolbox.Bad",
        "toolbox.a b",
        "tool.x",
        "tool.a.b",
        "tool.a.b.C",
        "toolbox.x\n",
    ],
)
def test_a_code_outside_the_reserved_prefixes_is_refused(code: str) -> None:
    with pytest.raises(CatalogError, match="is not an error code"):
        create_tool_error(code, "x")


@pytest.mark.req("AR-5.2", "D1-5j")
@pytest.mark.parametrize(
    "code", ["toolbox.timeout", "tool.weather.alerts.x", "tool.weather.forecast2.x", "tool.weather.forecast."]
)
def test_a_tool_may_only_use_codes_of_its_own(code: str) -> None:
    with pytest.raises(CatalogError, match="is not a code of `weather:forecast`"):
        create_tool_error(code, "x", tool="weather:forecast")


@pytest.mark.req("AR-5.2")
def test_dots_in_a_namespace_cannot_make_two_tools_share_a_prefix() -> None:
    assert tool_code_prefix("a.b:c@1") == "tool.a%2Eb.c."
    assert tool_code_prefix("a:b.c@1") == "tool.a.b%2Ec."
    assert create_tool_error("tool.a%2Eb.c.late", "x", tool="a.b:c").code == "tool.a%2Eb.c.late"


@pytest.mark.req("AR-5.1")
def test_an_unknown_category_is_refused_with_the_list() -> None:
    with pytest.raises(CatalogError, match="`unknown_outcome`"):
        create_tool_error("toolbox.x", "x", category="odd")


@pytest.mark.req("AR-5.1", "AR-6.3")
def test_details_that_are_not_json_are_refused_with_the_path() -> None:
    with pytest.raises(NotJson, match="details/tags"):
        create_tool_error("toolbox.x", "x", details={"tags": {1}})


@pytest.mark.req("AR-5.1")
@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ([], "expected an object"),
        ({}, "`code` is missing"),
        ({"code": "toolbox.x", "category": "odd", "message": "m", "retryable": False}, "not an error category"),
        ({"code": "toolbox.x", "category": "limit", "message": 3, "retryable": False}, "`message` has the wrong type"),
        ({"code": "toolbox.x", "category": "limit", "message": "m", "retryable": False, "x": 1}, "`x` is not a key"),
    ],
)
def test_reading_a_malformed_error_says_what_is_wrong(data: object, fault: str) -> None:
    with pytest.raises(CatalogError, match=fault):
        ToolError.from_dict(data)  # type: ignore[arg-type]  # on purpose


def test_an_error_survives_pickling_with_everything_it_says() -> None:
    error = UnknownTool("No tool `a:b`.", hint="Did you mean `a:c`?", details={"candidates": ["a:c"]})

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is UnknownTool
    assert copy == error
    assert str(copy) == "No tool `a:b`. Did you mean `a:c`?"


def test_a_pydantic_model_can_hold_an_error() -> None:
    class Outcome(BaseModel):
        model_config = ConfigDict(frozen=True)
        error: ToolError

    outcome = Outcome(error=UnknownTool("No tool `a:b`."))

    assert Outcome.model_validate_json(outcome.model_dump_json()).error == outcome.error


def test_an_error_is_not_equal_to_something_else() -> None:
    assert UnknownTool("x") != "x"
    assert UnknownTool("x") != UnknownTool("y")
