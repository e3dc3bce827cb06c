"""The forms in which a program has its tools, and what is said of everything else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from toolcrib_core import (
    CatalogError,
    ToolDefinition,
    UnsupportedTool,
    VendorDialect,
    create_registry,
    serialize_tool_definition,
)
from toolcrib_core.providers.importing import ImportedTools
from toolcrib_core.providers.tool_sources import definitions_of, legal_tools

A = ToolDefinition(namespace="n", name="a", version="1.0.0")
B = ToolDefinition(name="b", version="1.0.0")
NARROW = VendorDialect(name="A vendor", parameters=re.compile("[a-z]+"), parameter_rule="small letters.")


@dataclass
class Runnable:
    """What has a definition."""

    definition: ToolDefinition


@dataclass
class Box:
    """What has a registry."""

    registry: Any


@pytest.mark.req("CT-15")
def test_tools_are_found_in_every_form_that_holds_definitions() -> None:
    registry = create_registry([B, A])

    assert definitions_of(A) == definitions_of(Runnable(A)) == definitions_of(serialize_tool_definition(A)) == (A,)
    assert definitions_of([B, Runnable(A)]) == definitions_of(each for each in (B, A)) == (B, A)
    assert set(definitions_of(registry)) == set(definitions_of(registry.snapshot())) == {A, B}
    assert set(definitions_of(Box(registry))) == {A, B}
    assert definitions_of([]) == ()


def forecast() -> None:
    """A function that is no tool yet."""


@pytest.mark.req("CT-15")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "The tools are null, which is no tool. Give a toolbox, a registry, one tool or a list of tools."),
        (7, "The tools are an integer, which is no tool. Give a toolbox"),
        ("n:a", "The tools are a string of 3 characters, which is no tool. Give the definition, not its id"),
        (["n:a"], "Number 1 of the tools is a string of 3 characters, which is no tool. Give the definition"),
        (forecast, "The tools are a function, which is no tool. Make a tool of it with `define_tool`"),
        ([A, forecast], "Number 2 of the tools is a function, which is no tool. Make a tool of it"),
        (Box, "The tools are a class, which is no tool. Make a tool of it with `define_tool`"),
        ({"type": "object"}, "The tools are an object with 1 property, which is no tool. Make a definition"),
        ([[A]], "Number 1 of the tools is a list of 1 item, which is no tool. Give a toolbox"),
        (Box(A), "The tools are an object of the type `Box`, which is no tool. Give a toolbox"),
        ([Box(create_registry([A]))], "Number 1 of the tools is an object of the type `Box`, which is no tool."),
        (
            ImportedTools((A,)),
            "The tools are an object of the type `ImportedTools`, which is no tool. Give its `defini",
        ),
    ],
)
def test_anything_else_gets_a_sentence(given: Any, message: str) -> None:
    with pytest.raises(CatalogError) as caught:
        definitions_of(given)

    assert str(caught.value).startswith(message)


def _with(*names: str, **rest: Any) -> ToolDefinition:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, **rest}
    return ToolDefinition(namespace="n", name="odd", version="1.0.0", input_schema=schema)


@pytest.mark.req("CT-15")
def test_a_tool_with_a_parameter_that_a_vendor_forbids_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedTool) as caught:
        legal_tools([A, _with("ok", "$top", "B")], NARROW, on_illegal="raise")

    assert str(caught.value) == (
        "A vendor refuses 2 parameters of `n:odd@1.0.0` for their names: `$top`, `B`. "
        'Rename them: small letters. Or leave the tool out, with `on_illegal="skip"`.'
    )
    assert caught.value.details == {"id": "n:odd@1.0.0", "parameters": ["$top", "B"]}


@pytest.mark.req("CT-15")
def test_a_tool_that_is_skipped_is_reported_and_the_others_stay() -> None:
    odd = _with("B")

    legal = legal_tools([A, odd, B], NARROW, on_illegal="skip")

    assert legal.definitions == (A, B)
    assert list(legal.skipped) == [odd.id]
    assert "refuses 1 parameter of `n:odd@1.0.0` for its name: `B`." in legal.skipped[odd.id].message
    assert legal.among([odd, odd.id, A, B.id]) == [A, B.id]


@pytest.mark.req("CT-15")
def test_a_parameter_of_an_alternative_at_the_root_counts_where_these_are_merged() -> None:
    odd = _with("ok", anyOf=[{"properties": {"B": {"type": "string"}}}, {"properties": {"c": {}}}])
    merging = VendorDialect(name="V", parameters=NARROW.parameters, root_combinators=False)

    assert list(legal_tools([odd], merging, on_illegal="skip").skipped) == [odd.id]
    assert legal_tools([odd], NARROW, on_illegal="skip").skipped == {}


@pytest.mark.req("CT-15")
def test_a_vendor_without_a_rule_takes_every_name_and_another_choice_is_refused() -> None:
    odd = _with("", "ü" * 200)

    assert legal_tools(odd, VendorDialect(name="V"), on_illegal="raise").definitions == (odd,)
    with pytest.raises(CatalogError, match="`on_illegal` is `raise` or `skip`"):
        legal_tools([], NARROW, on_illegal="drop")  # type: ignore[arg-type]  # what a caller may write
