"""Argument repair: what a caller obviously meant, where a value is of the right content but the wrong JSON type.

Only what loses nothing is repaired, and only if that makes all the arguments valid: `"5"` where an integer is asked for
is 5; `"007"`, `"1e3"` and `" 5"` are left alone. What is told about a repair names places and kinds, never values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from toolcrib_core import JsonObject, ToolError, is_valid, iter_violations, parse_json
from toolcrib_core.json_values import thaw
from toolcrib_core.schema.compiled import Target, compile_schema
from toolcrib_core.schema.limits import INSTANCE_LIMITS, find_limit_fault
from toolcrib_core.schema.messages import Violation
from toolcrib_core.schema.pointers import MISSING, look_up, split_pointer

Kind: TypeAlias = Literal["array", "boolean", "integer", "number", "object", "string"]

MAX_REPAIRS: Final = 100
"""With more faults than this, nothing is obvious."""

_MAX_ROUNDS = 4  # a list in JSON text, of objects in JSON text, of numbers in quotes, and the proof that it is valid
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
# Up to 15 digits come out of a double as they went in.
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,7})\.[0-9]{1,7}")
_SEVERAL = re.compile(r"[,;\n\[{]")
_SEND: Final[Mapping[Kind, str]] = {
    "array": "a list: the items themselves in brackets, even if there is only one; not text",
    "boolean": "true or false, without quotes",
    "integer": "the same integer, without quotes",
    "number": "the same number, without quotes",
    "object": "the object itself, not its JSON text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRepaired:
    """One place where a value was put into the type that its schema asks for."""

    pointer: str
    found: Kind
    made: Kind

    def to_dict(self) -> JsonObject:
        """The repair as JSON, with the keys that travel on the wire."""
        return {"pointer": self.pointer, "from": self.found, "to": self.made}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Arguments that are valid now, and every place where they differ from what was sent."""

    arguments: dict[str, Any]
    repairs: tuple[PlaceRepaired, ...]


def repair_arguments(target: Target, arguments: object) -> Repair | None:
    """Valid arguments, if it is obvious at every fault what was meant; otherwise None.

    What was given is not changed. The target is a definition or a JSON Schema.
    """
    if not isinstance(arguments, Mapping) or find_limit_fault(dict(arguments), INSTANCE_LIMITS) is not None:
        return None
    repaired: dict[str, Any] = thaw(dict(arguments))
    repairs: list[PlaceRepaired] = []
    try:
        for _ in range(_MAX_ROUNDS):
            if is_valid(target, repaired):
                return Repair(arguments=repaired, repairs=tuple(repairs)) if repairs else None
            fixes = _obvious_fixes(target, repaired)
            if not fixes:
                return None
            repairs += reversed([_apply(each, repaired) for each in fixes])
    except ToolError:  # over a bound after a repair, or a schema that cannot be used: validation says which
        return None
    return None


def repaired_example(repair: Repair) -> list[JsonObject]:
    """What to send instead, place by place, for the error that a caller gets while repair is off.

    It holds no values: an error may end up in a log, and an argument may be a secret.
    """
    return [{"pointer": each.pointer, "send": _SEND[each.made]} for each in repair.repairs]


class _Fix(NamedTuple):
    pointer: str
    found: Kind
    made: Kind
    value: Any


def _obvious_fixes(target: Target, arguments: dict[str, Any]) -> list[_Fix]:
    """A fix for every fault, or nothing."""
    schema = compile_schema(target).schema
    violations = [each.violation for each in islice(iter_violations(target, arguments), MAX_REPAIRS + 1)]
    fixes: dict[str, _Fix] = {}
    for violation in violations:
        fix = _fix(violation, schema, arguments)
        if fix is not None:
            fixes[fix.pointer] = fix
    # A value of the wrong type breaks other rules at its place too (an enum, say); that is judged when it is mended.
    if len(violations) > MAX_REPAIRS or any(each.pointer not in fixes for each in violations):
        return []
    # What is inside comes before what is around it, which may get another shape.
    return sorted(fixes.values(), key=lambda each: each.pointer, reverse=True)


def _fix(violation: Violation, schema: dict[str, Any], arguments: dict[str, Any]) -> _Fix | None:
    value = look_up(arguments, split_pointer(violation.pointer)) if violation.pointer else MISSING
    if value is MISSING:
        return None
    readings = list(_readings(value, _allowed_types(violation, schema)))
    if len(readings) != 1:
        return None
    return _Fix(violation.pointer, _kind(value), _kind(readings[0]), readings[0])


def _allowed_types(violation: Violation, schema: dict[str, Any]) -> list[str]:
    """The types that the place may have: said by `type`, or by every form of an `anyOf` or `oneOf`."""
    if violation.keyword == "type" and isinstance(violation.expected, list):
        return violation.expected
    if violation.keyword not in {"anyOf", "oneOf"}:
        return []
    forms = look_up(schema, split_pointer(violation.schema_pointer))
    types = [_type_of(form, schema) for form in forms] if isinstance(forms, list) else [None]
    known = [each for each in types if each is not None]
    return known if len(known) == len(types) and "string" not in known else []


def _type_of(form: object, schema: dict[str, Any]) -> str | None:
    """The one type that a form of a choice asks for, if it says so itself or by one reference."""
    reference = form.get("$ref") if isinstance(form, dict) else None
    if isinstance(reference, str):
        form = look_up(schema, split_pointer(reference))
    kind = form.get("type") if isinstance(form, dict) else None
    return kind if isinstance(kind, str) else None


def _readings(value: object, allowed: list[str]) -> Iterator[Any]:
    """Everything that the value may have been meant to be."""
    if isinstance(value, str):
        yield from _readings_of_text(value, allowed)
    # Text that looks like several items is not obviously one.
    is_one = not isinstance(value, str) or _SEVERAL.search(value) is None
    if "array" in allowed and value is not None and not isinstance(value, list) and is_one:
        yield [value]


def _readings_of_text(text: str, allowed: list[str]) -> Iterator[Any]:
    if "boolean" in allowed and text in {"true", "false"}:
        yield text == "true"
    if ("integer" in allowed or "number" in allowed) and _INTEGER.fullmatch(text):
        yield int(text)
    if "number" in allowed and _DECIMAL.fullmatch(text):
        yield float(text)
    for kind, opening, python in (("object", "{", dict), ("array", "[", list)):
        if kind in allowed and text.lstrip().startswith(opening):
            parsed = _parsed(text)
            if isinstance(parsed, python):
                yield parsed


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except ToolError:
        return None


def _kind(value: object) -> Kind:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _apply(fix: _Fix, arguments: dict[str, Any]) -> PlaceRepaired:
    *way, last = split_pointer(fix.pointer)
    holder = look_up(arguments, way)
    holder[int(last) if isinstance(holder, list) else last] = fix.value
    return PlaceRepaired(pointer=fix.pointer, found=fix.found, made=fix.made)
