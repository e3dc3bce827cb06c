"""The progress that a running tool reports, passed on to the client that asked for it."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeGuard

from toolcrib_mcp.front.service import Request
from toolcrib_mcp.rpc import OnProgress
from toolcrib_mcp.rpc.calls import MAX_PROGRESS
from toolcrib_runtime.events import EventListener, ToolEvent

_logger = logging.getLogger("toolcrib.mcp")


@asynccontextmanager
async def relayed_progress(request: Request) -> AsyncIterator[EventListener | None]:
    """A listener for the events of a call, if the client wants to know how far it is.

    What was reported has been told when this ends; unless it ends by an exception, since nobody waits any more then.
    """
    pass_on = request.on_progress
    if pass_on is None:
        yield None
        return
    relay = _Relay(pass_on)
    try:
        yield relay.hear
        await relay.flush()
    finally:
        await relay.stop()


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value from elsewhere is a number that JSON and arithmetic can carry."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


class _Relay:
    """Reports between a tool and a client: in order, only as they grow, and the oldest dropped for a slow client."""

    def __init__(self, pass_on: OnProgress) -> None:
        self._pass_on = pass_on
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MAX_PROGRESS)
        self._done = -math.inf
        self._telling: asyncio.Task[None] | None = None

    def hear(self, event: ToolEvent) -> None:
        if event.kind != "progress":
            return
        done, total, message = (event.data.get(key) for key in ("done", "total", "message"))
        # The protocol wants it to grow; a second try, and the next step of a composed tool, begin anew.
        if not is_number(done) or done <= self._done:
            return
        self._done = done
        told: dict[str, Any] = {"progress": done}
        if is_number(total):
            told["total"] = total
        if message is not None:
            told["message"] = str(message)
        self._waiting.append(told)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())

    async def flush(self) -> None:
        if self._telling is not None:
            await asyncio.wait([self._telling])

    async def stop(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait([self._telling])

    async def _tell(self) -> None:
        try:
            while self._waiting:
                await self._pass_on(self._waiting.popleft())
        except Exception:
            # The result is worth more than the reports about it.
            _logger.exception("progress could not be told to the client")
