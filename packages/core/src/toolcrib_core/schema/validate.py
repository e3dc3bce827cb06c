"""Validation of arguments and results against their schemas: compiled once, every violation at once, nothing fetched.

`format` is an annotation, as draft 2020-12 says; what must hold is said by `pattern`, `enum` and the like. Values are
never coerced: `"3"` is not 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias

import jsonschema_rs

from toolcrib_core.errors import ArgumentsTooLarge, InvalidArguments, NotJson, ToolErrorCategory
from toolcrib_core.json_text import parse_json
from toolcrib_core.json_values import FrozenDict, thaw
from toolcrib_core.schema.canonical import digest
from toolcrib_core.schema.check import PATTERN_OPTIONS, check_schema, inspect_schema
from toolcrib_core.schema.dialect import upgrade_dialect
from toolcrib_core.schema.limits import INSTANCE_LIMITS, find_limit_fault, nodes_by_depth
from toolcrib_core.schema.messages import Violation, describe
from toolcrib_core.schema.refs import SchemaIndex
from toolcrib_core.schema.wording import kind_of, quoted

MAX_APPLICATIONS: Final = 10_000_000
"""How many schemas may be applied in validating one value; the engine takes about half a second for that many."""

MAX_EXPLAINED: Final = 20_000
"""How many schemas may be applied to still say what is wrong: with alternatives inside alternatives the engine lists
the faults of every branch, at about 20 us each."""

MAX_VIOLATIONS: Final = 1_000
"""How many violations an error lists at most."""

_MAX_IN_MESSAGE = 10
_MAX_CACHED = 4096


class TakesArguments(Protocol):
    """What has an input schema; a `ToolDefinition` does."""

    @property
    def namespace(self) -> str:
        """The namespace of the tool."""

    @property
    def name(self) -> str:
        """The name of the tool."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """What its arguments must satisfy."""


Target: TypeAlias = TakesArguments | Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class CompiledSchema:
    """A schema ready to be applied."""

    schema: dict[str, Any]
    validator: jsonschema_rs.Validator
    applications: tuple[int, ...]
    """How many schemas apply to one place of a value, by its depth; the last entry stands for all deeper places."""
    may_be_costly: bool
    """Whether there are values within the limits for which that is too much."""


def validate_arguments(target: Target, arguments: Mapping[str, Any] | str | bytes) -> dict[str, Any]:
    """The arguments, if a tool may be called with them.

    The target is a definition or a JSON Schema of any dialect since draft-04. Arguments given as JSON text are parsed
    strictly first.

    Raises:
        InvalidArguments: `details["violations"]` lists every place, what is allowed there and the likely meaning.
        ArgumentsTooLarge: The arguments are over a bound and were not validated.
        MalformedJson: The text is not JSON.
        SchemaError: The target is a schema that cannot be used.
    """
    compiled = compile_schema(target)
    value = _read(arguments)
    if not (isinstance(value, dict) and _accepts(compiled, value)):
        violations = _violations(compiled, value, what="arguments", tool=_tool(target))
        raise _invalid(violations, what="arguments", tool=_tool(target))
    return value


def iter_violations(target: Target, arguments: Mapping[str, Any] | str | bytes) -> Iterator[Violation]:
    """Every violation of the arguments, at most a thousand, in the order of their places.

    Raises:
        ArgumentsTooLarge: The arguments are over a bound and were not validated.
        MalformedJson: The text is not JSON.
        SchemaError: The target is a schema that cannot be used.
    """
    yield from _violations(compile_schema(target), _read(arguments), what="arguments", tool=_tool(target))


def is_valid(target: Target, arguments: Mapping[str, Any]) -> bool:
    """Whether a tool may be called with the arguments; those over a bound are not valid.

    Raises:
        SchemaError: The target is a schema that cannot be used.
    """
    compiled = compile_schema(target)
    return isinstance(arguments, dict) and _accepts(compiled, arguments)


def validate_value(schema: Mapping[str, Any], value: object, *, what: str = "value", tool: str | None = None) -> None:
    """Check any JSON value, such as the output of a tool; `what` is the plain word for it in messages.

    Raises:
        InvalidArguments: The value does not satisfy the schema; the code is `toolbox.invalid-<what>`, and for
            `output` the category is `output_validation`.
        ArgumentsTooLarge: The value is over a bound and was not validated.
        SchemaError: The schema cannot be used.
    """
    violations = _violations(compile_schema(schema), value, what=what, tool=tool)
    if violations:
        raise _invalid(violations, what=what, tool=tool)


def compile_schema(target: Target) -> CompiledSchema:
    """The schema of a target, checked and compiled; compiled once, and remembered by identity or by digest.

    Raises:
        SchemaError: The schema cannot be used.
    """
    schema = target if isinstance(target, Mapping) else target.input_schema
    known = _by_identity.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    compiled = _by_content(schema)
    if isinstance(schema, FrozenDict):
        # It cannot change, and the entry keeps it alive: its id names this schema as long as the entry exists.
        _remember(_by_identity, id(schema), (schema, compiled))
    return compiled


_by_identity: dict[int, tuple[Mapping[str, Any], CompiledSchema]] = {}
_by_digest: dict[str, CompiledSchema] = {}
_cache_lock = Lock()


def _remember(cache: dict[Any, Any], key: object, entry: object) -> None:
    with _cache_lock:
        while len(cache) >= _MAX_CACHED:
            del cache[next(iter(cache))]
        cache[key] = entry


def _by_content(schema: Mapping[str, Any]) -> CompiledSchema:
    try:
        key = digest(schema)
    except NotJson:
        # Not JSON at all, which the check will tell, or with an integer beyond 2^53, which a schema may well have.
        return _compiled(schema)
    known = _by_digest.get(key)
    if known is None:
        known = _compiled(schema)
        _remember(_by_digest, key, known)
    return known


def _compiled(schema: Mapping[str, Any]) -> CompiledSchema:
    check_schema(schema)
    # The engine takes no subclass of list in a schema.
    plain = thaw(upgrade_dialect(schema))
    applications = inspect_schema(plain)
    _name_closed_objects(plain)
    return CompiledSchema(
        schema=plain,
        validator=jsonschema_rs.Draft202012Validator(
            plain, offline=True, validate_formats=False, pattern_options=PATTERN_OPTIONS
        ),
        applications=applications,
        may_be_costly=applications[-1] * INSTANCE_LIMITS.max_nodes > MAX_APPLICATIONS,
    )


def _name_closed_objects(schema: dict[str, Any]) -> None:
    # Without `properties`, the engine reports `additionalProperties: false` without the names that are too many.
    for node in SchemaIndex(schema).nodes:
        if node.schema.get("additionalProperties") is False:
            node.schema.setdefault("properties", {})


def _read(arguments: object) -> Any:
    if isinstance(arguments, (str, bytes)):
        return parse_json(arguments)
    if type(arguments) is not dict and isinstance(arguments, Mapping):
        return thaw(dict(arguments))
    return arguments


def _accepts(compiled: CompiledSchema, value: object) -> bool:
    return (
        find_limit_fault(value, INSTANCE_LIMITS) is None
        and not (compiled.may_be_costly and _cost(compiled, value) > MAX_APPLICATIONS)
        and compiled.validator.is_valid(value)
    )


def _violations(compiled: CompiledSchema, value: object, *, what: str, tool: str | None) -> list[Violation]:
    fault = find_limit_fault(value, INSTANCE_LIMITS)
    if fault is not None and fault.over_limit:
        raise _too_large(what, tool, f"at {quoted(fault.pointer or '/')} {fault.reason}")
    if fault is not None:
        message = f"{quoted(fault.pointer or '/')} cannot be used: {fault.reason}."
        return [Violation(pointer=fault.pointer, keyword="json", message=message)]
    if what == "arguments" and not isinstance(value, dict):
        message = f"The arguments must be an object, not {kind_of(value)}."
        return [Violation(pointer="", keyword="type", message=message, expected=["object"])]
    cost = _cost(compiled, value)
    if cost > MAX_APPLICATIONS:
        raise _too_large(what, tool, "with so many values, so deep, the schema would be applied too often")
    if cost > MAX_EXPLAINED and compiled.applications[-1] > 1:
        message = f"The schema of the {what} is not satisfied, and has too many alternatives to say where."
        return [] if compiled.validator.is_valid(value) else [Violation(pointer="", keyword="", message=message)]
    errors = islice(compiled.validator.iter_errors(value), MAX_VIOLATIONS)
    violations = [describe(error, schema=compiled.schema, what=what, tool=tool) for error in errors]
    return sorted(violations, key=lambda each: (each.pointer, each.schema_pointer, each.message))


def _cost(compiled: CompiledSchema, value: object) -> int:
    """At most how many schemas are applied in validating a value."""
    by_depth = compiled.applications
    last = len(by_depth) - 1
    return sum(nodes * by_depth[min(depth, last)] for depth, nodes in enumerate(nodes_by_depth(value)))


def _tool(target: Target) -> str | None:
    return None if isinstance(target, Mapping) else f"{target.namespace}:{target.name}"


def _invalid(violations: list[Violation], *, what: str, tool: str | None) -> InvalidArguments:
    shown = " ".join(each.message for each in violations[:_MAX_IN_MESSAGE])
    more = len(violations) - _MAX_IN_MESSAGE
    return InvalidArguments(
        f"{_opening(violations, what, tool)}{shown}{f' And {more:,} more.' if more > 0 else ''}",
        code=f"toolbox.invalid-{what}",
        category=ToolErrorCategory.OUTPUT_VALIDATION if what == "output" else None,
        hint="Correct every place listed, and nothing else." if what == "arguments" else None,
        details={"violations": [each.to_dict() for each in violations]},
    )


def _opening(violations: list[Violation], what: str, tool: str | None) -> str:
    """The words before the sentences, where these alone would not say whose fault it is."""
    whose = f"The {what} of {quoted(tool)}" if tool else f"The {what}"
    if len(violations) > 1:
        return f"{whose} {'have' if what == 'arguments' else 'has'} {len(violations):,} faults. "
    return f"{whose} {'have' if what == 'arguments' else 'has'} a fault. " if violations[0].pointer else ""


def _too_large(what: str, tool: str | None, why: str) -> ArgumentsTooLarge:
    whose = f" of {quoted(tool)}" if tool else ""
    return ArgumentsTooLarge(
        f"The {what}{whose} cannot be validated: {why}.",
        code=None if what == "arguments" else f"toolbox.{what}-too-large",
        hint="Send less at once.",
        details={
            "maxDepth": INSTANCE_LIMITS.max_depth,
            "maxNodes": INSTANCE_LIMITS.max_nodes,
            "maxBytes": INSTANCE_LIMITS.max_bytes,
        },
    )
