"""Worker threads for plain functions: a bounded number, and never one that keeps the process from ending.

`concurrent.futures` joins its threads when the interpreter ends, so that one function that hangs would hang the exit.
And a thread that hangs would take a place of the pool for ever. Here threads are daemons, and a thread whose caller has
gone no longer counts, until too many have gone that way.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from toolcrib_runtime.errors import WorkersExhausted
from toolcrib_runtime.executors import forks
from toolcrib_runtime.executors.protocol import HandlerRaised

IDLE_SECONDS: Final = 30.0
"""How long a thread without work is kept."""

Job: TypeAlias = Callable[[], object]
OnLate: TypeAlias = Callable[[bool], object]
_Inbox: TypeAlias = "queue.SimpleQueue[_Task | None]"


class _Task:
    """A job, and the future on some loop that waits for it."""

    __slots__ = ("abandoned", "future", "job", "loop", "on_late", "running", "started")

    def __init__(self, job: Job, on_late: OnLate) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[object] = self.loop.create_future()
        context = contextvars.copy_context()
        self.job: Job = lambda: context.run(job)
        self.on_late = on_late
        self.running = self.abandoned = self.started = False

    def settle(self, value: object, raised: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed meanwhile: nobody is left to tell
            self.loop.call_soon_threadsafe(self._settle_on_loop, value, raised)

    def _settle_on_loop(self, value: object, raised: BaseException | None) -> None:
        if self.future.done():
            if inspect.iscoroutine(value):
                value.close()  # it would complain that nobody awaited it
            self.on_late(raised is None)
        elif raised is None:
            self.future.set_result(value)
        else:
            failure = HandlerRaised(raised)
            failure.__cause__ = raised
            self.future.set_exception(failure)


class WorkerThreads:
    """Runs plain functions, at most `limit` at a time, in the order in which they came."""

    def __init__(self, *, limit: int, max_abandoned: int) -> None:
        self._limit = limit
        self._max_abandoned = max_abandoned
        self._lock = threading.Lock()
        self._waiting: OrderedDict[_Task, None] = OrderedDict()
        self._idle: list[_Inbox] = []
        self._busy = 0
        self._abandoned = 0
        self._closed = False

    @property
    def abandoned(self) -> int:
        """How many threads run a function that nobody waits for any more."""
        return self._abandoned

    async def run(
        self,
        job: Job,
        *,
        on_late: OnLate,
        on_abandoned: Callable[[], object] = lambda: None,
        on_skipped: Callable[[], object] = lambda: None,
    ) -> object:
        """Run the job in a thread.

        When the caller is cancelled while it runs, `on_abandoned` hears of it, the job goes on alone, and `on_late`
        hears of its end. While it waits for a thread, it is taken out of the queue, and `on_skipped` hears of that.

        Raises:
            HandlerRaised: The job raised.
            WorkersExhausted: Too many threads hang.
        """
        task = _Task(job, on_late)
        self._submit(task)
        try:
            return await task.future
        except asyncio.CancelledError:
            if self._abandon(task):
                on_abandoned()
            elif not task.started:  # and it never will be: a thread that has it skips what nobody waits for
                on_skipped()
            raise

    def close(self) -> None:
        """Let idle threads end; the others end with their work."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def _submit(self, task: _Task) -> None:
        with self._lock:
            if self._abandoned >= self._max_abandoned:
                raise WorkersExhausted(
                    f"{self._abandoned} worker threads hang in functions that do not end.",
                    hint="Mend the tools that hang: give their own waits a timeout, or look at `context.cancellation`.",
                    details={"abandoned": self._abandoned, "sent": False},
                )
            if self._busy >= self._limit:
                self._waiting[task] = None
                return
            self._busy += 1
        self._hand_over(task)

    def _abandon(self, task: _Task) -> bool:
        """Wait no longer for the job; True if it goes on alone."""
        with self._lock:
            self._waiting.pop(task, None)
            if not task.running:
                return False
            task.abandoned = True
            self._abandoned += 1
            self._busy -= 1
            following = self._next_waiting()
        if following is not None:
            self._hand_over(following)
        return True

    def _hand_over(self, task: _Task) -> None:
        """Give a job that is counted as busy to a thread."""
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = queue.SimpleQueue()
            try:
                threading.Thread(target=self._work, args=(inbox,), name="toolcrib-worker", daemon=True).start()
            except RuntimeError:
                with self._lock:
                    self._busy -= 1
                task.settle(None, WorkersExhausted("The system gives no more threads.", details={"sent": False}))
                return
        inbox.put(task)

    def _next_waiting(self) -> _Task | None:
        """The next job that somebody still waits for, counted as busy; called with the lock held."""
        while self._waiting and self._busy < self._limit:
            task, _ = self._waiting.popitem(last=False)
            if not task.future.cancelled():
                self._busy += 1
                return task
        return None

    def _work(self, inbox: _Inbox) -> None:
        task = inbox.get()
        while task is not None:
            task = self._perform(task) or self._rest(inbox)

    def _perform(self, task: _Task) -> _Task | None:
        generation = forks.generation
        value, raised = None, None
        with self._lock:
            runs = task.running = task.started = not task.future.cancelled()
        if runs:
            try:
                value = task.job()
            except BaseException as failure:  # noqa: BLE001  # whatever it is, it belongs to the one who waits
                raised = failure
            if forks.generation != generation:  # pragma: no cover  # the copy is not measured
                forks.end_copy()
        with self._lock:
            task.running = False
            if task.abandoned:
                self._abandoned -= 1
            else:
                self._busy -= 1
            following = self._next_waiting()
        if runs:
            task.settle(value, raised)
        return following

    def _rest(self, inbox: _Inbox) -> _Task | None:
        with self._lock:
            if self._closed:
                return None
            self._idle.append(inbox)
        try:
            return inbox.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
        return inbox.get()  # somebody took it from the idle ones in the last moment: the job is on its way


class LoopInThread:
    """A loop of its own for an async function in a worker thread, which can be cancelled from outside."""

    def __init__(self) -> None:
        self._cancelled = False
        self._task: asyncio.Task[Any] | None = None

    def run(self, start: Callable[[], Any]) -> object:
        """Run an async function to its end in this thread."""
        return asyncio.run(self._main(start))

    def cancel(self) -> None:
        """Cancel it, from any thread."""
        self._cancelled = True
        task = self._task
        if task is not None:
            with contextlib.suppress(RuntimeError):  # its loop has closed: it has ended
                task.get_loop().call_soon_threadsafe(task.cancel)

    async def _main(self, start: Callable[[], Any]) -> object:
        self._task = asyncio.current_task()
        if self._cancelled:
            raise asyncio.CancelledError
        return await start()
