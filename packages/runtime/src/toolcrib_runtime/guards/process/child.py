"""One child process, from start to the last descendant: what every tool, server and worker outside Python runs as."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from toolcrib_core import ToolError
from toolcrib_runtime.guards.process.census import TreeCensus
from toolcrib_runtime.guards.process.exit import ExitWatch
from toolcrib_runtime.guards.process.gate import ProcessGate
from toolcrib_runtime.guards.process.home import remove_if_empty, remove_with_contents
from toolcrib_runtime.guards.process.limits import ProcessLimits
from toolcrib_runtime.guards.process.outcome import (
    STATUS_UNKNOWN,
    ProcessEnd,
    head_of,
    limit_error,
    tail_of,
    too_large_error,
)
from toolcrib_runtime.guards.process.pipes import PipeReader, PipeTail, PipeWriter
from toolcrib_runtime.guards.process.sandbox import SandboxReport
from toolcrib_runtime.guards.process.spec import ProcessSpec
from toolcrib_runtime.guards.process.start import StartedProcess, start_process
from toolcrib_runtime.guards.process.tree import kill_tree, signal_group

_HEAD_KEPT = 16 * 1024
_GRACE = 2.0
# A killed process that is still there after this hangs in the kernel, for instance on a lost network disk.
_PATIENCE = 5.0


@dataclass(frozen=True, kw_only=True)
class OutputCaps:
    """How much of its output is taken.

    A child that writes more than `stdout` in its whole life is killed; without a cap it waits until somebody reads. Of
    standard error the last `stderr` bytes are kept, and a child never ends for what it writes there.
    """

    stdout: int | None = None
    stderr: int = 16 * 1024


class ChildProcess:
    """A started program. Use it as a context manager, or `terminate` it: then nothing of it is left.

    When the program ends, whatever it left running is killed, and what it wrote can still be read. It is started from
    the thread of the event loop and dies with that thread (on Linux), so a killed parent leaves no child.
    """

    def __init__(
        self, spec: ProcessSpec, started: StartedProcess, *, caps: OutputCaps, gate: ProcessGate | None
    ) -> None:
        """Take over a started program; `ChildProcess.start` is what callers use."""
        self._spec = spec
        self._started = started
        self._gate = gate
        self._caps = caps
        self._ended = asyncio.Event()
        self._returncode: int | None = None
        self._escaped: tuple[int, ...] = ()
        self._stopped: ToolError | None = None
        self._cpu_seconds = 0.0
        self._left_files = bool(started.private)
        stdin, stdout, stderr = started.pipes
        self.stdin = PipeWriter(stdin)
        self.stdout = PipeReader(stdout, cap=caps.stdout, on_full=self._stdout_full)
        self._stderr = PipeTail(stderr, keep=caps.stderr)
        self._watch = ExitWatch(self.pid, self._leader_ended)
        self._census = self._count_processes(spec.limits)

    @classmethod
    async def start(
        cls, spec: ProcessSpec, *, caps: OutputCaps | None = None, gate: ProcessGate | None = None
    ) -> ChildProcess:
        """Start a program, when the gate has a place for it.

        Raises:
            ProcessNotStarted: The program is missing or cannot be executed, or a required sandbox layer is missing.
        """
        if gate is not None:
            await gate.enter()
        # From here to the return nothing is awaited: no cancellation can come between the process and its keeper.
        try:
            return cls(spec, start_process(spec), caps=caps or OutputCaps(), gate=gate)
        except BaseException:
            if gate is not None:
                gate.leave()
            raise

    @property
    def pid(self) -> int:
        """The number of the leader, which is also that of its group and session."""
        return self._started.popen.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; `None` while it runs."""
        return self._returncode

    @property
    def sandbox(self) -> SandboxReport:
        """The layers that are active around it."""
        return self._started.report

    @property
    def escaped(self) -> tuple[int, ...]:
        """Processes of the tree that were seen and could not be killed; empty while it runs."""
        return self._escaped

    @property
    def stderr_tail(self) -> str:
        """The end of what it wrote to standard error: printable and bounded."""
        return tail_of(self._stderr.tail, self._started.private)

    @property
    def stderr_bytes(self) -> bytes:
        """What is kept of the end of standard error."""
        return self._stderr.tail

    @property
    def stderr_head(self) -> str:
        """The beginning of what it wrote to standard error: printable and bounded."""
        return head_of(self._stderr.head, self._started.private)

    @property
    def end(self) -> ProcessEnd:
        """How it ended, for `fault_of`."""
        return ProcessEnd(
            name=self._spec.name,
            status=STATUS_UNKNOWN if self._returncode is None else self._returncode,
            stderr=self._stderr.tail,
            cpu_seconds=self._cpu_seconds,
            limits=self._spec.limits,
            private=self._started.private,
            escaped=self._escaped,
        )

    def forget_stderr(self) -> None:
        """Drop what it has written to standard error so far, for instance when a worker goes to its next caller."""
        self._stderr.forget()

    async def wait(self) -> int:
        """Wait until it has ended, and give its exit status.

        Raises:
            OutputTooLarge: It wrote more than its cap, and was killed.
            ProcessLimitReached: It started more processes than it may, and was killed.
        """
        await self._ended.wait()
        if self._stopped is not None:
            raise self._stopped
        return self.end.status

    def kill(self) -> None:
        """Kill the whole tree now; `wait` tells when it is gone."""
        if self._returncode is None and not self._ended.is_set():
            self._escaped = kill_tree(self.pid, self._started.mark)

    def discard(self) -> None:
        """Kill the whole tree and clean up without the event loop, for a child whose loop has been closed."""
        if not self._ended.is_set():
            self._leader_ended()

    async def terminate(self, grace: float = _GRACE) -> None:
        """Ask the tree to end, kill what is left after the grace, and wait until all is gone and cleaned up.

        A cancellation cuts the grace short and comes through when nothing is left.
        """
        try:
            if not self._ended.is_set():
                self._ask_to_end()
                with suppress(TimeoutError):
                    async with asyncio.timeout(grace):
                        await self._ended.wait()
        finally:
            await self._kill_and_clean_up()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.terminate(_GRACE if kind is None else 0)

    def _ask_to_end(self) -> None:
        self.stdin.close()
        signal_group(self.pid, signal.SIGTERM)
        # One that is stopped hears SIGTERM only when it goes on.
        signal_group(self.pid, signal.SIGCONT)

    async def _kill_and_clean_up(self) -> None:
        self.kill()
        hanging = asyncio.get_running_loop().call_later(_PATIENCE, self._give_up)
        interrupted: asyncio.CancelledError | None = None
        # To leave before the process is reaped would leave a zombie, so a cancellation waits its turn: a moment.
        while not self._ended.is_set():
            try:
                await self._ended.wait()
            except asyncio.CancelledError as error:
                interrupted = error
        hanging.cancel()
        if self._left_files:
            # In a thread, because the child decides how many files there are.
            await asyncio.to_thread(remove_with_contents, self._started.private)
            self._left_files = False
        if interrupted is not None:
            raise interrupted

    def _leader_ended(self) -> None:
        self._escaped = kill_tree(self.pid, self._started.mark)
        self._returncode, self._cpu_seconds = self._watch.reap()
        self._settle()

    def _give_up(self) -> None:
        self._escaped = (self.pid,)
        self._settle()

    def _settle(self) -> None:
        # So that `Popen` neither waits for the process again nor warns that nobody did.
        self._started.popen.returncode = self.end.status
        self._watch.close()
        if self._census is not None:
            self._census.close()
        self.stdin.close()
        self.stdout.finish()
        self._stderr.finish()
        self._left_files = self._left_files and not remove_if_empty(self._started.private)
        if self._gate is not None:
            self._gate.leave()
        self._ended.set()

    def _stdout_full(self) -> None:
        head = head_of(self.stdout.head(_HEAD_KEPT), self._started.private)
        self._stop(too_large_error(self._spec.name, limit=self._caps.stdout or 0, head=head))

    def _too_many_processes(self) -> None:
        self._stop(limit_error(self.end, "processes"))

    def _stop(self, reason: ToolError) -> None:
        self._stopped = self._stopped or reason
        self.kill()

    def _count_processes(self, limits: ProcessLimits | None) -> TreeCensus | None:
        if limits is None or limits.processes is None:
            return None
        return TreeCensus(self.pid, self._started.mark, limit=limits.processes, on_over=self._too_many_processes)
