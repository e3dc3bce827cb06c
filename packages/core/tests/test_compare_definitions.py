"""Compatibility of definitions: names, risks, lifecycles, versions."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib_core.definition import ToolDefinition, ToolLifecycle
from toolcrib_core.risk import HARMLESS, ToolRisk
from toolcrib_core.schema.compare import compare
from toolcrib_core.sources import define_tool

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}


def closed(required: tuple[str, ...] = (), /, **properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def tool(**fields: Any) -> ToolDefinition:
    return ToolDefinition(**{"name": "tool", "version": "1.0.0", **fields})


@pytest.mark.req("AR-6.5")
@pytest.mark.parametrize("part", ["name", "namespace"])
def test_another_name_breaks(part: str) -> None:
    comparison = compare(tool(), tool(**{part: "other"}))

    assert [(each.pointer, each.kind, each.effect) for each in comparison.changes] == [
        (f"/{part}", "renamed", "breaking")
    ]


@pytest.mark.req("AR-6.5", "AR-1.2")
@pytest.mark.parametrize(
    "raised",
    [
        {"effects": "write"},
        {"destructive": True},
        {"idempotent": False},
        {"requires_approval": True},
        {"data_sensitivity": "secret"},
        {"external_network": True},
        {"system_access": True},
    ],
    ids=str,
)
def test_a_raised_risk_breaks_and_a_lowered_one_does_not(raised: dict[str, Any]) -> None:
    low, high = tool(risk=HARMLESS), tool(risk=ToolRisk(**{**HARMLESS.model_dump(), **raised}))

    assert [each.kind for each in compare(low, high).changes] == ["risk-raised"]
    assert (compare(low, high).verdict, compare(high, low).verdict) == ("breaking", "compatible")


@pytest.mark.req("AR-6.5")
def test_prose_and_deprecation_are_told_and_break_nothing() -> None:
    lifecycle = ToolLifecycle(deprecated=True, replaced_by="other")

    comparison = compare(tool(), tool(title="New", description="New.", tags=["new"], lifecycle=lifecycle))

    assert comparison.verdict == "compatible"
    assert [each.kind for each in comparison.changes] == [
        "description-changed",
        "deprecated",
        "tags-changed",
        "title-changed",
    ]
    assert "`other`" in comparison.changes[1].message


def test_another_kind_is_additive_and_a_lifted_deprecation_is_told() -> None:
    old = tool(lifecycle=ToolLifecycle(deprecated=True))

    comparison = compare(old, tool(kind="agent"))

    assert [(each.kind, each.effect) for each in comparison.changes] == [
        ("kind-changed", "additive"),
        ("lifecycle-changed", "compatible"),
    ]


BREAKING, ADDITIVE = closed(("b",), a=TEXT, b=TEXT), closed(a=TEXT, b=TEXT)
VERSIONS = [
    ("1.2.3", "2.0.0", BREAKING, None),
    ("1.2.3", "2.0.0-rc.1", BREAKING, None),
    ("2.0.0-rc.1", "2.0.0-rc.2", BREAKING, None),
    ("1.2.3", "1.3.0", BREAKING, "major"),
    ("1.2.3", "1.2.3", BREAKING, "major"),
    ("2.0.0", "1.9.0", BREAKING, "major"),
    ("0.2.3", "0.3.0", BREAKING, None),
    ("0.2.3", "1.0.0", BREAKING, None),
    ("0.2.3", "0.2.4", BREAKING, "minor"),
    (None, None, BREAKING, "without a version"),
    ("1.0.0", None, BREAKING, "without a version"),
    ("1.0", "2.0", BREAKING, "not SemVer"),
    ("1.2.3", "1.3.0", ADDITIVE, None),
    ("1.2.3", "1.2.4", ADDITIVE, "minor"),
    ("0.2.3", "0.2.4", ADDITIVE, None),
    (None, None, ADDITIVE, None),
    ("1.2.3", "1.2.3", closed(a=TEXT), None),
]


@pytest.mark.req("AR-6.5")
@pytest.mark.parametrize(("before", "after", "schema", "problem"), VERSIONS)
def test_a_version_that_does_not_announce_the_change_is_reported(
    before: str | None, after: str | None, schema: Schema, problem: str | None
) -> None:
    old, new = tool(version=before, input_schema=closed(a=TEXT)), tool(version=after, input_schema=schema)

    said = compare(old, new).version_problem

    assert (said is None) if problem is None else (problem in str(said))


def test_functions_that_grow_an_optional_parameter_are_additive() -> None:
    def first(city: str) -> int:
        raise NotImplementedError

    def second(city: str, days: int = 3) -> int:
        raise NotImplementedError

    old, new = define_tool(first, name="tool", version="1.0.0"), define_tool(second, name="tool", version="1.1.0")

    comparison = compare(old, new)

    assert (comparison.verdict, comparison.version_problem) == ("additive", None)
