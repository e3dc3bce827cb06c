"""Tools whose code is loaded when it is first needed."""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeAlias

from toolcrib_core import InvalidDefinition, JsonValue, ToolDefinition, ToolError, merge_risks
from toolcrib_core.wording import quoted
from toolcrib_runtime.binding import Handler
from toolcrib_runtime.compose.steps import make_composed, passed_on
from toolcrib_runtime.context import RuntimeToolContext
from toolcrib_runtime.errors import LoadFailed
from toolcrib_runtime.executors.protocol import HandlerRaised
from toolcrib_runtime.executors.threads import WorkerThreads
from toolcrib_runtime.runnable import RunnableTool, create_tool

MAX_HANGING: Final = 4
"""How many loads of one tool may hang in their threads before no more are started."""

Loaded: TypeAlias = RunnableTool | Handler
Loader: TypeAlias = Callable[[], Loaded | Awaitable[Loaded]]


def lazy(definition: ToolDefinition, loader: Loader) -> RunnableTool:
    """A tool that is listed and searched at once, and loaded by its first call.

    The loader gives a tool or a handler; a plain one runs in a thread. Calls that come meanwhile on the same event loop
    share the one load. A failure is the failure of the calls that waited for it, and the next call loads again.

    What counts is this definition: its schemas are validated and its risk is judged, whatever a loaded tool says of
    itself. One that says of itself that it can do more harm is refused. It keeps its own rules, limits and executor,
    and runs as a step of the call.

    Raises:
        InvalidDefinition: There is no definition, or nothing to load with.
    """
    given: tuple[object, object] = (definition, loader)
    if not (isinstance(given[0], ToolDefinition) and callable(given[1])):
        raise InvalidDefinition("A lazy tool needs a definition and a function that loads it.")
    source = _Source(definition, loader)

    async def work(arguments: dict[str, Any], context: RuntimeToolContext) -> JsonValue:
        tool = await source.get()
        try:
            return await context.call(tool, arguments)
        except ToolError as error:
            raise passed_on(error) from error

    return make_composed(definition, work)


class _Source:
    """The loaded tool, or the one load that is under way."""

    def __init__(self, definition: ToolDefinition, loader: Loader) -> None:
        self._definition = definition
        self._loader = loader
        self._loaded: RunnableTool | None = None
        self._loading: _Load | None = None
        self._threads = WorkerThreads(limit=1, max_abandoned=MAX_HANGING)
        # One load is all they are for: none of them is to wait for another.
        self._threads.close()

    async def get(self) -> RunnableTool:
        if self._loaded is None:
            if self._loading is None or not self._loading.can_be_shared():
                self._loading = _Load(self._load())
            self._loaded = await self._loading.wait()
        return self._loaded

    async def _load(self) -> RunnableTool | LoadFailed:
        try:
            return self._as_tool(await self._run_loader())
        except HandlerRaised as failure:
            return self._failed(failure.raised)
        except (Exception, SystemExit, KeyboardInterrupt) as failure:  # noqa: BLE001  # a module may exit when imported
            return self._failed(failure)

    async def _run_loader(self) -> object:
        if inspect.iscoroutinefunction(self._loader):
            return await self._loader()
        loaded = await self._threads.run(self._loader, on_late=lambda _: None)
        return await loaded if inspect.isawaitable(loaded) else loaded

    def _as_tool(self, loaded: object) -> RunnableTool:
        if not callable(loaded):
            raise InvalidDefinition(f"its loader gave a value of type `{type(loaded).__name__}`, and no tool.")
        if not isinstance(loaded, RunnableTool):
            return create_tool(self._definition, loaded)
        stated = self._definition.risk
        if merge_risks(stated, loaded.definition.risk) != stated:
            raise InvalidDefinition("the tool that came says of itself that it can do more harm than was stated.")
        return loaded.replace(definition=self._definition)

    def _failed(self, failure: BaseException) -> LoadFailed:
        why = failure.message if isinstance(failure, ToolError) else f"its loader raised `{type(failure).__name__}`."
        failed = LoadFailed(
            f"{quoted(self._definition.id)} could not be loaded: {why}",
            hint="Nothing was run. Call it again later: that loads it anew.",
            details={"sent": False, "exception": type(failure).__name__},
        )
        failed.__cause__ = failure
        return failed


class _Load:
    """One load that any number of callers wait for; when the last of them goes away, it is stopped."""

    def __init__(self, loading: Coroutine[Any, Any, RunnableTool | LoadFailed]) -> None:
        self._task = asyncio.create_task(loading)
        self._waiting = 0
        self._stopped = False

    def can_be_shared(self) -> bool:
        """Whether it is under way on this loop."""
        ended = self._stopped or self._task.done()
        return not ended and self._task.get_loop() is asyncio.get_running_loop()

    async def wait(self) -> RunnableTool:
        """The tool.

        Raises:
            LoadFailed: Every caller gets one of its own.
        """
        self._waiting += 1
        try:
            await asyncio.wait([self._task])
        finally:
            self._waiting -= 1
            if not self._waiting and not self._task.done():
                await self._stop()
        outcome = self._task.result()
        if isinstance(outcome, LoadFailed):
            raise copy.copy(outcome) from outcome.__cause__
        return outcome

    async def _stop(self) -> None:
        self._stopped = True
        self._task.cancel()
        await asyncio.wait([self._task])
