"""The worker processes of one event loop."""

from __future__ import annotations

import asyncio
from typing import Any

from toolcrib_runtime.errors import WorkerLost
from toolcrib_runtime.executors.process_worker import Worker, worker_spec
from toolcrib_runtime.executors.protocol import Work
from toolcrib_runtime.guards.process.child import ChildProcess
from toolcrib_runtime.guards.process.limits import ProcessLimits
from toolcrib_runtime.policy.gates import FairGate


class WorkerPool:
    """So many worker processes at most, started when they are needed; calls beyond that wait in the order they came."""

    def __init__(
        self, *, workers: int, max_calls: int, start_timeout: float, grace: float, limits: ProcessLimits | None
    ) -> None:
        self._gate = FairGate(workers)
        self._max_calls = max_calls
        self._start_timeout = start_timeout
        self._grace = grace
        self._limits = limits
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._ending: set[Worker] = set()
        self._closed = False

    async def perform(self, request: bytes, work: Work) -> dict[str, Any]:
        """Run one call in a worker; see `Worker.perform`. A caller that is cancelled takes its worker with it."""
        try:
            await self._gate.acquire()
        except asyncio.CancelledError:
            work.not_started()
            raise
        try:
            worker = await self._take()
            try:
                return await worker.perform(request, work)
            finally:
                self._put_back(worker)
        finally:
            self._gate.release()

    async def close(self) -> None:
        """End every worker, and refuse the calls that wait."""
        self._closed = True
        ending = [*self._idle, *self._busy, *self._ending]
        self._idle.clear()
        async with asyncio.TaskGroup() as group:
            for worker in ending:
                group.create_task(worker.end(self._grace))

    def discard(self) -> None:
        """End every worker when the loop is closed already."""
        self._closed = True
        for worker in (*self._idle, *self._busy, *self._ending):
            worker.discard()

    async def _take(self) -> Worker:
        if self._closed:
            raise WorkerLost(
                "The executor was closed before the tool could run.",
                hint="Call it again, if the application is not about to end.",
                details={"sent": False},
            )
        worker = self._idle_worker()
        if worker is None:
            child = await ChildProcess.start(worker_spec(self._limits))
            worker = Worker(child, start_timeout=self._start_timeout)
        self._busy.add(worker)
        return worker

    def _idle_worker(self) -> Worker | None:
        # The last one first: it is warm, and surely ready.
        while self._idle:
            worker = self._idle.pop()
            if worker.is_usable:
                return worker
            self._end(worker)
        return None

    def _put_back(self, worker: Worker) -> None:
        self._busy.discard(worker)
        if not worker.is_usable:
            worker.kill()
            self._end(worker)
        elif worker.calls >= self._max_calls:
            worker.retire(self._grace)
            self._end(worker)
        else:
            self._idle.append(worker)

    def _end(self, worker: Worker) -> None:
        # They are waited for when the pool is closed; until then the loop collects them as they end.
        self._ending = {each for each in self._ending if not each.is_gone} | {worker}
