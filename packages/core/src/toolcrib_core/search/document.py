"""What a tool says about itself, as the fields that search reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from toolcrib_core.definition import ToolDefinition

Field: TypeAlias = Literal[
    "name",
    "title",
    "summary",
    "description",
    "tags",
    "examples",
    "parameters",
    "parameterDescriptions",
    "namespace",
    "serverDescription",
]

MAX_FIELD_LENGTH = 8_000
"""Characters of one field that are read: a hostile definition must not own the index."""
MAX_PARAMETERS = 200
_MAX_PARAMETER_DEPTH = 5

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s|\n\s*\n|\n\s*(?=[-*#])")  # noqa: RUF001  # full-width marks end sentences too
# Words of a server's package name that say how it is distributed, not what it is about.
_PACKAGING = re.compile(r"(?i)(?<![a-z])(?:mcp|servers?|modelcontextprotocol)(?![a-z])")


def document_fields(definition: ToolDefinition) -> dict[Field, str]:
    """The searchable text of a definition by field; empty fields are left out."""
    names, descriptions = _parameters(definition.input_schema)
    summary, rest = _first_sentence(definition.description)
    fields: dict[Field, str] = {
        "name": definition.name,
        "title": definition.title or "",
        "summary": summary,
        "description": rest,
        "tags": " ".join(definition.tags),
        "examples": " ".join(definition.examples),
        "parameters": names,
        "parameterDescriptions": descriptions,
        "namespace": _PACKAGING.sub(" ", definition.namespace),
        "serverDescription": str(definition.metadata.get("serverDescription") or ""),
    }
    return {field: text[:MAX_FIELD_LENGTH] for field, text in fields.items() if text}


def _first_sentence(description: str) -> tuple[str, str]:
    text = description.strip()
    end = _SENTENCE_END.search(text)
    return (text, "") if end is None else (text[: end.start()], text[end.end() :])


def _parameters(schema: Mapping[str, Any]) -> tuple[str, str]:
    found = list(_walk(schema, 0, [MAX_PARAMETERS]))
    return " ".join(name for name, _ in found), " ".join(text for _, text in found if text)


def _walk(schema: object, depth: int, left: list[int]) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, Mapping) or depth > _MAX_PARAMETER_DEPTH:
        return
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in schema.get(keyword) or ():
            yield from _walk(branch, depth + 1, left)
    yield from _walk(schema.get("items"), depth + 1, left)
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        if left[0] <= 0:
            return
        left[0] -= 1
        yield name, _prose(value)
        yield from _walk(value, depth + 1, left)


def _prose(schema: object) -> str:
    if not isinstance(schema, Mapping):
        return ""
    choices = [value for value in schema.get("enum") or () if isinstance(value, str)]
    return " ".join((str(schema.get("description") or ""), *choices))
