"""Patterns that cannot be matched in linear time are left out, said, and never make a schema stricter."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry

from toolcrib_core.schema.check import check_schema
from toolcrib_core.schema.relax import relax_patterns

_STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^(?!admin).*$"},
        "code": {"type": "string", "pattern": "^[A-Z]+$"},
        "tags": {"patternProperties": {"^x(?=y)": {"type": "integer"}, "^z": {}}, "additionalProperties": False},
    },
}


@pytest.mark.req("AR-6.2")
def test_only_unmatchable_patterns_are_left_out_and_each_is_said_with_its_place() -> None:
    relaxed, lost = relax_patterns(_STRICT, pointer="/inputSchema")

    check_schema(relaxed)
    assert relaxed["properties"]["code"]["pattern"] == "^[A-Z]+$"
    assert "pattern" not in relaxed["properties"]["name"]
    assert [each.pointer for each in lost] == [
        "/inputSchema/properties/name/pattern",
        "/inputSchema/properties/tags/patternProperties/^x(?=y)",
    ]


@pytest.mark.req("AR-6.2")
@pytest.mark.parametrize("value", [{"name": "bob"}, {"tags": {"xy": 3}}, {"tags": {"z": None}}, {"code": "A"}])
def test_what_the_original_accepts_the_relaxed_schema_accepts(value: dict[str, Any]) -> None:
    relaxed, _ = relax_patterns(_STRICT)

    assert Draft202012Validator(_STRICT, registry=Registry()).is_valid(value)
    assert Draft202012Validator(relaxed, registry=Registry()).is_valid(value)


def test_a_schema_without_such_patterns_stays_as_it_is_and_the_original_is_not_changed() -> None:
    plain = {"type": "object", "properties": {"pattern": {"const": "(?=a)"}}}

    assert relax_patterns(plain) == (plain, ())
    relax_patterns(_STRICT)
    assert "pattern" in _STRICT["properties"]["name"]
