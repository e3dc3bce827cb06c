"""What an executor gets, and what it owes."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from toolcrib_runtime.clock import Clock
    from toolcrib_runtime.context import RuntimeToolContext
    from toolcrib_runtime.events import EventKind
    from toolcrib_runtime.runnable import RunnableTool


class Work(Protocol):
    """One attempt to run a tool: its validated arguments, and the call that it belongs to."""

    @property
    def tool(self) -> RunnableTool:
        """What to run."""

    @property
    def arguments(self) -> dict[str, Any]:
        """Validated, and the executor's to keep."""

    @property
    def keywords(self) -> Mapping[str, Any]:
        """The same in the types that the function asks for, fresh for this attempt."""

    @property
    def clock(self) -> Clock:
        """What deadlines are measured by."""

    @property
    def deadline(self) -> float | None:
        """The reading of `clock.monotonic()` at which the attempt is cancelled."""

    def context(self) -> RuntimeToolContext:
        """What the handler is told, if it asks."""

    def emit(self, kind: EventKind, **data: object) -> None:
        """Tell the listeners of the call, on its own loop."""

    def not_started(self) -> None:
        """Say that the attempt ends without the tool's code having been started, so that nothing can have happened."""


class Executor(Protocol):
    """Runs the code of tools.

    Time and cancellation are the caller's business: it cancels the awaiting task, and `run` must then stop the work, or
    say through `work.emit("abandoned", …)` that it could not, and return at once.
    """

    def run(self, work: Work, /) -> Awaitable[object]:
        """Run the tool's code and give what it returned.

        Raises:
            HandlerRaised: The tool's code raised; its exception is the cause.
            ToolError: The work could not be done for another reason.
        """

    async def aclose(self) -> None:
        """Let go of threads and processes. Work that is still running is stopped."""


class HandlerRaised(Exception):
    """What the code of a tool raised, kept apart from what the runtime itself raises."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(type(raised).__name__)
        self.raised = raised
