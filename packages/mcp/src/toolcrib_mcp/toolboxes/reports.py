"""What a running tool tells before it ends, passed on to the client: progress that it asked for, and log messages."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeGuard

from toolcrib_mcp.front.conversation import LOG_LEVELS, wants_log_message
from toolcrib_mcp.front.feed import LOG_MESSAGE
from toolcrib_mcp.front.service import PROGRESS, Request
from toolcrib_mcp.rpc.calls import MAX_PROGRESS
from toolcrib_runtime.events import EventListener, ToolEvent

_OTHER_WORDS: Final = {"warn": "warning", "fatal": "critical"}
_OTHERWISE: Final = "info"
_logger = logging.getLogger("toolcrib.mcp")


@asynccontextmanager
async def relayed_reports(request: Request, *, logs: bool) -> AsyncIterator[EventListener | None]:
    """A listener for the events of a call, if the client wants to know how far it is, or with `logs` what it logs.

    What was reported has been told when this ends; unless it ends by an exception, since nobody waits any more then.
    """
    if request.on_progress is None and not logs:
        yield None
        return
    relay = _Relay(request, logs=logs)
    try:
        yield relay.hear
        await relay.flush()
    finally:
        await relay.stop()


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value from elsewhere is a number that JSON and arithmetic can carry."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


class _Relay:
    """Reports between a tool and a client: in order, progress as it grows, and the oldest dropped for a slow client."""

    def __init__(self, request: Request, *, logs: bool) -> None:
        self._request = request
        self._logs = logs
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque(maxlen=MAX_PROGRESS)
        self._done = -math.inf
        self._telling: asyncio.Task[None] | None = None

    def hear(self, event: ToolEvent) -> None:
        match event.kind:
            case "progress" if self._request.on_progress is not None:
                self._hear_progress(event.data)
            case "log" if self._logs:
                self._hear_log(event)

    async def flush(self) -> None:
        if self._telling is not None:
            await asyncio.wait([self._telling])

    async def stop(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait([self._telling])

    def _hear_progress(self, data: Mapping[str, object]) -> None:
        done, total, message = (data.get(key) for key in ("done", "total", "message"))
        # The protocol wants it to grow; a second try, and the next step of a composed tool, begin anew.
        if not is_number(done) or done <= self._done:
            return
        self._done = done
        told: dict[str, Any] = {"progress": done}
        if is_number(total):
            told["total"] = total
        if message is not None:
            told["message"] = str(message)
        self._pass_on(PROGRESS, told)

    def _hear_log(self, event: ToolEvent) -> None:
        word = str(event.data.get("level")).lower()
        level = _OTHER_WORDS.get(word, word if word in LOG_LEVELS else _OTHERWISE)
        if not wants_log_message(self._request.caller, level):
            return
        message, data = str(event.data.get("message")), event.data.get("data")
        told = {"message": message, "data": data} if data else message
        self._pass_on(LOG_MESSAGE, {"level": level, "logger": event.tool_id, "data": told})

    def _pass_on(self, method: str, params: dict[str, Any]) -> None:
        self._waiting.append((method, params))
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        on_progress = self._request.on_progress
        try:
            while self._waiting:
                method, params = self._waiting.popleft()
                if method == PROGRESS and on_progress is not None:
                    await on_progress(params)
                else:
                    await self._request.channel.notify(method, params)
        except Exception:
            # The result is worth more than the reports about it.
            _logger.exception("reports of a tool could not be told to the client")
