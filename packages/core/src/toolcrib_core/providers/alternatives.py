"""Alternatives of a schema: whether they exclude each other, and one object that takes what any of them takes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

from toolcrib_core.providers.dialects import ANNOTATIONS, ASSERTIONS, IDENTIFIERS
from toolcrib_core.providers.documents import SchemaDocument, in_place
from toolcrib_core.providers.merging import merged, types_of, unique
from toolcrib_core.providers.nulls import accepts_null

_PLAIN_OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
_MAX_BRANCHES = 300  # they are compared with each other


def are_disjoint(document: SchemaDocument, branches: list[Any]) -> bool:
    """Whether no value can satisfy two of the alternatives, as far as can be seen: by type, or by a tag property."""
    if len(branches) > _MAX_BRANCHES:
        return False
    return all(_exclude(document, one, other) for one, other in combinations(branches, 2))


def describes_object(work: dict[str, Any], branches: Iterable[Any], document: SchemaDocument) -> bool:
    """Whether a schema and its alternatives speak of one object together."""
    if "object" in types_of(work) or "properties" in work:
        return True
    return "type" not in work and all(
        any({"properties", "required"} & part.keys() for part in in_place(document, branch)) for branch in branches
    )


def hidden_properties(document: SchemaDocument, work: dict[str, Any], keyword: str) -> set[str]:
    """The properties that are declared in what a keyword holds and not beside it."""
    held = work.get(keyword)
    schemas = list(held.values()) if isinstance(held, dict) and keyword == "dependentSchemas" else held
    found: set[str] = set()
    if keyword in {"anyOf", "oneOf", "allOf", "then", "else", "dependentSchemas", "$ref"}:
        parts = [document.at(schemas)] if isinstance(schemas, str) else schemas
        for each in parts if isinstance(parts, list) else [parts]:
            found.update(*(part.get("properties", {}) for part in in_place(document, each)))
            # An alternative without properties of its own may allow any.
    return found - set(work.get("properties", {}))


def mixed_nulls(document: SchemaDocument, work: dict[str, Any]) -> bool:
    """Whether a property takes null in one alternative and may be left out without taking it in another."""
    takes: dict[str, set[str]] = {}
    for part in in_place(document, {key: work[key] for key in ("anyOf", "oneOf") if key in work}):
        for name, schema in part.get("properties", {}).items():
            answer = accepts_null(document, schema)
            if answer is not False:
                takes.setdefault(name, set()).add("null")
            if not answer and name not in part.get("required", ()):
                takes.setdefault(name, set()).add("absent")
    return any(len(each) > 1 for each in takes.values())


class Flat(NamedTuple):
    """An object without alternatives, and the keywords that went."""

    schema: dict[str, Any]
    dropped: tuple[str, ...] = ()
    narrows: bool = False
    """Whether a property that one alternative declares is now held to that where another did not speak of it."""


def flattened(document: SchemaDocument, work: dict[str, Any], keyword: str) -> Flat | None:
    """One object schema that takes all that `work` with its alternatives takes, or None where that cannot be said.

    Properties of the alternatives join those of the schema itself; what every alternative requires is required.
    """
    if len(work[keyword]) > _MAX_BRANCHES:
        return None
    branches = [_plain_object(document, each) for each in work[keyword] if each is not False]
    known = [each for each in branches if each is not None]
    if len(known) < len(branches) or not known:
        return None
    own: dict[str, Any] = work.get("properties", {})
    result = {key: value for key, value in work.items() if key != keyword}
    properties = dict(own)
    narrows = False
    if work.get("additionalProperties") is not False:
        for name in dict.fromkeys(name for each in known for name in each.get("properties", {})):
            if name in own:
                continue
            silent = [each for each in known if not _has(each, name) and each.get("additionalProperties") is not False]
            needed = any(name in each.get("required", ()) for each in silent)
            declared = [each["properties"][name] for each in known if _has(each, name)]
            properties[name] = _any_of([*declared, True] if needed else declared)
            narrows = narrows or bool(silent)
        extras = _extras_of(work, known)
        if extras is not None:
            result["additionalProperties"] = extras
    if "patternProperties" in work:
        return None
    if properties:
        result["properties"] = properties
    common = set.intersection(*(set(each.get("required", ())) for each in known))
    required = [*work.get("required", ()), *sorted(common - set(work.get("required", ())))]
    if required:
        result["required"] = required
    return Flat(result, (keyword,), narrows)


def without_combinators(document: SchemaDocument, root: dict[str, Any]) -> Flat:
    """The root schema for vendors that want a plain object there: alternatives are merged, or left out."""
    work = dict(root)
    dropped: list[str] = []
    narrows = False
    if isinstance(work.get("$ref"), str):
        work["allOf"] = [{"$ref": work.pop("$ref")}, *work.get("allOf", ())]
    for member in work.pop("allOf", ()):
        plain = _resolved(document, member)
        joined = None if plain is None else merged(work, plain)
        if joined is None:
            dropped.append("allOf")
            _name_properties(document, work, [member])
        else:
            work = joined
    for keyword in ("anyOf", "oneOf"):
        if keyword in work:
            flat = flattened(document, work, keyword)
            if flat is None:
                rest = {key: value for key, value in work.items() if key != keyword}
                _name_properties(document, rest, work[keyword])
                flat = Flat(rest)
            work, narrows = flat.schema, narrows or flat.narrows
            dropped.append(keyword)
    for keyword in ("allOf", "not", "enum", "const"):
        if keyword in work:
            del work[keyword]
            dropped.append(keyword)
    if dropped and "unevaluatedProperties" in work:
        # What the dropped parts spoke of would count as not spoken of.
        del work["unevaluatedProperties"]
        dropped.append("unevaluatedProperties")
    return Flat(work, tuple(dict.fromkeys(dropped)), narrows)


def _name_properties(document: SchemaDocument, work: dict[str, Any], parts: list[Any]) -> None:
    """Declare what the parts declare, without saying more: a model should know that the properties exist."""
    if work.get("additionalProperties") is False or work.get("unevaluatedProperties") is False:
        return
    names = {name: True for part in parts for each in in_place(document, part) for name in each.get("properties", {})}
    if names.keys() - work.get("properties", {}).keys() and "additionalProperties" not in work:
        work["properties"] = {name: {} for name in names} | work.get("properties", {})


def _resolved(document: SchemaDocument, schema: Any, *, depth: int = 0) -> dict[str, Any] | None:
    if not isinstance(schema, dict) or depth > 50:  # noqa: PLR2004  # deeper than any chain of references
        return {} if schema is True else None
    plain = {key: value for key, value in schema.items() if key not in IDENTIFIERS}
    if "$ref" not in plain:
        return plain
    target = _resolved(document, document.at(plain.pop("$ref")), depth=depth + 1)
    return None if target is None else merged(plain, target)


def _plain_object(document: SchemaDocument, branch: Any) -> dict[str, Any] | None:
    """The alternative if it is nothing but the properties of an object, and which of them are required."""
    plain = _resolved(document, branch)
    if plain is None:
        return None
    for member in plain.pop("allOf", ()):
        inner = _resolved(document, member)
        plain = None if inner is None else merged(plain, inner)
        if plain is None:
            return None
    speaking = (ASSERTIONS & plain.keys()) - _PLAIN_OBJECT
    if speaking or types_of(plain) not in ([], ["object"]):
        return None
    return {key: value for key, value in plain.items() if key not in ANNOTATIONS}


def _extras_of(work: dict[str, Any], branches: list[dict[str, Any]]) -> Any:
    """What holds for properties that nobody names: closed if every alternative is, else the most open of them."""
    said = [work["additionalProperties"]] if "additionalProperties" in work else []
    said += [each["additionalProperties"] for each in branches if "additionalProperties" in each]
    if any(each is not False for each in said):
        return True
    closed = all(each.get("additionalProperties") is False for each in branches)
    return False if closed else None


def _has(branch: dict[str, Any], name: str) -> bool:
    return name in branch.get("properties", {})


def _any_of(schemas: list[Any]) -> Any:
    different = unique(schemas)
    if any(each is True for each in different):
        return {}
    return different[0] if len(different) == 1 else {"anyOf": different}


def _exclude(document: SchemaDocument, one: Any, other: Any) -> bool:
    first, second = _resolved(document, one), _resolved(document, other)
    if first is None or second is None:
        return one is False or other is False
    if _types_exclude(types_of(first), types_of(second)) or _values_exclude(first, second):
        return True
    if types_of(first) != ["object"] and types_of(second) != ["object"]:
        return False
    tags = set(first.get("required", ())) & set(second.get("required", ()))
    return any(_values_exclude(_as_dict(first, name), _as_dict(second, name)) for name in tags if _has(first, name))


def _as_dict(schema: dict[str, Any], name: str) -> dict[str, Any]:
    inner = schema.get("properties", {}).get(name)
    return inner if isinstance(inner, dict) else {}


def _types_exclude(first: list[str], second: list[str]) -> bool:
    if not first or not second:
        return False
    numbers = {"integer", "number"}
    return not (set(first) & set(second)) and not (numbers & set(first) and numbers & set(second))


def _values_exclude(first: dict[str, Any], second: dict[str, Any]) -> bool:
    ours, theirs = _values(first), _values(second)
    return ours is not None and theirs is not None and not any(each in theirs for each in ours)


def _values(schema: dict[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return listed if isinstance(listed, list) else None
