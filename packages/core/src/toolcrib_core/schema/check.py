"""Whether a JSON Schema may be used: valid in its dialect, closed in itself, and bounded in what it costs to apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, islice
from typing import Any, Final

import jsonschema_rs

from toolcrib_core.errors import InvalidSchema, SchemaTooComplex
from toolcrib_core.schema.cost import WorkProfile, measure_work
from toolcrib_core.schema.dialect import Dialect, dialect_of, upgrade_dialect
from toolcrib_core.schema.limits import SCHEMA_LIMITS, find_limit_fault, measure_levels
from toolcrib_core.schema.messages import Violation, describe, first_error
from toolcrib_core.schema.patterns import MAX_PATTERN_LENGTH, pattern_size
from toolcrib_core.schema.pointers import pointer_from
from toolcrib_core.schema.refs import REFERENCES, SchemaIndex, SchemaNode
from toolcrib_core.schema.subschemas import APPLICATORS, Form, subschemas
from toolcrib_core.wording import listed, quoted

_MAX_VIOLATIONS = 100
_OLDER_FORMS: Final[Mapping[str, Form]] = {**APPLICATORS, "additionalItems": "one", "dependencies": "map"}
_MAX_PATTERNS = 1_000
_MAX_PATTERN_BYTES = 16 * 1024 * 1024
_MAX_EXPLAINED_VALUES = 2_000
"""In how large a schema every violation is listed, each of which holds a copy of its place; beyond, the first."""


def check_schema(schema: Mapping[str, object]) -> None:
    """Refuse a schema that is invalid, refers outside itself, or is too costly to apply. Nothing is ever fetched.

    Raises:
        InvalidSchema: `details["violations"]` lists every place, with its JSON pointer.
        SchemaTooComplex: The schema is over a bound on depth, size or branching.
    """
    inspect_schema(schema)


def inspect_schema(schema: Mapping[str, object]) -> tuple[dict[str, Any], WorkProfile]:
    """Check a schema; the answer is the schema in the 2020-12 dialect and its profile of work.

    Raises:
        InvalidSchema: As `check_schema`.
        SchemaTooComplex: As `check_schema`.
    """
    upgraded = upgrade_schema(schema)
    return upgraded, _measured(upgraded)


def upgrade_schema(schema: Mapping[str, object]) -> dict[str, Any]:
    """The same schema in draft 2020-12, if it is valid in its own dialect.

    An upgrade leaves out what its dialect does not know, so a schema is judged before it is upgraded. References and
    the cost of applying it are not looked at; `inspect_schema` does that, too.

    Raises:
        InvalidSchema: It breaks the rules of its dialect, or the dialect is not one we know.
        SchemaTooComplex: It is over a bound on depth or size.
    """
    plain: dict[str, Any] = schema if isinstance(schema, dict) else dict(schema)
    _check_limits(plain)
    dialect = _known_dialect(plain)
    _check_form(plain, dialect)
    if dialect is Dialect.DRAFT_2020_12:
        return plain
    faults = [
        fault
        for pointer, part in _parts_of_older(plain)
        for fault in (_foreign_part(pointer, part, dialect), _enum_fault(pointer, part, dialect))
        if fault is not None
    ]
    if faults:
        raise _invalid(faults)
    return upgrade_dialect(plain)


def _measured(schema: dict[str, Any]) -> WorkProfile:
    try:
        index = SchemaIndex(schema)
    except ValueError:
        raise _invalid([Violation(pointer="", keyword="$id", message="A `$id` is not a URI reference.")]) from None
    _check_patterns(index)
    violations = list(islice(_node_violations(index), _MAX_VIOLATIONS))
    if violations:
        raise _invalid(violations)
    return measure_work(index)


def _check_limits(schema: dict[str, Any]) -> None:
    fault = find_limit_fault(schema, SCHEMA_LIMITS)
    if fault is None:
        return
    violation = Violation(pointer=fault.pointer, keyword="", message=f"{fault.reason[:1].upper()}{fault.reason[1:]}.")
    if not fault.over_limit:
        raise _invalid([violation])
    raise SchemaTooComplex(
        f"The schema is too large: at {quoted(fault.pointer or '/')} {fault.reason}.",
        hint=f"A schema may be nested {SCHEMA_LIMITS.max_depth} deep, with {SCHEMA_LIMITS.max_nodes:,} values "
        f"and {SCHEMA_LIMITS.max_bytes:,} bytes.",
        details={"violations": [violation.to_dict()]},
    )


def _known_dialect(schema: dict[str, Any]) -> Dialect:
    dialect = dialect_of(schema)
    if dialect is not None:
        return dialect
    declared = schema["$schema"]
    name = quoted(declared) if isinstance(declared, str) else "something that is not text"
    message = f"`$schema` names {name}, which is not a dialect we know. Known are {listed(Dialect)}."
    raise _invalid([Violation(pointer="/$schema", keyword="$schema", message=message)])


def _check_form(schema: dict[str, Any], dialect: Dialect) -> None:
    metaschema = _metaschema(dialect)
    if metaschema.is_valid(schema):
        return
    if sum(size.values for size in measure_levels(schema)) > _MAX_EXPLAINED_VALUES:
        errors = first_error(metaschema, schema)
    else:
        errors = [*islice(metaschema.iter_errors(schema), _MAX_VIOLATIONS)]
    violations = [describe(error, schema={}, what="schema") for error in errors]
    raise _invalid(sorted(violations, key=lambda each: (each.pointer, each.schema_pointer, each.message)))


@cache
def _metaschema(dialect: Dialect) -> jsonschema_rs.Validator:
    # The engine carries the metaschemas; `meta.validate` is not used because it fetches a `$schema` it does not know.
    validator_class = jsonschema_rs.validator_cls_for({"$schema": dialect.value})
    return validator_class({"$ref": dialect.value}, offline=True)


def _node_violations(index: SchemaIndex) -> Iterator[Violation]:
    at = 0
    # Following a reference may add nodes to the index, so its length is asked for each time.
    while at < len(index.nodes):
        node = index.nodes[at]
        yield from _reference_violations(index, node)
        yield from _pattern_violations(node)
        yield from _dialect_violations(index, node)
        at += 1


def _check_patterns(index: SchemaIndex) -> None:
    patterns = [pattern for node in index.nodes for _, pattern in _patterns(node)]
    if len(patterns) > _MAX_PATTERNS or sum(pattern_size(each) or 0 for each in patterns) > _MAX_PATTERN_BYTES:
        raise SchemaTooComplex(
            f"The schema is too complex: its {len(patterns):,} patterns take too long to match.",
            hint=f"A schema may have {_MAX_PATTERNS:,} patterns, compiled to {_MAX_PATTERN_BYTES:,} bytes in all. "
            "Use fewer and shorter repetitions such as `{1,1000}`.",
        )


def _patterns(node: SchemaNode) -> list[tuple[str, str]]:
    pattern, by_pattern = node.schema.get("pattern"), node.schema.get("patternProperties")
    patterns = [("pattern", pattern)] if isinstance(pattern, str) else []
    return patterns + [("patternProperties", key) for key in by_pattern] if isinstance(by_pattern, dict) else patterns


def _reference_violations(index: SchemaIndex, node: SchemaNode) -> Iterator[Violation]:
    for keyword in REFERENCES:
        reference = node.schema.get(keyword)
        if not isinstance(reference, str):
            continue
        try:
            if index.target(node, reference) is not None:
                continue
            is_inside = index.is_inside(node, reference)
        except ValueError:
            is_inside = False
        why = "leads to nothing" if is_inside else "leads out of the schema; nothing is ever fetched"
        yield _at(node, keyword, f"{quoted(reference)} {why}. Refer to a part of this schema, as in `#/$defs/name`.")


def _pattern_violations(node: SchemaNode) -> Iterator[Violation]:
    for keyword, each in _patterns(node):
        if len(each) > MAX_PATTERN_LENGTH:
            yield _at(
                node, keyword, f"A pattern may have {MAX_PATTERN_LENGTH:,} characters, this one has {len(each):,}."
            )
        elif pattern_size(each) is None:
            yield _at(
                node,
                keyword,
                f"{quoted(each)} is not a pattern that can be matched in linear time. "
                "Leave out look-around (`(?=`, `(?!`, `(?<`) and backreferences, and check the syntax.",
            )


def _dialect_violations(index: SchemaIndex, node: SchemaNode) -> Iterator[Violation]:
    fault = None if node is index.root else _foreign_part(node.pointer, node.schema, Dialect.DRAFT_2020_12)
    if fault is not None:
        yield fault


def _foreign_part(pointer: str, part: Mapping[str, Any], dialect: Dialect) -> Violation | None:
    if "$schema" not in part or dialect_of(part) is dialect:
        return None
    pointer += "/$schema"
    message = "A part of a schema must be in the same dialect as the whole."
    return Violation(pointer=pointer, keyword="$schema", message=message, schema_pointer=pointer)


def _enum_fault(pointer: str, part: Mapping[str, Any], dialect: Dialect) -> Violation | None:
    # Draft-04 demands it; the engine's metaschema for draft-04 does not.
    if dialect is not Dialect.DRAFT_4 or "enum" not in part or _draft_4_enum().is_valid(part["enum"]):
        return None
    pointer += "/enum"
    message = f"{quoted(pointer)} must have at least one value, and none twice, in draft-04."
    return Violation(pointer=pointer, keyword="enum", message=message, schema_pointer=pointer)


@cache
def _draft_4_enum() -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft4Validator({"minItems": 1, "uniqueItems": True}, offline=True)


def _parts_of_older(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a schema before 2020-12, with its pointer."""
    waiting: list[tuple[str, dict[str, Any]]] = [("", schema)]
    while waiting:
        pointer, part = waiting.pop()
        yield pointer, part
        inner = chain(subschemas(part, forms=_OLDER_FORMS), subschemas(part, forms={"items": "list"}))
        waiting += [(pointer + pointer_from(keys), each) for keys, each in inner if isinstance(each, dict)]


def _at(node: SchemaNode, keyword: str, message: str) -> Violation:
    pointer = node.pointer + pointer_from([keyword])
    return Violation(pointer=pointer, keyword=keyword, message=message, schema_pointer=pointer)


def _invalid(violations: list[Violation]) -> InvalidSchema:
    first, more = violations[0], len(violations) - 1
    others = f" There {'is 1 more fault' if more == 1 else f'are {more} more faults'}." if more else ""
    place = quoted(first.pointer or "/")
    where = "" if first.message.startswith(place) else f"At {place}: "
    return InvalidSchema(
        f"The schema cannot be used. {where}{first.message}{others}",
        hint="Mend every place listed in the details.",
        details={"violations": [each.to_dict() for each in violations]},
    )
