"""The one task that a server's connection lives in: it starts it, waits for its end, and starts it again."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from toolcrib_core import ToolError
from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams.breaker import Circuit, CircuitBreaker
from toolcrib_mcp.upstreams.eras import DISCOVER, Era
from toolcrib_mcp.upstreams.failing import closed, could_not_start, ended, not_ready, resting
from toolcrib_mcp.upstreams.links import SESSION_LOST, Dialling, Link, last_words, open_link, stop
from toolcrib_mcp.upstreams.settings import UpstreamSettings
from toolcrib_mcp.upstreams.states import Phase
from toolcrib_mcp.upstreams.waiting import Waiters

Attend = Callable[[Link], Coroutine[Any, Any, None]]
"""Works beside a link that is up, until it is cancelled because the link is over."""


class Host:
    """Keeps at most one link to a server, for whoever needs it.

    Everything that belongs to the link is entered and left in the host's own task. Callers only wait for it, and for
    answers; its end fails what they wait for and cancels none of them.
    """

    def __init__(
        self, name: str, dialling: Dialling, *, settings: UpstreamSettings, attend: Attend, random: Random | None = None
    ) -> None:
        self.link: Link | None = None
        self.phase = Phase.RESTING
        self.starts = 0
        self.failures = 0
        self.last_failure: UpstreamUnavailable | None = None
        self.last_failure_at: float | None = None
        self.breaker = CircuitBreaker(settings.restarts, clock=dialling.clock, random=random)
        self._name = name
        self._dialling = dialling
        self._clock = dialling.clock
        self._settings = settings
        self._attend = attend
        self._waiters: Waiters[Link] = Waiters(clock=dialling.clock)
        self._news = asyncio.Event()
        self._again = False
        self._closing = False
        self._era = settings.era
        self._task: asyncio.Task[None] | None = None

    async def link_by(self, deadline: float) -> Link:
        """The link, started if need be.

        A start that is due later than the deadline, or not at all for now, is not waited for.

        Raises:
            UpstreamUnavailable: There is none, and `details["sent"]` is false.
        """
        if self._closing:
            raise closed(self._name)
        if self.link is not None:
            return self.link
        wait = self.breaker.wait
        if self.breaker.circuit is Circuit.OPEN or (wait and self._clock.monotonic() + wait > deadline):
            raise self._resting()
        self._wake()
        seconds = max(0.0, deadline - self._clock.monotonic())
        return await self._waiters.wait(deadline, too_late=lambda: self._not_ready(seconds))

    def expect(self, era: Era) -> None:
        """Speak this era at the next start without probing first; a server that no longer does is probed then."""
        self._era = self._era or era

    def reconfigure(self, settings: UpstreamSettings) -> None:
        """Keep the server by other settings from now on; a link that is up stays up."""
        self._settings = settings
        self.breaker.reconfigure(settings.restarts)

    def leave(self, link: Link) -> None:
        """Take a link out of use, also one that was found dead before the host has noticed."""
        if self.link is link:
            self.link = None

    def answered(self, link: Link) -> None:
        """Note that the server has done what it is there for."""
        link.answers += 1
        self.breaker.succeeded()

    async def aclose(self) -> None:
        """End the link and the task, for good; requests under way fail."""
        first, self._closing = not self._closing, True
        if self._task is not None:
            if first:
                self._task.cancel()
            await asyncio.wait([self._task])
        self.phase = Phase.CLOSED
        self._waiters.fail(closed(self._name))

    def _wake(self) -> None:
        if self._task is None:
            # An empty context: the task outlives the call that happens to start it.
            work = self._run()
            self._task = asyncio.create_task(work, name=f"upstream {self._name}", context=contextvars.Context())
        # The host looks who waits when it wakes, and by then the caller does.
        self._news.set()

    async def _run(self) -> None:
        while True:
            await self._until_due()
            self.phase = Phase.STARTING
            await self._live()

    async def _until_due(self) -> None:
        """Wait until the server is needed, and may be started."""
        while True:
            wait = self.breaker.wait
            self.phase = Phase.WAITING if wait else Phase.RESTING
            if not self._waiters and not self._again:
                self._news.clear()
                await self._news.wait()
            elif wait:
                await self._clock.sleep(wait)
            else:
                return

    async def _live(self) -> None:
        """One life: start the server, serve until it ends, and settle what that means."""
        self._again = False
        try:
            await self._serve_or_shake_hands()
        except Exception as failure:  # noqa: BLE001  # the edge of the task: nothing may leave callers waiting
            self._fail(self._could_not_start(failure))

    async def _serve_or_shake_hands(self) -> None:
        """Serve; a server that dies of the probe is one of the handshake era, and gets a second chance as such."""
        try:
            await self._serve()
        except UpstreamUnavailable as failure:
            if self._era is not None or failure.details.get("method") != DISCOVER:
                raise
        else:
            return
        self._era = Era.HANDSHAKE
        try:
            await self._serve()
        except ToolError:
            self._era = None
            raise

    async def _serve(self) -> None:
        deadline = self._clock.monotonic() + self._settings.start_timeout
        async with open_link(self._dialling, deadline=deadline, era=self._era) as link:
            self._begin(link)
            attending = asyncio.create_task(self._attend(link))
            try:
                await link.over.wait()
            finally:
                self.leave(link)
                self.phase = Phase.WAITING
                await stop(attending, scrubber=self._dialling.scrubber)
            if not link.retired:
                await self._settle(link)

    def _begin(self, link: Link) -> None:
        self.link = link
        self.phase = Phase.SERVING
        self.starts += 1
        self._era = link.session.agreement.era
        self._waiters.release(link)

    async def _settle(self, link: Link) -> None:
        """Decide what the end of a link means that nobody asked for."""
        restarts = self._settings.restarts
        if self._clock.monotonic() - link.since >= restarts.window:
            self.breaker.succeeded()
        failure = link.failure
        if failure is None:
            end = await last_words(link.wire)
            if self._is_in_order(link, end):
                self._again = restarts.when == "always"
                return
            failure = ended(self._name, end)
        self._note(failure)
        self._again = restarts.when != "never"
        if self.breaker.circuit is Circuit.OPEN:
            self._waiters.fail(self._resting())

    def _is_in_order(self, link: Link, end: WireClosed) -> bool:
        """Whether a server may end like this: nobody lost a call by it, and it is not all that the server does."""
        if link.lost:
            return False
        if end.reason == SESSION_LOST:
            return self._clock.monotonic() - link.since >= self._settings.restarts.first_delay
        return end.status == 0 and link.answers > 0

    def _fail(self, failure: UpstreamUnavailable) -> None:
        """Settle a start that failed: all who wait for it are told."""
        self._note(failure)
        # What will fail in the same way again is tried again only for a caller who needs it.
        self._again = self._settings.restarts.when != "never" and failure.retryable
        self._waiters.fail(failure)

    def _note(self, failure: UpstreamUnavailable) -> None:
        self.failures += 1
        self.last_failure = failure
        self.last_failure_at = self._clock.wall()
        self.breaker.failed(wait=_asked_for(failure))

    def _resting(self) -> UpstreamUnavailable:
        return resting(self._name, wait=self.breaker.wait, failure=self.last_failure or self._not_ready())

    def _not_ready(self, seconds: float | None = None) -> UpstreamUnavailable:
        return not_ready(self._name, seconds=seconds, start_timeout=self._settings.start_timeout)

    def _could_not_start(self, failure: Exception) -> UpstreamUnavailable:
        scrubber, seconds = self._dialling.scrubber, self._settings.start_timeout
        return could_not_start(self._name, failure, scrubber=scrubber, start_timeout=seconds)


def _asked_for(failure: UpstreamUnavailable) -> float:
    """The seconds that the server itself wants to be left alone."""
    seconds = failure.details.get("retryAfter")
    return float(seconds) if isinstance(seconds, int | float) else 0.0
