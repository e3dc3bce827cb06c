"""The worker processes of one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import DeadlineExceeded, WorkerLost
from toolcrib_runtime.executors.process_frames import MAX_FRAME
from toolcrib_runtime.executors.process_worker import Worker
from toolcrib_runtime.executors.protocol import Work
from toolcrib_runtime.guards.process.child import ChildProcess
from toolcrib_runtime.guards.process.spec import ProcessSpec
from toolcrib_runtime.policy.gates import FairGate


@dataclass(frozen=True, kw_only=True)
class WorkerKind:
    """Which workers can do a call: those of an equal `key`; and how one is started where there is none."""

    spec: Callable[[], ProcessSpec]
    key: Hashable = None


class WorkerPool:
    """So many worker processes at most, started when they are needed; calls beyond that wait in the order they came.

    Workers may be of several kinds. Where another kind is needed and there is no room, the longest idle one goes.
    """

    def __init__(self, *, workers: int, max_calls: int, start_timeout: float, grace: float) -> None:
        self._gate = FairGate(workers)
        self._workers = workers
        self._max_calls = max_calls
        self._start_timeout = start_timeout
        self._grace = grace
        self._idle: list[tuple[Hashable, Worker]] = []
        self._busy: set[Worker] = set()
        self._ending: set[Worker] = set()
        self._closed = False

    @property
    def alive(self) -> int:
        """How many workers there are, busy or idle."""
        return len(self._busy) + len(self._idle)

    async def perform(
        self,
        request: bytes,
        work: Work,
        kind: WorkerKind,
        *,
        max_answer: int = MAX_FRAME,
        deadline: float | None = None,
    ) -> dict[str, Any]:
        """Run one call in a worker; see `Worker.perform`. A caller that is cancelled takes its worker with it.

        `deadline` is a reading of the loop's clock.

        Raises:
            DeadlineExceeded: Time ran out, waiting for a worker included.
        """
        if not self._gate.try_acquire():
            await self._wait_for_turn(work, kind, deadline)
        try:
            worker = await self._take(kind)
            try:
                return await worker.perform(request, work, max_answer=max_answer, deadline=deadline)
            finally:
                self._put_back(worker, kind)
        finally:
            self._gate.release()

    async def _wait_for_turn(self, work: Work, kind: WorkerKind, deadline: float | None) -> None:
        try:
            async with asyncio.timeout_at(deadline):
                await self._gate.acquire(kind.key)
        except asyncio.CancelledError:
            work.not_started()
            raise
        except TimeoutError:
            raise DeadlineExceeded(
                f"{quoted(work.tool.id)} was not started in time: too many others are running.",
                hint="Try again later, or allow more time.",
                details={"sent": False},
            ) from None

    async def close(self) -> None:
        """End every worker, and refuse the calls that wait."""
        self._closed = True
        ending = [*self._idle_workers(), *self._busy, *self._ending]
        self._idle.clear()
        async with asyncio.TaskGroup() as group:
            for worker in ending:
                group.create_task(worker.end(self._grace))

    def discard(self) -> None:
        """End every worker when the loop is closed already."""
        self._closed = True
        for worker in (*self._idle_workers(), *self._busy, *self._ending):
            worker.discard()

    async def _take(self, kind: WorkerKind) -> Worker:
        if self._closed:
            raise WorkerLost(
                "The executor was closed before the tool could run.",
                hint="Call it again, if the application is not about to end.",
                details={"sent": False},
            )
        worker = self._idle_worker(kind.key)
        if worker is None:
            self._make_room()
            child = await ChildProcess.start(kind.spec())
            worker = Worker(child, start_timeout=self._start_timeout)
        self._busy.add(worker)
        return worker

    def _idle_workers(self) -> list[Worker]:
        return [worker for _, worker in self._idle]

    def _idle_worker(self, key: Hashable) -> Worker | None:
        # The last one first: it is warm, and surely ready.
        for place in range(len(self._idle) - 1, -1, -1):
            if self._idle[place][0] != key:
                continue
            worker = self._idle.pop(place)[1]
            if worker.is_usable:
                return worker
            self._end(worker)
        return None

    def _make_room(self) -> None:
        while self._idle and self.alive >= self._workers:
            worker = self._idle.pop(0)[1]
            worker.retire(self._grace)
            self._end(worker)

    def _put_back(self, worker: Worker, kind: WorkerKind) -> None:
        self._busy.discard(worker)
        if not worker.is_usable:
            worker.kill()
            self._end(worker)
        elif worker.calls >= self._max_calls:
            worker.retire(self._grace)
            self._end(worker)
        else:
            self._idle.append((kind.key, worker))

    def _end(self, worker: Worker) -> None:
        # They are waited for when the pool is closed; until then the loop collects them as they end.
        self._ending = {each for each in self._ending if not each.is_gone} | {worker}
