"""The main loop of a worker process: a request in, the tool run, its events and its answer out."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from typing import Any, BinaryIO, Final

from toolcrib_core.schema.limits import JsonLimits
from toolcrib_runtime.errors import OutputTooLarge
from toolcrib_runtime.executors import forks
from toolcrib_runtime.executors.local import LocalExecutor, awaited
from toolcrib_runtime.executors.process_failures import describe
from toolcrib_runtime.executors.process_frames import MAX_FRAME, FrameTooLarge, frame_of, read_frame, write_frame
from toolcrib_runtime.executors.protocol import HandlerRaised
from toolcrib_runtime.executors.worker_process import (
    STANDARD_STREAMS,
    Streams,
    adopt_orphans,
    exit_on_sigterm,
    has_children,
    take_over,
)
from toolcrib_runtime.executors.worker_tools import ToolLoader
from toolcrib_runtime.executors.worker_work import WorkerWork
from toolcrib_runtime.outputs import ToolOutput, json_value

FRAME_LIMITS: Final = JsonLimits(max_depth=200, max_nodes=MAX_FRAME, max_bytes=MAX_FRAME)
"""What a frame can carry; the limits of a toolbox are applied in the process of the toolbox."""


def main(streams: Streams = STANDARD_STREAMS) -> None:
    """Serve until the parent closes the pipe, or sends SIGTERM."""
    exit_on_sigterm()
    adopt_orphans()
    requests, answers = take_over(streams)
    with os.fdopen(requests, "rb") as stream:
        serve(stream, answers)


def serve(requests: BinaryIO, answers: int) -> None:
    """Answer requests one after another, until there are no more or nobody takes the answers."""
    server = _Server(answers)
    try:
        server.send({"ready": True})
        while (request := read_frame(requests)) is not None:
            server.answer(request)
    except BrokenPipeError:
        return


class _Server:
    """The pipe to the parent, and what is kept between calls."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self._tools = ToolLoader()
        self._local = LocalExecutor()

    def send(self, message: dict[str, Any]) -> None:
        """Send the parent a message of our own."""
        write_frame(self._answers, frame_of(message))

    def tell(self, work: WorkerWork, message: dict[str, Any]) -> None:
        """Send the parent what a tool says, from any of its threads, as long as its call lasts."""
        frame = frame_of(message)
        with self._lock:
            if not work.has_ended:
                write_frame(self._answers, frame)

    def answer(self, request: dict[str, Any]) -> None:
        """Run the tool that the request asks for, and send what came of it."""
        message = self._outcome(request)
        left = {"left": True} if has_children() else {}
        try:
            self.send(message | left)
        except FrameTooLarge:
            error = OutputTooLarge(f"The tool gave more than {MAX_FRAME:,} bytes.", hint="Ask for a part of it.")
            self.send({"raised": describe(error)} | left)

    def _outcome(self, request: dict[str, Any]) -> dict[str, Any]:
        generation, work = forks.generation, None
        try:
            tool = self._tools.load(request["target"])
            work = WorkerWork(tool, request, tell=self.tell)
            return _message_of(self._run(work), tool.id)
        except HandlerRaised as failure:
            return {"raised": describe(failure.raised)}
        except BaseException as raised:  # noqa: BLE001  # SystemExit too: it is the tool's, not ours
            return {"raised": describe(raised)}
        finally:
            if forks.generation != generation:
                forks.end_copy()
            if work is not None:
                with self._lock:
                    work.has_ended = True

    def _run(self, work: WorkerWork) -> object:
        tool = work.tool
        if tool.is_async or tool.streams:
            return asyncio.run(awaited(self._local.run(work)))
        # Without a loop, because to make one costs more than the rest of a call.
        context = work.context() if tool.binding.context_parameters else None
        value = tool.binding.call(work.keywords, context)
        return asyncio.run(awaited(value)) if inspect.isawaitable(value) else value


def _message_of(value: object, tool: str) -> dict[str, Any]:
    if not isinstance(value, ToolOutput):
        return {"value": json_value(value, tool=tool, limits=FRAME_LIMITS)}
    content = json_value(list(value.content), tool=tool, limits=FRAME_LIMITS)
    return _message_of(value.value, tool) | {"content": content}
