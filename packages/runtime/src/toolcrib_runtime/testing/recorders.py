"""Recorders: what happened to calls, and what they gave, in a form that a test can look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Unpack, overload

import orjson

from toolcrib_core import JsonObject
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.events import EventKind, ToolEvent
from toolcrib_runtime.toolbox import ExecuteOptions, Toolbox

# What differs from run to run, and is no part of what a toolbox promises.
_UNSTEADY = ("startedAt", "duration", "queued")


class EventRecorder:
    """A listener that keeps every event, of a toolbox (`listeners=`) or of some calls (`execute(…, on_event=)`)."""

    def __init__(self) -> None:
        self.events: list[ToolEvent] = []

    def __call__(self, event: ToolEvent) -> None:
        """Keep the event."""
        self.events.append(event)

    def of(self, call_id: str) -> list[ToolEvent]:
        """The events of one call, in order."""
        return [event for event in self.events if event.call_id == call_id]

    def kinds(self, call_id: str | None = None) -> list[EventKind]:
        """What happened, in order: to one call, or to all."""
        return [event.kind for event in (self.events if call_id is None else self.of(call_id))]

    def data(self, kind: EventKind) -> list[Mapping[str, object]]:
        """What the events of one kind say."""
        return [event.data for event in self.events if event.kind == kind]

    def clear(self) -> None:
        """Forget what was recorded."""
        self.events.clear()


class CallRecorder:
    """Stands in for a toolbox, and writes down every call with its result.

    The transcript is the same for every run that does the same: ids are numbered, times are left out. It holds the
    arguments and the values as they are, so keep secrets out of it.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self._numbers: Counter[str] = Counter()
        self.transcript: list[JsonObject] = []
        """One object for each call: what was asked, and the result."""

    @overload
    async def execute(self, calls: ToolCall, /, **options: Unpack[ExecuteOptions]) -> ToolResult: ...
    @overload
    async def execute(self, calls: Sequence[ToolCall], /, **options: Unpack[ExecuteOptions]) -> list[ToolResult]: ...
    async def execute(
        self, calls: ToolCall | Sequence[ToolCall], /, **options: Unpack[ExecuteOptions]
    ) -> ToolResult | list[ToolResult]:
        """`Toolbox.execute`, recorded."""
        if isinstance(calls, ToolCall):
            result = await self._toolbox.execute(calls, **options)
            self.record(calls, result)
            return result
        results = await self._toolbox.execute(calls, **options)
        for call, each in zip(calls, results, strict=True):
            self.record(call, each)
        return results

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | bytes | None = None,
        /,
        **options: Unpack[ExecuteOptions],
    ) -> ToolResult:
        """`Toolbox.call`, recorded."""
        return await self.execute(ToolCall(tool=name, arguments=arguments), **options)

    def record(self, call: ToolCall, result: ToolResult) -> None:
        """Write down a call that was run elsewhere."""
        name = self._name("call")
        data = _renamed(_steady(result), {result.call_id: name})
        data["callId"] = name
        if result.action is not None:
            data["action"]["id"] = self._name("approval")
        self.transcript.append({"call": {"id": name, "tool": call.tool, "arguments": _as_json(call)}, "result": data})

    def to_json(self) -> str:
        """The transcript as text for a golden file: indented, keys in order, with a newline at the end."""
        option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
        return orjson.dumps(self.transcript, option=option).decode()

    def _name(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{kind}-{self._numbers[kind]}"


def _as_json(call: ToolCall) -> Any:
    """The arguments; text that is not JSON stays text."""
    if not isinstance(call.arguments, str | bytes):
        return orjson.loads(orjson.dumps(dict(call.arguments or {}), default=repr))
    try:
        return orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return call.arguments if isinstance(call.arguments, str) else call.arguments.decode(errors="replace")


def _steady(result: ToolResult) -> JsonObject:
    data = result.to_dict()
    for key in _UNSTEADY:
        data.pop(key, None)
    action = data.get("action")
    if isinstance(action, dict):
        action.pop("expiresAt", None)
    return data


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with other names for ids, where a message quotes them."""
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(f"`{old}`", f"`{new}`")
    return value
