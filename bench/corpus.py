"""The tools that the benches of core work on: our own corpus, and arguments made for its schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolcrib_core import ToolDefinition

_CORPUS = Path(__file__).parents[1] / "packages/core/tests/corpus/tools.jsonl"


# Below it, arguments hold only what is required: a recursive schema has to end somewhere.
_FULL_DEPTH = 4


def tool_rows() -> list[dict[str, Any]]:
    """The MCP tools of the corpus, as `{"server", "tool"}` rows."""
    return [json.loads(line) for line in _CORPUS.read_text(encoding="utf-8").splitlines()]


def definitions(count: int) -> list[ToolDefinition]:
    """That many definitions with schemas of the corpus, each under a name of its own."""
    rows = tool_rows()
    return [
        ToolDefinition(
            namespace=f"server{number % 40}",
            name=f"tool_{number}",
            version=f"1.{number % 7}.0",
            description=rows[number % len(rows)]["tool"].get("description") or "",
            input_schema=rows[number % len(rows)]["tool"]["inputSchema"],
        )
        for number in range(count)
    ]


def valid_arguments(schema: Any, root: dict[str, Any] | None = None, depth: int = 0) -> Any:
    """A value that the schema accepts, for the keywords that occur in the corpus."""
    if schema is True:
        return "anything"
    root = root or schema
    if "$ref" in schema:
        return valid_arguments(_target(schema["$ref"], root), root, depth)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return valid_arguments(schema[keyword][0 if depth < _FULL_DEPTH else -1], root, depth)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    stated = schema.get("type", "object" if "properties" in schema else "string")
    return _VALUES[stated[0] if isinstance(stated, list) else stated](schema, root, depth + 1)


def _object(schema: dict[str, Any], root: dict[str, Any], depth: int) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    properties = schema.get("properties", {})
    names = [name for name in properties if name in required or depth < _FULL_DEPTH]
    return {name: valid_arguments(properties[name], root, depth) for name in names}


def _array(schema: dict[str, Any], root: dict[str, Any], depth: int) -> list[Any]:
    if "prefixItems" in schema:
        return [valid_arguments(each, root, depth) for each in schema["prefixItems"]]
    count = schema.get("minItems", 2 if depth < _FULL_DEPTH else 0)
    return [valid_arguments(schema.get("items", True), root, depth) for _ in range(count)]


def _text(schema: dict[str, Any], _: dict[str, Any], __: int) -> str:
    return "x" * min(max(schema.get("minLength", 8), 1), schema.get("maxLength", 8))


def _number(schema: dict[str, Any], _: dict[str, Any], __: int) -> int:
    return int(schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1))


_VALUES: dict[str, Any] = {
    "object": _object,
    "array": _array,
    "string": _text,
    "integer": _number,
    "number": _number,
    "boolean": lambda *_: True,
    "null": lambda *_: None,
}


def _target(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    value: Any = root
    for key in reference.removeprefix("#/").split("/"):
        value = value[key]
    found: dict[str, Any] = value
    return found
