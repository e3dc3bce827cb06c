"""What a tool returns, made JSON or refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import orjson
from pydantic_core import to_jsonable_python

from toolcrib_core import JsonObject, JsonValue, validate_value
from toolcrib_core.schema.limits import JsonLimits, LimitFault, find_limit_fault
from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import OutputTooLarge, UnusableOutput

if TYPE_CHECKING:
    from toolcrib_runtime.runnable import RunnableTool

OUTPUT_LIMITS: Final = JsonLimits(max_depth=200, max_nodes=1_000_000, max_bytes=16 * 1024 * 1024)
"""How large a result may be, unless a toolbox says otherwise."""

# A control character is written with six: `\\u0000`.
_MAX_ESCAPED = 6
_SCALARS = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """A result that comes with its own content blocks, as an image or a laid-out text does."""

    value: object = None
    content: tuple[JsonObject, ...] = ()
    """In the shape of MCP content blocks."""


def json_value(value: object, *, tool: str, limits: JsonLimits = OUTPUT_LIMITS) -> JsonValue:
    """The value as plain JSON: models, dataclasses, dates and enums are converted, what has no JSON form is refused.

    Raises:
        UnusableOutput: Some part is not JSON; the message says where.
        OutputTooLarge: It is over a limit.
    """
    if type(value) is str and value.isascii() and len(value) <= limits.max_bytes // _MAX_ESCAPED:
        return value
    fault = find_limit_fault(value, limits)
    if fault is not None and not fault.over_limit:
        value = _converted(value, tool, limits)
        fault = find_limit_fault(value, limits)
    if fault is not None:
        raise _refused(fault, tool)
    if type(value) in _SCALARS:
        return value  # type: ignore[return-value]  # mypy does not read the set
    return json_copy(value)


def json_copy(value: object) -> JsonValue:
    """A copy of what was found to be JSON: no tuple, enum member or subclass is left in it, and nobody else has it."""
    copied: JsonValue = orjson.loads(orjson.dumps(value, default=_of_base_class))
    return copied


def checked_value(tool: RunnableTool, value: object, *, limits: JsonLimits = OUTPUT_LIMITS) -> JsonValue:
    """What the tool returned, as plain JSON that satisfies its output schema.

    Raises:
        UnusableOutput: It is not JSON.
        OutputTooLarge: It is over a limit.
        InvalidOutput: It does not satisfy the output schema.
    """
    definition = tool.definition
    output = json_value(value, tool=definition.id, limits=limits)
    gives = tool.gives
    if gives is not None and not gives.accepts(output):
        validate_value(gives.schema, output, what="output", tool=f"{definition.namespace}:{definition.name}")
    return output


def _converted(value: object, tool: str, limits: JsonLimits) -> Any:
    # An iterator would be read to its end, which may never come, and by code that nothing can stop.
    if any(hasattr(type(each), "__next__") for each in islice(_parts(value), limits.max_nodes)):
        raise _refused(_fault(value, "is or holds an iterator; the tool must return a list, or yield its items"), tool)
    try:
        return to_jsonable_python(value, inf_nan_mode="constants")
    except Exception as failure:  # models are asked for their JSON by code of the tool's own
        raise _refused(_fault(value, "has a part that JSON cannot carry"), tool) from failure


def _of_base_class(value: Any) -> object:
    # orjson knows most subclasses, but not named tuples, nor the numbers of numpy.
    return list(value) if isinstance(value, tuple) else float(value)


def _fault(value: object, why: str) -> LimitFault:
    return LimitFault(pointer="", reason=f"a value of type `{type(value).__name__}` {why}", over_limit=False)


def _parts(value: object) -> Iterator[object]:
    """The value and all that lies in its collections; without end if it holds itself."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item


def _refused(fault: LimitFault, tool: str) -> UnusableOutput | OutputTooLarge:
    details = {"pointer": fault.pointer, "reason": fault.reason}
    where = quoted(fault.pointer or "/")
    if fault.over_limit:
        message = f"The output of {quoted(tool)} is too large: at {where} {fault.reason}."
        return OutputTooLarge(message, hint="Ask for a part of it.", details=details)
    return UnusableOutput(
        f"The output of {quoted(tool)} is not JSON: at {where} {fault.reason}.",
        hint="This is a fault of the tool, not of the arguments.",
        details=details,
    )
