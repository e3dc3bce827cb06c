"""`RuntimeToolContext`: what a running tool is told about its call, and what it can tell back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from toolcrib_core import JsonValue, ToolContext

if TYPE_CHECKING:
    from toolcrib_runtime.calls import ToolCall
    from toolcrib_runtime.cancellation import Cancellation
    from toolcrib_runtime.events import EventKind
    from toolcrib_runtime.runnable import RunnableTool


class CallPort(Protocol):
    """The side of a call that its context talks to."""

    def emit(self, kind: EventKind, **data: object) -> None:
        """Tell the listeners of this call."""

    async def call_tool(self, tool: RunnableTool, arguments: Mapping[str, JsonValue]) -> JsonValue:
        """Run another tool as a step of this call."""

    def remaining(self) -> float | None:
        """The seconds until the deadline."""


@dataclass(frozen=True, kw_only=True)
class RuntimeToolContext(ToolContext):
    """The context of one running call; a handler gets it through a parameter of this type (or of `ToolContext`)."""

    tool_call: ToolCall
    attempt: int = 1
    """1 for the first try."""
    cancellation: Cancellation
    """Whether the caller took the call back: for a plain function, which cannot be stopped from outside."""
    values: Mapping[str, object] = field(default_factory=dict)
    """The toolbox's own context values."""
    _port: CallPort = field(repr=False, compare=False)

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is."""
        self._port.emit("progress", done=done, total=total, message=message)

    def log(self, message: str, *, level: str = "info", **data: JsonValue) -> None:
        """Tell something that a person may want to read later."""
        self._port.emit("log", level=level, message=message, data=data)

    def stream(self, chunk: JsonValue) -> None:
        """Give a part of the result before the rest is ready."""
        self._port.emit("chunk", chunk=chunk)

    def emit(self, name: str, data: JsonValue = None) -> None:
        """Tell something of the tool's own."""
        self._port.emit("custom", name=name, data=data)

    @property
    def remaining(self) -> float | None:
        """The seconds until nobody waits for the answer any more; None if there is no deadline."""
        return self._port.remaining()

    async def call(self, tool: RunnableTool, arguments: Mapping[str, JsonValue]) -> JsonValue:
        """Run another tool as a step of this call: under its deadline, its rules and its events.

        Raises:
            ToolError: The step failed, or a rule does not allow it.
        """
        return await self._port.call_tool(tool, arguments)
