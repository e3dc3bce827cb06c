"""`ProcessExecutor`: CPU-bound tools in worker processes, which are warm, and can be killed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from toolcrib_runtime.executors.local import LocalExecutor
from toolcrib_runtime.executors.process_failures import rebuild
from toolcrib_runtime.executors.process_request import request_of
from toolcrib_runtime.executors.process_target import Target, end_import_that_calls_tools, target_of
from toolcrib_runtime.executors.protocol import HandlerRaised, Work
from toolcrib_runtime.outputs import ToolOutput
from toolcrib_runtime.policy.bounds import check_whole

if TYPE_CHECKING:
    from toolcrib_runtime.executors.process_pool import WorkerKind, WorkerPool
    from toolcrib_runtime.guards.process.limits import ProcessLimits
    from toolcrib_runtime.runnable import RunnableTool

MAX_CALLS_PER_WORKER: Final = 10_000
"""After so many calls a worker is replaced, and whatever the tools leaked goes with it."""


class ProcessExecutor:
    """Runs tools in worker processes: each call has a core to itself, and a call that is stopped is really stopped.

    A worker imports the tool by the name of its module, so tool or function must be at the top level of one; the
    script that was started will do, if it runs nothing on import. Arguments, values and events travel as JSON. Of the
    context, `call` is not available, and of its `values` only what JSON can carry. What a tool prints is kept for the
    error that says its process died. Tools that the runtime itself makes, as the one that searches a toolbox, run here.

    When a call is cancelled or its time is over, its process is killed with all its children. A call that ends and
    leaves processes running loses them, and its worker is replaced.

    Workers belong to the event loop whose call started them, and end with it (or with `aclose`, or this process). So
    the executor may be used from several loops, one after another or at once; each has `workers` of its own.
    """

    def __init__(
        self,
        *,
        workers: int | None = None,
        max_calls_per_worker: int = MAX_CALLS_PER_WORKER,
        start_timeout: float = 30.0,
        grace: float = 1.0,
        limits: ProcessLimits | None = None,
    ) -> None:
        """Set the bounds; no process is started before the first call.

        Args:
            workers: How many calls run at a time; one for each core unless it is said.
            max_calls_per_worker: After so many calls a worker is replaced.
            start_timeout: The seconds that a new worker has to import the runtime.
            grace: The seconds that an idle worker has to end when it is no longer needed.
            limits: What each worker may use, in its whole life; none beyond those of this process unless it is said.

        Raises:
            ValueError: A number of workers or calls is not a whole number from 1 upwards.
        """
        check_whole("max_calls_per_worker", max_calls_per_worker, least=1)
        self._workers = (os.cpu_count() or 1) if workers is None else workers
        check_whole("workers", self._workers, least=1)
        self._max_calls = max_calls_per_worker
        self._start_timeout = start_timeout
        self._grace = grace
        self._limits = limits
        self._local = LocalExecutor()
        self._targets: WeakKeyDictionary[RunnableTool, Target] = WeakKeyDictionary()
        self._pools: dict[asyncio.AbstractEventLoop, tuple[WorkerPool, AsyncGenerator[None, None]]] = {}

    async def run(self, work: Work, /) -> object:
        """Run the tool's code; see `Executor.run`.

        Raises:
            InvalidDefinition: No other process can find the tool's function; nothing was run.
            WorkerLost: The process died, or there was none in time.
            ProcessLimitReached: The process ran into one of its limits.
        """
        if _is_our_own(work.tool):
            return await self._local.run(work)
        end_import_that_calls_tools()
        request = request_of(work, self._target(work.tool))
        pool = await self._pool()
        return value_of(await pool.perform(request, work, self._kind))

    async def aclose(self) -> None:
        """End the workers of the running loop, and of loops that are closed; a later call starts new ones."""
        await self._local.aclose()
        self._discard_those_of_closed_loops()
        held = self._pools.pop(asyncio.get_running_loop(), None)
        if held is not None:
            pool, keeper = held
            await pool.close()
            await keeper.aclose()

    @cached_property
    def _kind(self) -> WorkerKind:
        from toolcrib_runtime.executors.process_pool import WorkerKind
        from toolcrib_runtime.executors.process_worker import worker_spec

        return WorkerKind(spec=lambda: worker_spec(self._limits))

    def _target(self, tool: RunnableTool) -> Target:
        target = self._targets.get(tool)
        if target is None:
            target = self._targets[tool] = target_of(tool)
        return target

    async def _pool(self) -> WorkerPool:
        loop = asyncio.get_running_loop()
        held = self._pools.get(loop)
        if held is not None:
            return held[0]
        # Whoever runs no worker process does not pay for the guard around them.
        from toolcrib_runtime.executors.process_pool import WorkerPool

        self._discard_those_of_closed_loops()
        pool = WorkerPool(
            workers=self._workers,
            max_calls=self._max_calls,
            start_timeout=self._start_timeout,
            grace=self._grace,
        )
        keeper = self._until_the_loop_ends(loop, pool)
        self._pools[loop] = pool, keeper
        await anext(keeper)
        return pool

    def _discard_those_of_closed_loops(self) -> None:
        for loop in [each for each in self._pools if each.is_closed()]:
            pool, _ = self._pools.pop(loop)
            pool.discard()

    async def _until_the_loop_ends(
        self, loop: asyncio.AbstractEventLoop, pool: WorkerPool
    ) -> AsyncGenerator[None, None]:
        # `asyncio.run` closes every async generator that has begun, and waits for it: the one place where a loop tells
        # that it is about to end.
        try:
            yield
        finally:
            if self._pools.pop(loop, None) is not None:
                await pool.close()


def _is_our_own(tool: RunnableTool) -> bool:
    """Whether the runtime made it: it works with objects of this process, and costs little."""
    module: Any = getattr(tool.binding.handler, "__module__", None)
    return isinstance(module, str) and module.startswith("toolcrib_runtime.")


def value_of(answer: dict[str, Any]) -> object:
    """What a worker answered.

    Raises:
        HandlerRaised: The tool's code raised.
    """
    if "raised" in answer:
        raised = rebuild(answer["raised"])
        raise HandlerRaised(raised) from raised
    if "content" in answer:
        return ToolOutput(value=answer["value"], content=tuple(answer["content"]))
    return answer["value"]
