"""Small schemas, each with one thing that a vendor's format may not know, and values that tell whether it got lost."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """One input schema, and arguments to ask it about."""

    name: str
    schema: dict[str, Any]
    values: tuple[dict[str, Any], ...]


def _case(name: str, inner: Any, *values: Any, **more: Any) -> Case:
    schema = {
        "type": "object",
        "properties": {"v": inner},
        "required": ["v"],
        "additionalProperties": False,
        **more,
    }
    return Case(name, schema, tuple({"v": each} for each in values))


_NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
    "required": ["name", "next"],
    "additionalProperties": False,
}

CASES: tuple[Case, ...] = (
    _case("const", {"const": "on"}, "on", "off"),
    _case("enum with null", {"enum": ["a", None]}, "a", None, "b"),
    _case("type list", {"type": ["string", "null"]}, "a", None, 1),
    _case("oneOf, exclusive", {"oneOf": [{"type": "string"}, {"type": "integer"}]}, "a", 1, 1.5),
    _case(
        "oneOf, overlapping",
        {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "integer", "maximum": 9}]},
        -1,
        5,
        20,
    ),
    _case(
        "allOf",
        {"allOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 4}]},
        "abc",
        "a",
        "abcde",
    ),
    _case("not", {"type": "string", "not": {"const": "admin"}}, "user", "admin"),
    _case("map", {"type": "object", "additionalProperties": {"type": "string"}}, {"a": "1"}, {"a": 1}, {}),
    _case(
        "patternProperties",
        {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
        {"x-a": "1"},
        {"x-a": 1},
        {"a": "1"},
    ),
    _case("any value", {}, "a", 1, {"a": [1]}, None),
    _case(
        "open object",
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": True},
        {"a": "1", "b": 2},
        {"a": "1"},
        {"b": 2},
    ),
    _case("number bounds", {"type": "integer", "minimum": 1, "maximum": 5}, 3, 0, 6),
    _case("string length", {"type": "string", "minLength": 2}, "ab", "a"),
    _case("pattern", {"type": "string", "pattern": "^[a-z]+$"}, "ab", "AB"),
    _case("format", {"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z"),
    _case("uniqueItems", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ["a", "b"], ["a", "a"]),
    _case(
        "prefixItems",
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
        ["a", 1],
        [1, "a"],
        ["a", 1, 2],
    ),
    _case(
        "if / then",
        {
            "type": "object",
            "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
            "required": ["a", "b"],
            "additionalProperties": False,
            "if": {"properties": {"a": {"const": True}}},
            "then": {"properties": {"b": {"const": True}}},
        },
        {"a": True, "b": True},
        {"a": True, "b": False},
    ),
    _case(
        "$ref with siblings",
        {"$ref": "#/$defs/name", "pattern": "^.."},
        "ab",
        "a",
        1,
        **{"$defs": {"name": {"type": "string"}}},
    ),
    _case(
        "recursion",
        {"$ref": "#/$defs/node"},
        {"name": "a", "next": {"name": "b", "next": None}},
        {"name": "a", "next": {"name": 1, "next": None}},
        **{"$defs": {"node": _NODE}},
    ),
    Case(
        "alternatives at the root",
        {
            "type": "object",
            "oneOf": [
                {"properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": False},
                {"properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": False},
            ],
        },
        ({"id": 1}, {"name": "a"}, {"id": "a"}, {}),
    ),
    Case(
        "optional with default",
        {"type": "object", "properties": {"v": {"type": "integer", "default": 3}}, "additionalProperties": False},
        ({}, {"v": 1}, {"v": "a"}),
    ),
)
