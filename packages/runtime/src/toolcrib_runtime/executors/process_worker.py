"""One worker process, as its parent sees it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any

from toolcrib_core import ToolError
from toolcrib_core.wording import count, quoted
from toolcrib_runtime.errors import DeadlineExceeded, OutputTooLarge, ProcessKilled, ProcessLimitReached, WorkerLost
from toolcrib_runtime.executors.process_frames import MAX_FRAME, BrokenFrames, FrameReader, FrameTooLarge
from toolcrib_runtime.executors.protocol import Work
from toolcrib_runtime.guards.process.child import ChildProcess
from toolcrib_runtime.guards.process.limits import ProcessLimits
from toolcrib_runtime.guards.process.outcome import fault_of
from toolcrib_runtime.guards.process.sandbox import SandboxWishes
from toolcrib_runtime.guards.process.spec import ProcessSpec

_MAIN = (
    "import json, sys; setup = json.loads(sys.argv[1]); sys.path[:] = setup['path']; sys.argv[:] = setup['argv']; "
    "from toolcrib_runtime.executors.worker import main; main()"
)
# A process whose pipe has ended is as good as dead; one that is not, closed the pipe itself.
_PATIENCE = 0.5


def worker_spec(limits: ProcessLimits | None) -> ProcessSpec:
    """A Python that imports as this one does: the same interpreter, options, path, environment and directory."""
    # The one function that knows how every option was given; `multiprocessing` uses it for the same purpose.
    options: list[str] = vars(subprocess)["_args_from_interpreter_flags"]()
    setup = json.dumps({"path": [str(each) for each in sys.path], "argv": sys.argv})
    return ProcessSpec(
        argv=(sys.executable, *options, "-c", _MAIN, setup),
        inherit_env=True,
        limits=limits,
        sandbox=SandboxWishes(no_new_privileges=False),
    )


class Worker:
    """A worker process, for one call at a time."""

    def __init__(self, child: ChildProcess, *, start_timeout: float) -> None:
        self._child = child
        self._frames = FrameReader(child.stdout)
        self._start_timeout = start_timeout
        self._started = time.monotonic()
        self._is_ready = False
        self._sent = False
        self._closed = False
        self._killed = False
        self.calls = 0

    @property
    def is_usable(self) -> bool:
        """Whether it can take another call."""
        return not self._sent and not self._closed and self._child.returncode is None

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended and was waited for."""
        return self._child.returncode is not None

    async def perform(
        self, request: bytes, work: Work, *, max_answer: int = MAX_FRAME, deadline: float | None = None
    ) -> dict[str, Any]:
        """Run one call; gives the frame with its answer. If this raises after the request was sent, kill the worker.

        Raises:
            DeadlineExceeded: There is no answer when the loop reads `deadline`.
            WorkerLost: The process died, or did not start in time.
            ProcessLimitReached: It ran into one of its limits.
            OutputTooLarge: Its answer has more than `max_answer` bytes, and was not read.
        """
        try:
            async with asyncio.timeout_at(deadline):
                await self._get_ready()
                self._child.forget_stderr()
                self._sent = True
                self._child.stdin.feed(request)
                answer = await self._answer(work, max_answer)
        except TimeoutError:
            self.kill()
            raise DeadlineExceeded(
                f"{quoted(work.tool.id)} did not end in time, and its process was stopped.",
                hint="Ask for less at once, or allow more time.",
                details={"stderr": self._child.stderr_tail, **({} if self._sent else {"sent": False})},
            ) from None
        except FrameTooLarge:
            self.kill()
            raise OutputTooLarge(
                f"{quoted(work.tool.id)} gave more than {count(max_answer, 'byte')}, and was stopped.",
                hint="Ask for less at once.",
                details={"limit": max_answer},
            ) from None
        except BrokenFrames:
            self.kill()
            raise self._error(work, "wrote something into the pipe that belongs to the runtime") from None
        self._sent = False
        self.calls += 1
        if answer.get("left"):
            self.kill()
            work.emit("log", level="warning", message="The tool left processes running; they were killed.", data={})
        return answer

    def kill(self) -> None:
        """End the process and everything it started, at once."""
        if not self._killed:
            self._killed = self._closed = True
            self._child.kill()

    def retire(self, grace: float) -> None:
        """Let an idle process end by itself, and kill it if it has not after the grace."""
        self._closed = True
        self._child.stdin.close()
        asyncio.get_running_loop().call_later(grace, self._child.kill)

    async def end(self, grace: float) -> None:
        """End the process and wait until nothing of it is left."""
        self._closed = True
        if self._sent:
            self.kill()
        await self._child.terminate(grace)

    def discard(self) -> None:
        """End the process when its loop is closed already."""
        self._closed = True
        self._child.discard()

    async def _get_ready(self) -> None:
        if self._is_ready:
            return
        left = self._start_timeout - (time.monotonic() - self._started)
        try:
            async with asyncio.timeout(left):
                frame = await self._frames.next()
        except TimeoutError:
            self.kill()
            raise WorkerLost(
                f"A worker process was not ready after {self._start_timeout:g} s.",
                hint="Try again later: the machine is busy, or the `start_timeout` of the executor too short.",
                details={"sent": False},
            ) from None
        if frame is None:
            raise await self._lost(None)
        self._is_ready = True

    async def _answer(self, work: Work, max_bytes: int) -> dict[str, Any]:
        while True:
            frame = await self._frames.next(max_bytes)
            if frame is None:
                raise await self._lost(work)
            if "event" not in frame:
                return frame
            work.emit(frame["event"], **frame["data"])

    async def _lost(self, work: Work | None) -> ToolError:
        was_closed = self._closed
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._child.wait()
        except TimeoutError:
            self.kill()
            return self._error(work, "closed the pipe to its parent")
        except ToolError as stopped:
            return stopped
        if was_closed:
            return self._error(work, "was ended, because its executor was closed")
        fault = fault_of(self._child.end)
        if isinstance(fault, ProcessLimitReached):
            return fault
        if isinstance(fault, ProcessKilled):
            return self._error(work, f"was ended by the signal {fault.details['signal']}", fault.details)
        status = self._child.end.status
        return self._error(work, f"ended with exit status {status}", {"status": status})

    def _error(self, work: Work | None, end: str, details: dict[str, object] | None = None) -> WorkerLost:
        who = "A worker process" if work is None else f"The process that ran {quoted(work.tool.id)}"
        return WorkerLost(
            f"{who} {end}.",
            hint="Mend the tool if it happens again; the next call gets a new process.",
            details={"stderr": self._child.stderr_tail, **(details or {}), **({} if self._sent else {"sent": False})},
        )
