"""Schemas compiled for the validation engine: checked first, compiled once, remembered within bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias

import jsonschema_rs
import orjson

from toolcrib_core.errors import NotJson
from toolcrib_core.json_values import FrozenDict, thaw
from toolcrib_core.schema.canonical import digest
from toolcrib_core.schema.check import inspect_schema
from toolcrib_core.schema.cost import WorkProfile
from toolcrib_core.schema.limits import INSTANCE_LIMITS, SMALL_BYTES, find_limit_fault, measure_levels
from toolcrib_core.schema.patterns import PATTERN_OPTIONS
from toolcrib_core.schema.refs import SchemaIndex

MAX_STEPS: Final = 5_000_000
"""How many steps of about 50 ns it may take to validate one value; more would hold up every other call."""

# A text of this length has fewer nodes than are allowed, and with this few brackets it is not too deep.
_PLAIN_BYTES = INSTANCE_LIMITS.max_nodes
_PLAIN_BRACKETS = INSTANCE_LIMITS.max_depth
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
    work: WorkProfile
    _steps_for_byte: float
    _engine_accepts: Callable[[object], bool]

    def accepts(self, value: object) -> bool:
        """Whether the value satisfies the schema; one that is not JSON or over a bound does not.

        To keep the compiled schema and to call this is the fastest way to validate.
        """
        # The bounds in place of calls that check them: this is on the way of every call, and a function call more
        # costs a tenth of the whole. NaN is written as null; what else is not JSON the engine refuses itself.
        try:
            encoded = orjson.dumps(value)
            if (
                len(encoded) * self._steps_for_byte <= MAX_STEPS
                and len(encoded) <= _PLAIN_BYTES
                and (len(encoded) <= SMALL_BYTES or encoded.count(b"{") + encoded.count(b"[") <= _PLAIN_BRACKETS)
                and encoded.find(b"null") < 0
            ):
                return self._engine_accepts(value)
        except (TypeError, ValueError):
            return False
        return (
            find_limit_fault(value, INSTANCE_LIMITS) is None
            and self.work.steps_to_validate(measure_levels(value)) <= MAX_STEPS
            and self._engine_accepts(value)
        )


def compile_schema(target: Target) -> CompiledSchema:
    """The schema of a target, checked and compiled; compiled once, and remembered by identity or by digest.

    Raises:
        SchemaError: The schema cannot be used.
    """
    # An attribute is found in a tenth of the time that it takes to ask for an abstract base class.
    schema: Any = getattr(target, "input_schema", target)
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
        # The check says what is wrong and where.
        return _compiled(schema)
    known = _by_digest.get(key)
    if known is None:
        known = _compiled(schema)
        _remember(_by_digest, key, known)
    return known


def _compiled(schema: Mapping[str, Any]) -> CompiledSchema:
    upgraded, work = inspect_schema(schema)
    # The engine takes no subclass of list in a schema.
    plain = thaw(upgraded)
    _name_closed_objects(plain)
    validator = jsonschema_rs.Draft202012Validator(
        plain, offline=True, validate_formats=False, pattern_options=PATTERN_OPTIONS
    )
    return CompiledSchema(
        schema=plain,
        validator=validator,
        work=work,
        _steps_for_byte=work.steps_for_byte,
        _engine_accepts=validator.is_valid,
    )


def _name_closed_objects(schema: dict[str, Any]) -> None:
    # Without `properties`, the engine reports `additionalProperties: false` without the names that are too many.
    for node in SchemaIndex(schema).nodes:
        if node.schema.get("additionalProperties") is False:
            node.schema.setdefault("properties", {})
