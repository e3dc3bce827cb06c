"""The requests of ours that wait for their answers, and how an answer finds its request."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ResultTooLarge, UpstreamError, UpstreamUnavailable
from toolcrib_mcp.rpc.backlog import Backlog
from toolcrib_mcp.rpc.messages import malformed, outcome_of, own_id
from toolcrib_mcp.rpc.stats import ConnectionStats
from toolcrib_mcp.rpc.wire import Unreadable, WireClosed
from toolcrib_runtime.guards.secrets import Scrubber

OnProgress = Callable[[dict[str, Any]], Awaitable[None]]
"""Is given the params of a progress notification, as they came."""

MAX_PROGRESS: Final = 64
"""How many reports of progress wait for a slow listener; the oldest are dropped for newer ones."""

MAX_PROGRESS_BYTES: Final = 256 * 1024
"""How large they may be together."""

MAX_REMEMBERED: Final = 1024
"""How many requests that were given up are remembered, to tell late answers from repeated ones."""


class Call:
    """One request that waits. `sent` is `None` when nobody knows.

    Its end is the value of `outcome` also where it is an error, so that one which nobody asks for any more is no
    complaint of asyncio.
    """

    __slots__ = ("id", "method", "outcome", "progress", "sent")

    def __init__(self, request_id: int, method: str, on_progress: OnProgress | None) -> None:
        self.id = request_id
        self.method = method
        self.sent: bool | None = False
        self.outcome: asyncio.Future[dict[str, Any] | UpstreamError] = asyncio.get_running_loop().create_future()
        self.progress = None if on_progress is None else _Progress(on_progress)

    @property
    def has_ended(self) -> bool:
        """Whether the answer, or the error in its place, is there."""
        return self.outcome.done() and not self.outcome.cancelled()

    async def wait(self) -> dict[str, Any] | UpstreamError:
        """Wait for the end; progress that came before it is reported before it, here and in order."""
        if self.progress is not None:
            await self.progress.report_until(self.outcome)
        return await self.outcome


class _Progress:
    """The reports about one request, between the server and a listener."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._reports = Backlog(max_items=MAX_PROGRESS, max_bytes=MAX_PROGRESS_BYTES)
        self._news = asyncio.Event()

    def add(self, params: dict[str, Any]) -> int:
        """Keep one for the listener, and give the number of older ones that are dropped for it."""
        self._news.set()
        return self._reports.replace_oldest("", params)

    async def report_until(self, end: asyncio.Future[Any]) -> None:
        end.add_done_callback(lambda _: self._news.set())
        while self._reports or not end.done():
            if self._reports:
                await self._on_progress(self._reports.popleft().params)
            else:
                self._news.clear()
                await self._news.wait()


class Calls:
    """All requests that wait, by their ids, which count from 1."""

    def __init__(self, *, stats: ConnectionStats, scrubber: Scrubber) -> None:
        self._waiting: dict[int, Call] = {}
        self._given_up: dict[int, None] = {}
        self._ids = itertools.count(1)
        self._last_id = 0
        self._end: WireClosed | None = None
        self._stats = stats
        self._scrubber = scrubber

    def open(self, method: str, on_progress: OnProgress | None) -> Call:
        """Begin to wait for the answer to a request that is about to be sent.

        Raises:
            UpstreamUnavailable: The connection has ended.
        """
        if self._end is not None:
            raise unavailable(method, self._end, sent=False)
        self._last_id = next(self._ids)
        call = Call(self._last_id, method, on_progress)
        self._waiting[call.id] = call
        return call

    def give_up(self, call: Call) -> bool:
        """Wait no longer, and say whether it waited: what comes for it from now on is late."""
        if self._waiting.pop(call.id, None) is None:
            return False
        self._given_up[call.id] = None
        if len(self._given_up) > MAX_REMEMBERED:
            del self._given_up[next(iter(self._given_up))]
        return True

    def take_answer(self, answer: Mapping[str, Any]) -> None:
        """Hand an answer to the request it belongs to; without one it is counted and dropped."""
        call = self._claim(answer.get("id")) or self._refused(answer)
        if call is not None:
            self._settle(call, outcome_of(answer, call.method, scrubber=self._scrubber))

    def take_unreadable(self, message: Unreadable) -> None:
        """Fail the request that something unreadable was to answer, as far as that can be told."""
        self._stats.unreadable += 1
        if message.is_answer:
            call = self._only_one() if message.id is None else self._claim(message.id)
            if call is not None:
                self._settle(call, message.error or _unusable(call.method, message))

    def take_progress(self, params: dict[str, Any]) -> None:
        """Keep progress for the request that has this token."""
        call = self._waiting.get(own_id(params.get("progressToken")) or 0)  # ids count from 1
        if call is None or call.progress is None:
            self._stats.stray_progress += 1
        else:
            self._stats.dropped_progress += call.progress.add(params)

    def close(self, end: WireClosed) -> None:
        """Fail all that wait, and all that come later."""
        self._end = self._end or end
        for call in list(self._waiting.values()):
            self._settle(call, unavailable(call.method, end, sent=call.sent))

    def _claim(self, given: object) -> Call | None:
        request_id = own_id(given) or 0
        call = self._waiting.get(request_id)
        if call is not None:
            self._stats.respelled_ids += type(given) is not int
        elif request_id in self._given_up:
            del self._given_up[request_id]
            self._stats.late_replies += 1
        elif 0 < request_id <= self._last_id:
            self._stats.duplicate_replies += 1
        else:
            self._stats.unknown_ids += 1
        return call

    def _refused(self, answer: Mapping[str, Any]) -> Call | None:
        # A server that could not read a request says so without an id.
        return self._only_one() if answer.get("id") is None and answer.get("error") is not None else None

    def _only_one(self) -> Call | None:
        return next(iter(self._waiting.values())) if len(self._waiting) == 1 else None

    def _settle(self, call: Call, outcome: dict[str, Any] | UpstreamError) -> None:
        del self._waiting[call.id]
        if not call.outcome.done():
            call.outcome.set_result(outcome)


def unavailable(method: str, end: WireClosed, *, sent: bool | None) -> UpstreamUnavailable:
    """What a request ends with that a closed wire cannot carry, or cannot carry the answer of."""
    what = "was not sent" if sent is False else "did not answer"
    details: dict[str, object] = {"method": method, "sent": sent}
    if end.status is not None:
        details["status"] = end.status
    if end.stderr:
        details["stderr"] = end.stderr
    return UpstreamUnavailable(
        f"The server is gone, and {what} {quoted(method)}: {end.reason}",
        hint="See what it wrote to standard error." if end.stderr else "Start it again.",
        details=details,
    )


def _unusable(method: str, message: Unreadable) -> UpstreamError:
    if message.limit is None:
        return malformed(method, message.reason, excerpt=message.excerpt)
    return ResultTooLarge(
        f"The answer of the server to {quoted(method)} is larger than is taken: {message.reason}.",
        hint="Ask for less at once.",
        details={"method": method, "limit": message.limit, "excerpt": message.excerpt},
    )
