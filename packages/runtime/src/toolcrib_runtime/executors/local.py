"""`LocalExecutor`: async functions on the loop, plain functions in worker threads."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import aclosing, closing
from functools import partial
from typing import Any, Final, TypeAlias

from toolcrib_runtime.errors import OutputTooLarge
from toolcrib_runtime.executors.on_loop import OnLoop
from toolcrib_runtime.executors.protocol import HandlerRaised, Work
from toolcrib_runtime.executors.threads import LoopInThread, WorkerThreads

MAX_CHUNKS: Final = 100_000
"""How many chunks a tool may give."""

Tell: TypeAlias = Callable[[object], object]


class LocalExecutor:
    """Runs tools in this process.

    An async function runs on the loop of its caller. A plain function runs in a worker thread, and so does an async one
    that is declared `blocking`, on a loop of its own.
    """

    def __init__(self, *, threads: int = 32, max_abandoned: int = 32, grace: float = 1.0) -> None:
        """Set the bounds.

        Args:
            threads: How many plain functions run at a time.
            max_abandoned: How many threads may hang before no more are started.
            grace: The seconds that a cancelled async function has to end.
        """
        self._threads = WorkerThreads(limit=threads, max_abandoned=max_abandoned)
        self._grace = grace

    @property
    def abandoned(self) -> int:
        """How many plain functions still run although nobody waits for them."""
        return self._threads.abandoned

    def run(self, work: Work, /) -> Awaitable[object]:
        """Run the tool's code; see `Executor.run`."""
        tool = work.tool
        if tool.blocking:
            return self._in_thread(work)
        if tool.is_coroutine_function:
            # Calling it runs nothing yet, and one coroutine less on the way is a tenth of a call.
            context = work.context() if tool.binding.context_parameters else None
            try:
                started: Any = tool.binding.call(work.keywords, context)
            except TypeError as raised:  # it does not take what its schema allows
                raise HandlerRaised(raised) from raised
            return OnLoop(started, work, grace=self._grace)
        return OnLoop(_perform(work, _starter(work), partial(_tell_chunk, work)), work, grace=self._grace)

    async def aclose(self) -> None:
        """Let the idle worker threads end."""
        self._threads.close()

    async def _in_thread(self, work: Work) -> object:
        loop = asyncio.get_running_loop()
        start = _starter(work)
        own_loop = LoopInThread()
        is_abandoned = False

        def tell(chunk: object) -> None:
            if is_abandoned:
                raise asyncio.CancelledError  # here a generator can be stopped, other than a plain function
            loop.call_soon_threadsafe(lambda: _tell_chunk(work, chunk))

        def job() -> object:
            if work.tool.is_async:
                return own_loop.run(lambda: _perform(work, start, tell))
            value = start()
            return _collected(value, tell) if work.tool.streams else value

        def abandon() -> None:
            nonlocal is_abandoned
            is_abandoned = True
            own_loop.cancel()
            work.emit("abandoned", reason="it runs on in its thread, and its result will be dropped")

        value = await self._threads.run(
            job, on_abandoned=abandon, on_skipped=work.not_started, on_late=lambda ok: work.emit("late", ok=ok)
        )
        return await OnLoop(awaited(value), work, grace=self._grace) if inspect.isawaitable(value) else value


def _starter(work: Work) -> Callable[[], object]:
    """The call of the handler, with all that it needs of the loop fetched now."""
    binding = work.tool.binding
    context = work.context() if binding.context_parameters else None
    return lambda: binding.call(work.keywords, context)


async def _perform(work: Work, start: Callable[[], object], tell: Tell) -> object:
    value = start()
    if work.tool.streams:
        return await _collect(value, tell) if work.tool.is_async else _collected(value, tell)
    return await awaited(value) if inspect.isawaitable(value) else value


async def awaited(value: Awaitable[object]) -> object:
    """A coroutine that awaits anything, for those who take coroutines only."""
    return await value


def _tell_chunk(work: Work, chunk: object) -> None:
    work.emit("chunk", chunk=chunk)


async def _collect(chunks: Any, tell: Tell) -> list[object]:
    """Every chunk of an async generator, told as it comes."""
    collected: list[object] = []
    async with aclosing(chunks) as stream:
        async for chunk in stream:
            _take(chunk, collected, tell)
    return collected


def _collected(chunks: Any, tell: Tell) -> list[object]:
    collected: list[object] = []
    with closing(chunks) as stream:
        for chunk in stream:
            _take(chunk, collected, tell)
    return collected


def _take(chunk: object, collected: list[object], tell: Tell) -> None:
    if len(collected) >= MAX_CHUNKS:
        raise OutputTooLarge(f"The tool gave more than {MAX_CHUNKS:,} chunks.", hint="Ask for less at once.")
    collected.append(chunk)
    tell(chunk)
