"""Running a program once: input in, output out, and nothing left of it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_runtime.errors import DeadlineExceeded
from toolcrib_runtime.guards.process.child import ChildProcess, OutputCaps
from toolcrib_runtime.guards.process.gate import ProcessGate
from toolcrib_runtime.guards.process.outcome import deadline_error, fault_of
from toolcrib_runtime.guards.process.sandbox import SandboxReport
from toolcrib_runtime.guards.process.spec import ProcessSpec

MAX_STDOUT: Final = 10 * 1024 * 1024
"""How many bytes of standard output are taken unless the caller says otherwise."""

MAX_STDERR: Final = 1024 * 1024
"""How many bytes of the end of standard error are kept unless the caller says otherwise; the rest is dropped."""


@dataclass(frozen=True, kw_only=True)
class ProcessResult:
    """What a program gave: its exit status (negative for a signal), all it wrote, and under which sandbox."""

    status: int
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    duration: float
    sandbox: SandboxReport
    escaped: tuple[int, ...] = ()


async def run_process(
    spec: ProcessSpec,
    *,
    timeout: float,  # noqa: ASYNC109  # the time of the program, which is stopped with grace; not of the await
    stdin: bytes = b"",
    max_stdout: int = MAX_STDOUT,
    max_stderr: int = MAX_STDERR,
    grace: float = 2.0,
    check: bool = True,
    gate: ProcessGate | None = None,
) -> ProcessResult:
    """Run a program to its end and give what it wrote; with `check=False` also when it failed.

    The timeout counts from now, the wait at the gate included. When it is over the program gets SIGTERM, and SIGKILL
    after the grace. A caller that is cancelled leaves nothing behind either.

    Raises:
        ProcessNotStarted: The program, its interpreter, or a program it starts (exit status 126, 127) is missing.
        DeadlineExceeded: It did not end in time.
        OutputTooLarge: It wrote more to standard output than is taken; the head is in the details.
        ProcessLimitReached: It ran into one of its limits.
        ProcessKilled: A signal ended it.
        ProcessExited: Its exit status is not 0.
    """
    begun = time.monotonic()
    loop_deadline = asyncio.get_running_loop().time() + timeout
    caps = OutputCaps(stdout=max_stdout, stderr=max_stderr)
    async with await _started(spec, caps, gate, loop_deadline) as child:
        child.stdin.feed(stdin, close=True)
        try:
            async with asyncio.timeout_at(loop_deadline):
                await child.wait()
        except TimeoutError:
            await child.terminate(grace)
            raise deadline_error(child.end, timeout) from None
    fault = fault_of(child.end) if check else None
    if fault is not None:
        if len(child.stderr_bytes) > len(str(fault.details["stderr"]).encode()):
            # The end tells how it went wrong, the beginning often why.
            fault.details["stderrHead"] = child.stderr_head
        raise fault
    return ProcessResult(
        status=child.end.status,
        stdout=child.stdout.take_all(),
        stderr=child.stderr_bytes,
        duration=time.monotonic() - begun,
        sandbox=child.sandbox,
        escaped=child.escaped,
    )


async def _started(spec: ProcessSpec, caps: OutputCaps, gate: ProcessGate | None, loop_deadline: float) -> ChildProcess:
    try:
        async with asyncio.timeout_at(loop_deadline):
            return await ChildProcess.start(spec, caps=caps, gate=gate)
    except TimeoutError:
        raise DeadlineExceeded(
            f"The program {quoted(spec.name)} was not started in time: too many others are running.",
            hint="Try again later, or allow more time.",
            details={"sent": False},
        ) from None
