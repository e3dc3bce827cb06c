"""Warm workers: the code of a pack stays loaded in a process of its own, and a call costs a message instead of a start.

A worker belongs to one pack in one state of its code, behind that pack's walls. It is replaced after so many calls,
when a call ends it, and when its place is needed for another pack.
"""

from __future__ import annotations

from typing import Any

import orjson

from toolcrib_core.wording import count, quoted
from toolcrib_runtime.errors import (
    DeadlineExceeded,
    LoadFailed,
    OutputTooLarge,
    ProcessError,
    UnusableOutput,
    WorkerLost,
)
from toolcrib_runtime.executors.process import value_of
from toolcrib_runtime.executors.process_frames import frame_of
from toolcrib_runtime.executors.process_pool import WorkerKind, WorkerPool
from toolcrib_runtime.executors.protocol import Work
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_toolpacks.commands import Command
from toolcrib_toolpacks.planning import PreparedPack
from toolcrib_toolpacks.telling import told

_ENVELOPE = 64 * 1024
_MAX_REASON = 500


async def perform(
    pool: WorkerPool,
    prepared: PreparedPack,
    command: Command,
    work: Work,
    *,
    payload: bytes,
    deadline: float,
    scrubber: Scrubber,
) -> object:
    """Run one call in a worker of the pack, starting one where there is none.

    Raises:
        WorkerLost: The process died; the next call gets another.
        DeadlineExceeded: It did not answer in time, and was killed with all it had started.
        OutputTooLarge: The answer has more bytes than the pack takes.
        UnusableOutput: What the function returned is not JSON.
        LoadFailed: The function cannot be imported.
        HandlerRaised: The function raised.
    """
    limit = prepared.pack.limits.max_output_bytes
    kind = WorkerKind(
        spec=lambda: prepared.spec(command), key=(prepared.pack.id, prepared.signature(command.own_files))
    )
    request = frame_of({"arguments": orjson.Fragment(payload)})
    try:
        answer = await pool.perform(request, work, kind, max_answer=limit + _ENVELOPE, deadline=deadline)
    except (ProcessError, WorkerLost, DeadlineExceeded) as error:
        raise told(error, prepared.pack, scrubber) from error
    fault = _fault(answer, prepared.pack.tool, limit, scrubber)
    if fault is not None:
        raise fault
    if "raised" in answer:
        answer["raised"]["message"] = scrubber.scrub_text(str(answer["raised"]["message"]))
    return value_of(answer)


def _fault(
    answer: dict[str, Any], pack: str, limit: int, scrubber: Scrubber
) -> OutputTooLarge | UnusableOutput | LoadFailed | None:
    if "tooLarge" in answer:
        return OutputTooLarge(
            f"{quoted(pack)} gave {count(int(answer['tooLarge']), 'byte')}; at most {limit:,} are taken.",
            hint="Ask for less at once.",
            details={"bytes": answer["tooLarge"], "limit": limit},
        )
    if "unusable" in answer:
        reason = scrubber.scrub_line(str(answer["unusable"]), max_length=_MAX_REASON)
        return UnusableOutput(
            f"The output of {quoted(pack)} is not JSON: {reason}.",
            hint="This is a fault of the tool, not of the arguments.",
        )
    if "load" in answer:
        reason = scrubber.scrub_line(str(answer["load"]), max_length=_MAX_REASON)
        return LoadFailed(
            f"{quoted(pack)} could not be loaded: {reason}.",
            hint="Correct `execution.module`, install what it needs, or list the files that it imports in `caps`.",
            retryable=False,
            details={"sent": False},
        )
    return None
