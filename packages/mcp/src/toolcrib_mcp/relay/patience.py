"""How long a call may take when its server may ask the client: the time in which a person answers does not count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamTimeout
from toolcrib_mcp.upstreams.failing import CALL_LIMIT
from toolcrib_runtime.clock import Clock, Timer

ANSWER_WITHIN: Final = 600.0
"""Seconds that a client has for its answers to the questions of one call."""

_T = TypeVar("_T")


class Patience:
    """So many seconds for one call, which stand still while the client is asked."""

    def __init__(self, seconds: float, *, clock: Clock) -> None:
        self.seconds = seconds
        self._clock = clock
        self._left = seconds
        self._since: float | None = None
        self._timer: Timer | None = None
        self._open = 0
        self._over = False
        self._cancel: Callable[[], object] | None = None

    async def run(self, call: Coroutine[Any, Any, _T], *, method: str, server: str) -> _T:
        """The outcome of the call.

        Raises:
            UpstreamTimeout: Time was over; the call was cancelled.
        """
        task = asyncio.create_task(call)
        self._cancel = task.cancel
        self._go_on()
        try:
            return await task
        except asyncio.CancelledError:
            # Whoever waits here may have been cancelled as well, and must not miss it.
            current = asyncio.current_task()
            if not self._over or (current is not None and current.cancelling()):
                raise
            raise _too_late(method, server, self.seconds) from None
        finally:
            self._stand()
            self._cancel = None

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """A question is open."""
        self._stand()
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._go_on()

    def _go_on(self) -> None:
        if self._cancel is not None and not self._open:
            self._since = self._clock.monotonic()
            cancel = self._cancel
            self._timer = self._clock.call_at(self._since + self._left, lambda: self._end(cancel))

    def _stand(self) -> None:
        if self._timer is not None and self._since is not None:
            self._timer.cancel()
            self._left -= self._clock.monotonic() - self._since
            self._timer = self._since = None

    def _end(self, cancel: Callable[[], object]) -> None:
        self._over = True
        cancel()


def _too_late(method: str, server: str, seconds: float) -> UpstreamTimeout:
    return UpstreamTimeout(
        f"The server {quoted(server)} did not answer {quoted(method)} within {seconds:g} s ({CALL_LIMIT}), "
        "not counting the time for what it asked.",
        hint="Ask for less at once, or raise the limit. Whether the call took effect is not known.",
        details={"method": method, "seconds": seconds, "sent": True, "upstream": server},
    )
