"""The arguments of a call, checked before anything of the tool runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import orjson

from toolcrib_core import ArgumentError, InvalidArguments, ToolError, parse_json, validate_arguments
from toolcrib_core.schema.limits import INSTANCE_LIMITS, NUL_TRACE, find_limit_fault
from toolcrib_runtime.outputs import json_copy
from toolcrib_runtime.policy.repair import Repair, repair_arguments, repaired_example

if TYPE_CHECKING:
    from toolcrib_runtime.runnable import RunnableTool

Given: TypeAlias = Mapping[str, Any] | str | bytes | None

Explain: TypeAlias = Callable[[ToolError, Mapping[str, Any] | None], ToolError]
"""Makes of a refusal, and of the arguments where they are an object, what the caller is told instead."""


class Taken(NamedTuple):
    """Arguments that a tool may be called with."""

    parsed: dict[str, Any]
    """A copy of what was given, so that neither the tool nor the caller can change what was found valid."""
    snapshot: bytes | str
    """The same as JSON text."""
    repair: Repair | None = None
    """What was mended on the way."""
    converted: Mapping[str, Any] | None = None
    """The same in the types that the function asks for, where these are not those of JSON."""


def take_arguments(tool: RunnableTool, given: Given, *, repair: bool = False) -> Taken:
    """Read and validate the arguments of a call.

    Raises:
        ArgumentError: They are not usable; every violation is listed.
        ToolError: They are not usable, in the words of the tool's own `explain`.
    """
    try:
        taken = _take(tool, given, repair=repair)
    except ArgumentError as refused:
        if tool.explain is None:
            raise
        raise tool.explain(refused, _object(given)) from refused
    for name in tool.binding.integers:
        if type(taken.parsed.get(name)) is float:  # JSON Schema takes 5.0 for an integer
            taken = _with_integers(taken, tool.binding.integers)
    convert = tool.binding.convert
    # The types of the function may refuse what the schema cannot say.
    return taken if convert is None else taken._replace(converted=convert(taken.parsed))


def _object(given: Given) -> Mapping[str, Any] | None:
    if isinstance(given, str | bytes):
        try:
            given = parse_json(given)
        except ArgumentError:
            return None
    return given if isinstance(given, Mapping) else None


def _take(tool: RunnableTool, given: Given, *, repair: bool) -> Taken:
    if isinstance(given, str | bytes):
        parsed = parse_json(given)
        if isinstance(parsed, dict) and tool.takes.accepts(parsed):
            return Taken(parsed, given)
        return _mended(tool, parsed, repair=repair)
    if given is None:
        given = {}
    if isinstance(given, dict) and tool.takes.accepts(given):
        snapshot = orjson.dumps(given)
        if snapshot.find(NUL_TRACE) < 0:
            return Taken(orjson.loads(snapshot), snapshot)
    return _mended(tool, given, repair=repair)


def _with_integers(taken: Taken, names: tuple[str, ...]) -> Taken:
    whole = {name: int(value) for name in names if type(value := taken.parsed.get(name)) is float}
    parsed = {**taken.parsed, **whole}
    return Taken(parsed, orjson.dumps(parsed), taken.repair)


def _mended(tool: RunnableTool, given: Any, *, repair: bool) -> Taken:
    given = _plain(given)
    try:
        snapshot = orjson.dumps(validate_arguments(tool.definition, given))
    except InvalidArguments as error:
        mended = repair_arguments(tool.definition, given)
        if mended is None:
            raise
        if not repair:
            error.details["repaired"] = repaired_example(mended)
            raise
        snapshot = orjson.dumps(mended.arguments)
        return Taken(orjson.loads(snapshot), snapshot, mended)
    return Taken(orjson.loads(snapshot), snapshot)


def _plain(given: Any) -> Any:
    """What a Python program gave, as a reader of JSON would have it: a mapping as a dict, a number of numpy as one."""
    if isinstance(given, Mapping):
        given = dict(given)
        if find_limit_fault(given, INSTANCE_LIMITS) is None:
            return json_copy(given)
    return given
