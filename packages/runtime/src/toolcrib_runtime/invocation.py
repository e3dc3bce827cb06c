"""One call on its way: what every stage of the runtime knows about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import orjson

from toolcrib_core import JsonObject, JsonValue, ToolContext, ToolDefinition
from toolcrib_runtime.arguments import Taken
from toolcrib_runtime.calls import Source, ToolCall, ToolResult, new_call_id
from toolcrib_runtime.cancellation import CallScope, Cancellation
from toolcrib_runtime.context import RuntimeToolContext
from toolcrib_runtime.events import EventKind, EventListener, ToolEvent, tell
from toolcrib_runtime.policy.runs import Run

if TYPE_CHECKING:
    from toolcrib_runtime.runnable import RunnableTool
    from toolcrib_runtime.settings import ToolboxSettings

_logger = logging.getLogger("toolcrib.runtime")

# Where nobody listens these are logged: somebody should know.
_TROUBLES: frozenset[EventKind] = frozenset({"blocked_loop", "abandoned", "late"})
# What a tool says itself; after its call has ended nobody listens to that.
_TOOLS_OWN: frozenset[EventKind] = frozenset({"progress", "log", "chunk", "custom"})
_FROM_THE_CONTEXT = ("run_id", "request_id", "user", "tenant", "logger", "tracer")


class CallOptions(NamedTuple):
    """What a caller says once for all the calls of an `execute`."""

    context: ToolContext | None = None
    run: Run | None = None
    timeout: float | None = None
    cancellation: Cancellation | None = None
    listeners: tuple[EventListener, ...] = ()


NO_OPTIONS: Final = CallOptions()


class Invocation:
    """One call of one tool, with its validated arguments, from its arrival to its end.

    It is what the stages of the runtime, middleware, and executors get.
    """

    # Defaults of the class: an attribute that most calls never touch costs them nothing.
    attempts = 0
    """How often the tool's code was started."""
    in_flight = False
    """Whether it was started and has not come to an end that is known."""
    approved = False
    """Whether somebody approved of this call, or of the one it is a step of."""
    ended = False
    queued = 0.0
    """Seconds that it waited for its turn."""
    source: Source = "run"
    blocks: tuple[JsonObject, ...] | None = None
    parent: Invocation | None = None
    snapshot: bytes | str = b""
    """The validated arguments as JSON text; empty until they are valid."""
    step_output: ToolResult | None = None
    """How the last step ended that came with content of its own."""
    _parsed: dict[str, Any] | None = None
    _converted: Mapping[str, Any] | None = None
    _scope: CallScope | None = None

    def __init__(
        self, *, call: ToolCall, tool: RunnableTool, settings: ToolboxSettings, options: CallOptions = NO_OPTIONS
    ) -> None:
        self.call = call
        self.call_id = call.id or new_call_id()
        self.tool = tool
        self.settings = settings
        self.options = options
        self.clock = settings.clock
        self.started = settings.clock.monotonic()
        self.deadline: float | None = None
        """The reading of `clock.monotonic()` at which the call is stopped."""
        self._listeners = settings.listeners + options.listeners if options.listeners else settings.listeners

    @property
    def definition(self) -> ToolDefinition:
        """What the tool says of itself."""
        return self.tool.definition

    @property
    def scope(self) -> CallScope:
        """What stops the call when its time is over or it is taken back."""
        if self._scope is None:
            # A step is stopped with the call that it belongs to.
            switch = self.options.cancellation if self.parent is None else None
            self._scope = CallScope(clock=self.clock, deadline=self.deadline, cancellation=switch)
        return self._scope

    @property
    def principal(self) -> str | None:
        """The id of the user that the call is made for."""
        context = self.options.context
        return context.user.id if context is not None and context.user is not None else None

    @property
    def arguments(self) -> dict[str, Any]:
        """The validated arguments, as a copy that belongs to whoever asks."""
        taken, self._parsed = self._parsed, None
        return orjson.loads(self.snapshot) if taken is None else taken

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The arguments in the types that the function asks for, for one attempt to run it."""
        taken, self._converted = self._converted, None
        return self.tool.binding.keywords(self.arguments) if taken is None else taken

    def take_arguments(self, taken: Taken) -> None:
        """Keep the arguments that were found valid."""
        self.snapshot = taken.snapshot
        if taken.converted is None:
            self._parsed = taken.parsed
        else:
            # The converted ones may hold parts of the parsed ones, which are then nobody else's any more.
            self._converted = taken.converted

    def context(self) -> RuntimeToolContext:
        """What the tool is told about its call."""
        given = self.options.context
        shared = {} if given is None else {name: getattr(given, name) for name in _FROM_THE_CONTEXT}
        return RuntimeToolContext(
            **shared,
            deadline=self.deadline,
            tool_call=self.call,
            attempt=max(1, self.attempts),
            cancellation=self.scope.stopped(),
            values=self.settings.context,
            _port=_Port(self),
        )

    @property
    def is_heard(self) -> bool:
        """Whether anybody listens to events of this call."""
        return bool(self._listeners)

    def emit(self, kind: EventKind, **data: object) -> None:
        """Tell the listeners of this call, on its own loop."""
        listeners = self._listeners
        if listeners and not (self.ended and kind in _TOOLS_OWN):
            parent = None if self.parent is None else self.parent.call_id
            tell(
                listeners,
                ToolEvent(kind, self.call_id, self.tool.definition.id, self.clock.monotonic(), data, parent),
            )
        elif kind in _TROUBLES:
            _logger.warning("call %s of %s: %s %s", self.call_id, self.tool.definition.id, kind, data)

    def not_started(self) -> None:
        """Take back that the tool's code was started: it never came to that."""
        self.attempts -= 1
        self.in_flight = False

    async def call_step(self, tool: RunnableTool, arguments: Mapping[str, JsonValue]) -> JsonValue:
        """Run another tool as a step of this call: under its deadline, its rules and its middleware.

        Raises:
            ToolError: The step failed, or a rule does not allow it.
        """
        from toolcrib_runtime.call import run_step

        return await run_step(self, tool, arguments)


Proceed: TypeAlias = Callable[[Invocation], Awaitable[JsonValue]]
"""The rest of the way."""


class Middleware(Protocol):
    """Something around a call: it may look, wait, refuse by raising, or answer itself instead of proceeding.

    It is the same for every tool, however that was made. The built-in stages have the same shape.
    """

    def __call__(self, invocation: Invocation, proceed: Proceed, /) -> Awaitable[JsonValue]:
        """Do what there is to do, and proceed or not."""


class _Port:
    """What a context is allowed to reach of its invocation; a plain function reaches it from another thread."""

    def __init__(self, invocation: Invocation) -> None:
        self._invocation = invocation
        self._loop = asyncio.get_running_loop()

    def emit(self, kind: EventKind, **data: object) -> None:
        if asyncio._get_running_loop() is self._loop:  # noqa: SLF001  # the public one raises where there is none
            self._invocation.emit(kind, **data)
        else:
            with suppress(RuntimeError):  # the loop has closed meanwhile: nobody is left to tell
                self._loop.call_soon_threadsafe(lambda: self._invocation.emit(kind, **data))

    async def call_tool(self, tool: RunnableTool, arguments: Mapping[str, JsonValue]) -> JsonValue:
        return await self._invocation.call_step(tool, arguments)

    def remaining(self) -> float | None:
        deadline = self._invocation.deadline
        return None if deadline is None else max(0.0, deadline - self._invocation.clock.monotonic())
