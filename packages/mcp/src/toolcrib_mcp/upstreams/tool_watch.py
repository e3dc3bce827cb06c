"""The tools of one server, as last read: when a session begins, and whenever they may have changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from toolcrib_mcp.errors import ListingIncomplete, UpstreamError, UpstreamUnavailable
from toolcrib_mcp.upstreams.changes import CHANGED, Burst, honoured_by, listen, told_on_request
from toolcrib_mcp.upstreams.eras import ACKNOWLEDGED
from toolcrib_mcp.upstreams.failing import not_ready
from toolcrib_mcp.upstreams.listing import Listing, ListKind, list_all
from toolcrib_mcp.upstreams.session import Session
from toolcrib_mcp.upstreams.settings import UpstreamSettings
from toolcrib_mcp.upstreams.waiting import Waiters, twin
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import Clock, Timer
from toolcrib_runtime.errors import DeadlineExceeded

OnTools = Callable[[Listing], object]
"""Is given the tools of a server each time they have been read."""

OnChanged = Callable[[ListKind], object]
"""Is told that another list of a server may have changed."""

# A server that acknowledges late is read once more then; one that never does must not keep its tools from us.
_ACKNOWLEDGED_WITHIN: Final = 1.0
_FIRST_RETRY: Final = 1.0
_MAX_RETRY: Final = 60.0
_logger = logging.getLogger("toolcrib.mcp")


class ToolWatch:
    """Knows the tools of one server, also while it is not running.

    A list that cannot be read changes nothing: what was known stays known, and reading is tried again. One without an
    end is taken as far as it was read, and `problem` says so.
    """

    def __init__(
        self,
        name: str,
        *,
        settings: UpstreamSettings,
        clock: Clock,
        on_tools: OnTools | None = None,
        on_changed: OnChanged | None = None,
    ) -> None:
        self.known: Listing | None = None
        self.is_current = False
        """Whether `known` is what the running session lists, and not what an earlier one did."""
        self.problem: UpstreamError | None = None
        self._name = name
        self._settings = settings
        self._clock = clock
        self._on_tools = on_tools
        self._on_changed = on_changed
        self._waiters: Waiters[Listing] = Waiters(clock=clock)
        self._failure: UpstreamError | None = None
        self._burst = self._new_burst()
        self._acknowledged = asyncio.Event()
        self._is_read = False
        self._retry: Timer | None = None
        self._retry_delay = _FIRST_RETRY

    def reconfigure(self, settings: UpstreamSettings) -> None:
        """Read by other settings from the next time on."""
        self._settings = settings

    def learn(self, tools: Iterable[Any]) -> None:
        """Take tools from a manifest for known, unless the server itself has said more."""
        if self.known is None:
            self.known = Listing(kind=ListKind.TOOLS, items=tuple(tools), pages=0)

    def notice(self, method: str, params: Mapping[str, Any]) -> bool:
        """Take a notification in, if it is about lists; whether it is about nothing else."""
        if method in CHANGED:
            self._burst.add(CHANGED[method])
            return True
        if method != ACKNOWLEDGED:
            return False
        honoured = honoured_by(params)
        if "resourceSubscriptions" not in honoured:
            self._acknowledged.set()
            if self._is_read:
                self._burst.add(*CHANGED.values())
        # One that honours nothing does not tell which request it answers.
        return bool(honoured) and "resourceSubscriptions" not in honoured

    async def run(self, session: Session) -> None:
        """Read the tools now and after every change, until cancelled."""
        self._burst = self._new_burst()
        self._acknowledged.clear()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(session))
                if told_on_request(session.agreement):
                    await self._until_acknowledged()
                self._is_read = True
                await self._read(session)
                while True:
                    await self._deal_with(await self._burst.settled(), session)
        finally:
            self._end()

    async def tools_by(self, deadline: float) -> Listing:
        """The tools of the session that is running, or why they cannot be had.

        Raises:
            UpstreamError: They could not be read, or not by then.
        """
        return await self.current_by(deadline) if self.known is None else self.known

    async def current_by(self, deadline: float) -> Listing:
        """The tools as the running session lists them, and no earlier one.

        Raises:
            UpstreamError: They could not be read, or not by then.
        """
        if self.known is not None and self.is_current:
            return self.known
        if self._failure is not None:
            raise twin(self._failure)
        seconds = max(0.0, deadline - self._clock.monotonic())
        return await self._waiters.wait(deadline, too_late=lambda: self._not_ready(seconds))

    async def _listen(self, session: Session) -> None:
        await listen(session, clock=self._clock)
        self._acknowledged.set()  # refused, or not needed: there is nothing to wait for

    async def _until_acknowledged(self) -> None:
        deadline = self._clock.monotonic() + _ACKNOWLEDGED_WITHIN
        with suppress(DeadlineExceeded):
            await CallScope(clock=self._clock, deadline=deadline, cancellation=None).run(self._acknowledged.wait())

    async def _deal_with(self, kinds: set[ListKind], session: Session) -> None:
        if ListKind.TOOLS in kinds:
            await self._read(session)
        for kind in sorted(kinds - {ListKind.TOOLS}):
            _tell(self._on_changed, kind)

    async def _read(self, session: Session) -> None:
        try:
            listing = await self._listing(session)
        except UpstreamError as failure:
            self.problem = self._failure = failure
            self._waiters.fail(failure)
            self._read_again_later()
        else:
            self.known, self._failure, self._retry_delay = listing, None, _FIRST_RETRY
            self.is_current = True
            # First who keeps the catalogue, so that callers who waited find it up to date.
            _tell(self._on_tools, listing)
            self._waiters.release(listing)

    async def _listing(self, session: Session) -> Listing:
        deadline = self._clock.monotonic() + self._settings.list_timeout
        try:
            listing = await list_all(
                session, ListKind.TOOLS, deadline=deadline, caps=self._settings.caps, clock=self._clock
            )
        except ListingIncomplete as stopped:
            if stopped.failure is not None:
                raise
            # Reading again would end in the same place.
            self.problem = stopped
            return stopped.partial
        self.problem = None
        return listing

    def _read_again_later(self) -> None:
        when = self._clock.monotonic() + self._retry_delay
        self._retry = self._clock.call_at(when, lambda: self._burst.add(ListKind.TOOLS))
        self._retry_delay = min(2 * self._retry_delay, _MAX_RETRY)

    def _end(self) -> None:
        self._is_read = self.is_current = False
        self._failure = None
        if self._retry is not None:
            self._retry.cancel()
        self._waiters.fail(self._not_ready())

    def _not_ready(self, seconds: float | None = None) -> UpstreamUnavailable:
        return not_ready(self._name, seconds=seconds, start_timeout=self._settings.start_timeout)

    def _new_burst(self) -> Burst:
        return Burst(quiet=self._settings.settle, longest=self._settings.settle_within, clock=self._clock)


def _tell(listener: Callable[[Any], object] | None, news: Listing | ListKind) -> None:
    if listener is not None:
        try:
            listener(news)
        except Exception:
            # Somebody else's code: its fault must not end the session.
            _logger.exception("a listener failed to take news of an upstream")
