"""Schemas of a document as schemas of tools: draft 2020-12, each with the definitions that it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.schema.subschemas import APPLICATORS
from toolcrib_core.wording import quoted
from toolcrib_toolsets.errors import InvalidSettings
from toolcrib_toolsets.types.openapi.documents import Document, pointer_parts
from toolcrib_toolsets.types.openapi.operations import OperationRefused

MAX_VALUES: Final = 200_000
"""Values in the schemas of all operations together; what operations share counts for each, as each gets its own."""

_LONG_TEXT: Final = 100  # characters that count as one value more
_NAME: Final = re.compile(r"[^A-Za-z0-9_.-]+")
# About the document, other formats, or definitions that references reach by themselves.
_LEFT_OUT: Final = frozenset(
    {"discriminator", "xml", "externalDocs", "example", "nullable", "$defs", "definitions", "$comment", "$anchor"}
)
_OWN_BASE: Final = ("$id", "$dynamicRef", "$recursiveRef")
_IN_PLACE: Final = ("$ref", "allOf", "anyOf", "oneOf", "not")
_DIALECTS: Final = ("https://json-schema.org/draft/2020-12/schema", "https://spec.openapis.org/oas/3.")
_ABOUT: Final = ("title", "description", "default", "deprecated")


class Budget:
    """How many values the schemas of a document may have together."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def take(self, value: object) -> None:
        """Count a value.

        Raises:
            InvalidSettings: There are too many.
        """
        self._left -= 1 + (len(value) // _LONG_TEXT if isinstance(value, str) else 0)
        if self._left < 0:
            raise InvalidSettings.because(
                f"the schemas of its operations have more than {MAX_VALUES:,} values; choose operations with `only`"
            )


class SchemaTranslator:
    """Translates the schemas of one operation and collects their definitions."""

    def __init__(self, document: Document, budget: Budget) -> None:
        self._document = document
        self._budget = budget
        self._names: dict[str, str] = {}  # of definitions, by reference
        self._waiting: list[str] = []

    def translate(self, given: object) -> Any:
        """A schema whose references lead to `definitions`.

        Raises:
            OperationRefused: It cannot be said in draft 2020-12, or refers to what is not in the document.
        """
        self._budget.take(given)
        if isinstance(given, bool):
            return given
        if not isinstance(given, Mapping):
            raise OperationRefused("one of its schemas is not an object")
        own_base = next((each for each in _OWN_BASE if isinstance(given.get(each), str)), None)
        if own_base is not None:
            raise OperationRefused(f"one of its schemas uses {quoted(own_base)}, which is not supported")
        dialect = given.get("$schema")
        if isinstance(dialect, str) and not dialect.startswith(_DIALECTS):
            raise OperationRefused(f"one of its schemas is written in {quoted(dialect)}")
        schema = {
            name: self._value(name, value)
            for name, value in given.items()
            if name not in _LEFT_OUT and name != "$schema" and not name.startswith("x-")
        }
        self._leave_out_read_only(schema, given)
        if not self._document.is_old:
            return schema
        return _of_old_form(schema, is_nullable=given.get("nullable") is True or given.get("x-nullable") is True)

    def definitions(self) -> dict[str, Any]:
        """The definitions that the translated schemas need, by name.

        Raises:
            OperationRefused: As for `translate`.
        """
        found: dict[str, Any] = {}
        while self._waiting:
            reference = self._waiting.pop()
            found[self._names[reference]] = self.translate(self._document.find(reference))
        for name in found:
            _refuse_endless(name, found)
        return dict(sorted(found.items()))

    def _value(self, name: str, value: Any) -> Any:
        if name == "$ref":
            if not isinstance(value, str):
                raise OperationRefused("the `$ref` of one of its schemas is not text")
            return f"#/$defs/{self._name(value)}"
        form = APPLICATORS.get(name)
        if form == "one" and isinstance(value, (dict, bool)):
            return self.translate(value)
        if form == "list" and isinstance(value, list):
            return [self.translate(each) for each in value]
        if form == "map" and isinstance(value, dict):
            return {key: self.translate(each) for key, each in value.items()}
        return self._literal(value)

    def _name(self, reference: str) -> str:
        if reference not in self._names:
            self._document.find(reference)
            parts = pointer_parts(reference) or ["document"]
            name = wanted = _NAME.sub("_", parts[-1])[:64] or "schema"
            number = 2
            while name in self._names.values():
                name, number = f"{wanted}_{number}", number + 1
            self._names[reference] = name
            self._waiting.append(reference)
        return self._names[reference]

    def _leave_out_read_only(self, schema: dict[str, Any], given: Mapping[str, Any]) -> None:
        """A request does not hold what only answers hold, even where it is required of those."""
        properties = given.get("properties")
        if not isinstance(properties, Mapping):
            return
        hidden = [
            name for name, each in properties.items() if isinstance(each, Mapping) and each.get("readOnly") is True
        ]
        if hidden:
            schema["properties"] = {name: each for name, each in schema["properties"].items() if name not in hidden}
            if isinstance(schema.get("required"), list):
                schema["required"] = [name for name in schema["required"] if name not in hidden]

    def _literal(self, given: Any) -> Any:
        """A value that is no schema, as it is."""
        waiting = [given]
        while waiting:
            each = waiting.pop()
            self._budget.take(each)
            waiting += each.values() if isinstance(each, dict) else each if isinstance(each, list) else []
        return given


def _of_old_form(schema: dict[str, Any], *, is_nullable: bool) -> dict[str, Any]:
    """What 2.0 and 3.0 say differently: `nullable`, and exclusive bounds that are booleans."""
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(schema.get(exclusive), bool):
            strictly = schema.pop(exclusive)
            if strictly and bound in schema:
                schema[exclusive] = schema.pop(bound)
    if schema.get("type") == "file":
        schema["type"] = "string"
    if not is_nullable:
        return schema
    if any(each in schema for each in _IN_PLACE):
        about: dict[str, Any] = {name: schema.pop(name) for name in _ABOUT if name in schema}
        return {"anyOf": [schema, {"type": "null"}], **about}
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


def _refuse_endless(name: str, definitions: Mapping[str, Any]) -> None:
    passed: set[str] = set()
    here: Any = definitions[name]
    while isinstance(here, dict) and set(here) == {"$ref"}:
        if here["$ref"] in passed:
            raise OperationRefused(f"the schema {quoted(name)} refers to nothing but itself")
        passed.add(here["$ref"])
        here = definitions.get(here["$ref"].removeprefix("#/$defs/"))
