"""Reads retrieval sets: tools as definitions, and queries with the tools that answer them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib_core.definition import ToolDefinition

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
DEVELOPMENT = ("cw83", "metatool", "metatool_multi", "toolalpaca", "nestful", "bfcl", "mcp-dev")
_MAX_DEPTH = 5


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A query; each group is met by any one of its tools."""

    text: str
    groups: tuple[frozenset[str], ...]


@dataclass(frozen=True, kw_only=True)
class RetrievalSet:
    """A catalogue and its judged queries; `ids` maps our tool ids to those of the set."""

    name: str
    definitions: tuple[ToolDefinition, ...]
    ids: Mapping[str, str]
    queries: tuple[Judged, ...]


def development_sets() -> list[RetrievalSet]:
    """The sets beside the checkout; none where they are absent."""
    found = []
    for name in DEVELOPMENT:
        tools = DATA / "retrieval" / name / "tools.jsonl"
        queries = DATA / "retrieval" / name / "queries.jsonl"
        tools = tools if tools.is_file() else DATA / "mcp-catalogs" / "catalog.jsonl"
        if queries.is_file() and tools.is_file():
            found.append(read_set(tools, queries, name=name))
    return found


def read_set(tools: Path, queries: Path, *, name: str) -> RetrievalSet:
    """Read a set in either form of tool row and either form of judgement."""
    ids: dict[str, str] = {}
    definitions = []
    for number, row in enumerate(_rows(tools)):
        given, definition = _definition(row, number)
        ids[definition.id] = given
        definitions.append(definition)
    judged = tuple(
        Judged(
            text=row["query"], groups=tuple(map(frozenset, row.get("groups") or ([each] for each in row["relevant"])))
        )
        for row in _rows(queries)
    )
    return RetrievalSet(name=name, definitions=tuple(definitions), ids=ids, queries=judged)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                # A definition refuses NUL, which a set may hold by accident.
                yield json.loads(line.replace("\\u0000", " "))


def _definition(row: dict[str, Any], number: int) -> tuple[str, ToolDefinition]:
    tool = row.get("tool") or row
    namespace = row.get("server") or row.get("namespace") or "default"
    given = f"{row['server']}::{tool['name']}" if "server" in row else row["id"]
    return given, ToolDefinition(
        namespace=_ascii(namespace),
        name=_ascii(tool["name"]),
        version=f"0.0.{number}",  # rows may share a name and a shape, never a number
        title=tool.get("title") or (None if tool["name"].isascii() else tool["name"]),
        description=tool.get("description") or "",
        input_schema=_plain_schema(tool.get("inputSchema") or tool.get("input_schema") or {}),
        metadata={"serverDescription": row["server_description"]} if row.get("server_description") else {},
    )


def _ascii(name: str) -> str:
    legal = "".join(char for char in name if char.isascii() and char.isprintable())
    return legal.strip()[:256] or "unnamed"


def _plain_schema(schema: object, depth: int = 0) -> dict[str, Any]:
    """What search reads of a schema, valid in every dialect: sets write `dict` for `object` and worse."""
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return {}
    plain: dict[str, Any] = {}
    if isinstance(schema.get("description"), str):
        plain["description"] = schema["description"]
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and choices and all(isinstance(each, str) for each in choices):
        plain["enum"] = list(dict.fromkeys(choices))
    if isinstance(schema.get("items"), Mapping):
        plain["items"] = _plain_schema(schema["items"], depth + 1)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(keyword), list) and schema[keyword]:
            plain[keyword] = [_plain_schema(each, depth + 1) for each in schema[keyword]]
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        plain["properties"] = {name: _plain_schema(value, depth + 1) for name, value in properties.items()}
    return plain
