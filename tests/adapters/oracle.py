"""Whether a report of losses tells the truth: original and converted schema are asked about the same values."""

from __future__ import annotations

import json
import os
from typing import Any, Final, NamedTuple

import jsonschema_rs

from tests.adapters.schemas import Values
from toolcrib_core import Conversion, restore_arguments
from toolcrib_core.json_values import thaw
from toolcrib_core.providers.documents import SchemaDocument, in_place
from toolcrib_core.schema.patterns import PATTERN_OPTIONS

CASES: Final = int(os.environ.get("TOOLCRIB_LOSSINESS_CASES", "1"))
"""By how much to multiply the number of schemas that the property tests try."""


class Disagreement(NamedTuple):
    """A value on which original and converted schema differ without the report saying that they may."""

    effect: str
    value: Any
    original: dict[str, Any]
    converted: dict[str, Any]

    def __str__(self) -> str:
        told = [json.dumps(each) for each in (self.value, self.original, self.converted)]
        return f"{self.effect} silently: {told[0]}\n{told[1]}\n-> {told[2]}"


class Checked(NamedTuple):
    """How many values both schemas were asked about, and on which they differ silently."""

    cases: int
    silent: tuple[Disagreement, ...]


def check(original: dict[str, Any], conversion: Conversion, *, seed: int = 0, number: int = 4) -> Checked:
    """Ask both schemas about values made for each of them; every difference must be in the report, by its kind."""
    plain = thaw(original)
    converted = thaw(conversion.schema)
    takes, takes_converted = _validator(plain), _validator(converted)
    filling = Filling(converted)
    strict = conversion.dialect.all_required
    document = SchemaDocument(plain)
    silent: list[Disagreement] = []
    values = [*Values(plain, seed).some(number), *Values(converted, seed + 1).some(number)]
    for value in values:
        if takes.is_valid(value) and not _excused(conversion, document, value):
            written = filling.fill(converted, value) if strict else value
            if not takes_converted.is_valid(written):
                silent.append(Disagreement("narrowed", value, plain, converted))
            elif strict and not takes.is_valid(restore_arguments(plain, written)):
                silent.append(Disagreement("not restored", value, plain, converted))
        if takes_converted.is_valid(value) and not conversion.report.widened:
            read = restore_arguments(plain, value) if strict else value
            if not takes.is_valid(read):
                silent.append(Disagreement("widened", value, plain, converted))
    return Checked(len(values), tuple(silent))


def _excused(conversion: Conversion, document: SchemaDocument, value: Any) -> bool:
    """Whether the report says that this value may be refused."""
    narrowed = conversion.report.of("narrowed")
    if any(not each.demanded or each.keyword != "additionalProperties" for each in narrowed):
        return True
    return bool(narrowed) and _has_undeclared(document, [document.root], value)


def _has_undeclared(document: SchemaDocument, schemas: list[Any], value: Any) -> bool:
    applying = [each for schema in schemas for each in in_place(document, schema)]
    if isinstance(value, list):
        items = [
            inner
            for each in applying
            for inner in ([each.get("items", True)], each.get("prefixItems", ()))
            for inner in inner
        ]
        return any(_has_undeclared(document, items, each) for each in value)
    if not isinstance(value, dict):
        return False
    declared = {
        name: [each["properties"][name] for each in applying if name in each.get("properties", {})] for name in value
    }
    return any(not inner or _has_undeclared(document, inner, value[name]) for name, inner in declared.items())


class Filling:
    """What a model writes in a strict mode for arguments that leave properties out: null for each of them."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._definitions = root.get("$defs", {})
        self._validators: dict[int, jsonschema_rs.Draft202012Validator] = {}

    def fill(self, schema: Any, value: Any) -> Any:
        """The value with null for every required property that it lacks."""
        if not isinstance(schema, dict):
            return value
        if "$ref" in schema:
            return self.fill(self._definitions[schema["$ref"].rsplit("/", 1)[-1]], value)
        for branch in schema.get("anyOf", ()):
            filled = self.fill(branch, value)
            if self._takes(branch, filled):
                return filled
        if isinstance(value, list):
            return [self.fill(schema.get("items"), each) for each in value]
        if not isinstance(value, dict):
            return value
        known = schema.get("properties", {})
        present = {name: self.fill(known.get(name), each) for name, each in value.items()}
        return present | {name: None for name in schema.get("required", ()) if name not in present}

    def _takes(self, branch: dict[str, Any], value: Any) -> bool:
        validator = self._validators.get(id(branch))
        if validator is None:
            validator = self._validators[id(branch)] = _validator({**branch, "$defs": self._definitions})
        return validator.is_valid(value)


def _validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        schema, offline=True, validate_formats=False, pattern_options=PATTERN_OPTIONS
    )
