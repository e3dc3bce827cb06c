"""From what a vendor sent to a `ToolCall`: names looked up, arguments parsed strictly, faults kept as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from toolcrib_core.calls import ToolCall
from toolcrib_core.errors import ArgumentError, MalformedJson, ToolError, UnreadableCall
from toolcrib_core.json_text import parse_json
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_core.providers.names import ToolNames
from toolcrib_core.providers.parsed import BrokenCall, ParsedCall
from toolcrib_core.wording import kind_of, quoted

Restore = Callable[[str, JsonObject], JsonObject]
"""Gets a tool id and the arguments as the model wrote them, and undoes what strict mode made the model do."""


def read_call(
    names: ToolNames,
    *,
    call_id: object,
    name: object,
    arguments: object,
    complete: bool = True,
    may_be_absent: bool = False,
    restore: Restore | None = None,
    echo: Mapping[str, JsonValue] | None = None,
) -> ParsedCall:
    """One call of a response, or the reason why it cannot run. Nothing is raised: a model can mend what it reads.

    `arguments` is the JSON text that the model wrote, or the object that a vendor's SDK has parsed. `complete` is False
    for a stream that ended before the call did. `may_be_absent` is for a vendor that leaves the arguments out where a
    tool has none: None and an empty text are `{}` then; otherwise they are a call without its arguments.
    """
    known_id = call_id if isinstance(call_id, str) else ""
    known_name = name if isinstance(name, str) else ""
    tool_id = known_name
    try:
        if not known_name:
            raise UnreadableCall("The call names no tool.", hint="Send the call again with the name of a tool.")
        tool_id = names.definition(known_name).id
        if not complete:
            raise UnreadableCall(
                f"The call of {quoted(known_name)} ended before its arguments were complete; it was not run.",
                hint="Send the whole call again, with less in it if the answer was cut off.",
            )
        read = _arguments(known_name, arguments, may_be_absent=may_be_absent)
        outcome: ToolCall | BrokenCall = ToolCall(
            tool=tool_id, arguments=restore(tool_id, read) if restore else read, id=known_id
        )
    except ToolError as error:
        outcome = BrokenCall(known_id, tool_id, error)
    return ParsedCall(outcome, known_id, known_name, echo or {})


def _arguments(name: str, arguments: object, *, may_be_absent: bool) -> JsonObject:
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        if may_be_absent:
            return {}
        raise UnreadableCall(
            f"The call of {quoted(name)} came without arguments; it was not run.",
            hint="Send the call again with one JSON object as its arguments: `{}` if it needs none.",
        )
    value: Any = arguments
    if isinstance(arguments, str | bytes):
        try:
            value = parse_json(arguments)
        except MalformedJson as failure:
            raise UnreadableCall(
                f"The arguments of {quoted(name)} are not JSON; it was not run. {failure.message}",
                hint="Send the call again with one JSON object as its arguments.",
                details=failure.details,
            ) from None
        except ArgumentError as failure:
            raise type(failure)(
                f"The arguments of {quoted(name)} cannot be read. {failure.message}",
                hint=failure.hint,
                details=failure.details,
            ) from None
    if not isinstance(value, dict):
        raise UnreadableCall(
            f"The arguments of {quoted(name)} must be a JSON object, not {kind_of(value)}; it was not run.",
            hint="Send the call again with one JSON object as its arguments.",
        )
    return value
