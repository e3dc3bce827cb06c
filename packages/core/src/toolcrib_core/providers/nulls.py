"""Null in place of absent: what strict modes make of optional properties, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from toolcrib_core.json_values import FrozenDict, JsonObject
from toolcrib_core.providers.dialects import ASSERTIONS
from toolcrib_core.providers.documents import SchemaDocument, in_place
from toolcrib_core.providers.merging import types_of

_NULL = {"type": "null"}
_ASKING = frozenset({"not", "if", "$dynamicRef"})
_MAX_DEPTH = 50  # deeper than any chain of references


def accepts_null(document: SchemaDocument, schema: Any, *, depth: int = 0) -> bool | None:
    """Whether null satisfies the schema, as far as can be seen without applying it; None where that is not plain."""
    if not isinstance(schema, dict):
        return schema is not False
    kinds = types_of(schema)
    if (kinds and "null" not in kinds) or ("enum" in schema and None not in schema["enum"]):
        return False
    if schema.get("const") is not None:
        return False
    if depth > _MAX_DEPTH or _ASKING & schema.keys():
        return None
    below = depth + 1
    parts = [accepts_null(document, each, depth=below) for each in schema.get("allOf", ())]
    if isinstance(schema.get("$ref"), str):
        parts.append(accepts_null(document, document.at(schema["$ref"]), depth=below))
    if "anyOf" in schema:
        parts.append(_any(accepts_null(document, each, depth=below) for each in schema["anyOf"]))
    if "oneOf" in schema:
        answers = [accepts_null(document, each, depth=below) for each in schema["oneOf"]]
        parts.append(None if None in answers else answers.count(True) == 1)
    if False in parts:
        return False
    return None if None in parts else True


def _any(answers: Iterable[bool | None]) -> bool | None:
    every = list(answers)
    return True if True in every else None if None in every else False


def as_nullable(schema: dict[str, Any], *, type_lists: bool) -> dict[str, Any]:
    """A converted schema that takes null, too."""
    kinds = types_of(schema)
    if not ASSERTIONS & schema.keys() - {"anyOf"} and "anyOf" in schema:
        return schema if _NULL in schema["anyOf"] else schema | {"anyOf": [*schema["anyOf"], _NULL]}
    if not kinds or {"const", "anyOf", "oneOf", "allOf", "not", "if"} & schema.keys() or not type_lists:
        described = {key: schema[key] for key in ("description",) if key in schema}
        return {"anyOf": [{key: value for key, value in schema.items() if key not in described}, _NULL], **described}
    nullable = schema | {"type": kinds if "null" in kinds else [*kinds, "null"]}
    if "enum" in schema and None not in schema["enum"]:
        nullable["enum"] = [*schema["enum"], None]
    return nullable


def restore_arguments(schema: Mapping[str, Any], arguments: JsonObject) -> JsonObject:
    """The arguments as the original schema means them: nulls that only stand for absent properties are taken out.

    A property is absent when it is null and no part of the schema that describes it takes null. Where that is not plain
    to see, it is absent if it may be. What the schema does not describe stays as it is.
    """
    document = _document(schema) if isinstance(schema, FrozenDict) else SchemaDocument(dict(schema))
    restored: JsonObject = _restored(document, [document.root], arguments, certain=[document.root])
    return restored


@lru_cache(maxsize=1024)
def _known_document(key: _ById) -> SchemaDocument:
    return SchemaDocument(dict(key.schema))


class _ById:
    """A frozen schema, told apart by what object it is: hashing a schema costs as much as converting it."""

    __slots__ = ("schema",)

    def __init__(self, schema: FrozenDict) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.schema is other.schema


def _document(schema: FrozenDict) -> SchemaDocument:
    return _known_document(_ById(schema))


def _restored(document: SchemaDocument, schemas: list[Any], value: Any, *, certain: list[Any]) -> Any:
    """The value without its nulls for absent. `schemas` may describe it; `certain` are those of them that do so."""
    if not isinstance(value, dict | list) or not schemas:
        return value
    applying = [each for schema in schemas for each in in_place(document, schema)]
    surely = [each for schema in certain for each in in_place(document, schema, certain=True)]
    if isinstance(value, list):
        return [
            _restored(document, _of_item(applying, at), each, certain=_of_item(surely, at))
            for at, each in enumerate(value)
        ]
    result = {}
    for name, each in value.items():
        inner, known = _of_property(applying, name), _of_property(surely, name)
        if each is None and inner and _is_absent(document, name, inner, applying, known):
            continue
        result[name] = _restored(document, inner, each, certain=known)
    return result


def _is_absent(
    document: SchemaDocument, name: str, inner: list[Any], applying: list[dict[str, Any]], known: list[Any]
) -> bool:
    if any(accepts_null(document, schema) is False for schema in known):
        return True
    answers = [accepts_null(document, schema) for schema in inner]
    if True in answers:
        return False
    return None not in answers or not any(name in schema.get("required", ()) for schema in applying)


def _of_property(applying: list[dict[str, Any]], name: str) -> list[Any]:
    return [schema["properties"][name] for schema in applying if name in schema.get("properties", {})]


def _of_item(applying: list[dict[str, Any]], at: int) -> list[Any]:
    found = []
    for schema in applying:
        prefix = schema.get("prefixItems", ())
        if at < len(prefix):
            found.append(prefix[at])
        elif "items" in schema:
            found.append(schema["items"])
    return found
