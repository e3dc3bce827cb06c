"""One call inside a worker process: what the tool is told, and how what it tells goes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from toolcrib_core import JsonValue, Principal
from toolcrib_runtime.calls import ToolCall
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.context import RuntimeToolContext
from toolcrib_runtime.errors import ToolFailed
from toolcrib_runtime.events import EventKind
from toolcrib_runtime.executors import forks
from toolcrib_runtime.outputs import json_value
from toolcrib_runtime.runnable import RunnableTool

# Others are about the loop of this process, which concerns nobody.
_TOLD = frozenset({"progress", "log", "chunk", "custom"})


Tell: TypeAlias = Callable[["WorkerWork", dict[str, Any]], None]


class WorkerWork:
    """A `Work` on the far side of the pipe; it is also the port of its context."""

    clock: Clock = SYSTEM_CLOCK
    has_ended = False
    """Whether the answer is on its way: nothing may come after it."""

    def __init__(self, tool: RunnableTool, request: dict[str, Any], *, tell: Tell) -> None:
        self.tool = tool
        self.arguments: dict[str, Any] = request["arguments"]
        self._told: dict[str, Any] = request.get("context") or {}
        self._tell = tell
        self._generation = forks.generation
        left = self._told.get("remaining")
        self.deadline = None if left is None else time.monotonic() + left

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The arguments in the types that the function asks for."""
        return self.tool.binding.keywords(self.arguments)

    def not_started(self) -> None:
        """Nothing to take back: the parent counts the attempts."""

    def context(self) -> RuntimeToolContext:
        """What the caller's context says, as far as it can travel."""
        told = self._told
        return RuntimeToolContext(
            run_id=told["run_id"],
            request_id=told["request_id"],
            user=_principal(told["user"]),
            tenant=_principal(told["tenant"]),
            deadline=self.deadline,
            tool_call=ToolCall(
                tool=told["tool"],
                arguments=self.arguments,
                id=told["call_id"],
                idempotency_key=told["idempotency_key"],
            ),
            attempt=told["attempt"],
            cancellation=Cancellation(),
            values=told["values"],
            _port=self,
        )

    def emit(self, kind: EventKind, **data: object) -> None:
        """Send an event to the caller's process.

        Raises:
            UnusableOutput: JSON cannot carry it.
            OutputTooLarge: It is over a limit.
        """
        # A forked copy has the same pipe, and is not the one that is listened to.
        if kind in _TOLD and forks.generation == self._generation:
            self._tell(self, {"event": kind, "data": json_value(data, tool=self.tool.id)})

    async def call_tool(self, _tool: RunnableTool, _arguments: Mapping[str, JsonValue], /) -> NoReturn:
        """Refuse: the toolbox, its rules and its budgets are in another process.

        Raises:
            ToolFailed: Always.
        """
        raise ToolFailed(
            "A tool that runs in a worker process cannot call other tools.",
            hint="Compose the tools with `pipe` or `parallel`, or run this one with `LocalExecutor`.",
        )

    def remaining(self) -> float | None:
        """The seconds until the deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


def _principal(told: dict[str, Any] | None) -> Principal | None:
    return None if told is None else Principal(**told | {"roles": frozenset(told["roles"])})
