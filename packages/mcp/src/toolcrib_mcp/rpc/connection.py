"""Many requests at once over one wire, each with a deadline of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamError, UpstreamTimeout
from toolcrib_mcp.rpc.calls import Call, Calls, OnProgress, unavailable
from toolcrib_mcp.rpc.incoming import Incoming, OnNotification, OnRequest
from toolcrib_mcp.rpc.messages import is_message, notification_message, params_of, request_message
from toolcrib_mcp.rpc.stats import ConnectionStats
from toolcrib_mcp.rpc.wire import Unreadable, Wire, WireClosed
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import DeadlineExceeded
from toolcrib_runtime.guards.secrets import Scrubber

NOTIFY_TIMEOUT: Final = 10.0
"""How long a notification may wait for a server that does not read."""

MAX_POSTED: Final = 256
"""How many answers and notices of ours wait for a server that does not read; more are dropped."""

# For listeners that are told the last words of a server that has ended.
_PATIENCE = 1.0


class Connection:
    """Speaks JSON-RPC with one server: `run` it in a task, and ask from any number of others.

    Ids are integers from 1. An answer belongs to the request with its id and to no other; what cannot be read fails the
    request it belongs to at once. The wire stays the caller's, who closes it.
    """

    def __init__(
        self,
        wire: Wire,
        *,
        clock: Clock = SYSTEM_CLOCK,
        on_request: OnRequest | None = None,
        on_notification: OnNotification | None = None,
        scrubber: Scrubber | None = None,
    ) -> None:
        self.stats = ConnectionStats()
        self._wire = wire
        self._clock = clock
        self._calls = Calls(stats=self.stats, scrubber=scrubber or Scrubber())
        self._posted: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_POSTED)
        self._incoming = Incoming(
            on_request=on_request,
            on_notification=on_notification,
            send=wire.send,
            post=self._post,
            stats=self.stats,
        )

    async def run(self) -> None:
        """Read until the wire closes; every request that waits then fails, and so does every later one.

        Being cancelled ends the connection in the same way.
        """
        end = WireClosed("The connection was closed.")
        try:
            async with asyncio.TaskGroup() as group:
                background = [group.create_task(self._send_posted()), group.create_task(self._incoming.deliver())]
                try:
                    end = await self._read(group)
                    self._calls.close(end)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_PATIENCE):
                            await self._incoming.until_delivered()
                finally:
                    self._incoming.stop()
                    for task in background:
                        task.cancel()
        finally:
            self._calls.close(end)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None,  # noqa: ASYNC109  # by the connection's clock, and the server is told
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Ask the server, and give the `result` of its answer as it came.

        With `on_progress` the request carries a progress token of ours. Progress is reported from within this call, in
        order and before it returns; a slow listener misses some, and keeps nobody else waiting. A token in `params` is
        not sent. When time is over or the caller is cancelled, the server is told, and a late answer is dropped.

        Raises:
            UpstreamFailed: The server answered with an error, which is kept as it came.
            UpstreamTimeout: It did not answer in time.
            UpstreamUnavailable: The connection has ended, or ended before the answer.
            UpstreamMalformed: Its answer cannot be used.
            ResultTooLarge: Its answer is larger than is taken.
            TypeError: The params are not JSON.
        """
        call = self._calls.open(method, on_progress)
        message = request_message(call.id, method, _with_token(params, call.id if on_progress else None))
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        scope = CallScope(clock=self._clock, deadline=deadline, cancellation=None)
        try:
            outcome = await scope.run(self._exchange(call, message))
        except DeadlineExceeded:
            # An answer that is there is not lost to a listener that takes its time.
            if not call.has_ended:
                raise self._too_late(call, timeout or 0.0) from None
            outcome = call.outcome.result()
        finally:
            self._give_up(call)
        if isinstance(outcome, UpstreamError):
            raise outcome
        return outcome

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = NOTIFY_TIMEOUT,  # noqa: ASYNC109  # by the connection's clock
    ) -> None:
        """Tell the server something, after all that was sent before.

        Raises:
            UpstreamUnavailable: The connection has ended.
            UpstreamTimeout: The server does not read.
            TypeError: The params are not JSON.
        """
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        scope = CallScope(clock=self._clock, deadline=deadline, cancellation=None)
        try:
            await scope.run(self._wire.send(notification_message(method, params)))
        except WireClosed as end:
            raise unavailable(method, end, sent=False) from None
        except DeadlineExceeded:
            raise _not_taken(method, timeout or 0.0) from None

    async def _exchange(self, call: Call, message: dict[str, Any]) -> dict[str, Any] | UpstreamError:
        call.sent = None
        try:
            await self._wire.send(message)
        except WireClosed as end:
            call.sent = False
            return unavailable(call.method, end, sent=False)
        except TypeError:
            call.sent = False
            raise
        call.sent = True
        return await call.wait()

    def _give_up(self, call: Call) -> None:
        waited = self._calls.give_up(call)
        # The specification forbids to cancel `initialize`.
        if waited and call.sent is not False and call.method != "initialize":
            self._post(notification_message("notifications/cancelled", {"requestId": call.id}))

    async def _read(self, group: asyncio.TaskGroup) -> WireClosed:
        while True:
            try:
                message = await self._wire.receive()
            except WireClosed as end:
                return end
            if isinstance(message, Unreadable):
                self._calls.take_unreadable(message)
            elif is_message(message):
                self._take(message, group)
            else:
                self.stats.not_messages += 1

    def _take(self, message: dict[str, Any], group: asyncio.TaskGroup) -> None:
        method = message.get("method")
        if method is None:
            self._calls.take_answer(message)
        elif not isinstance(method, str):
            self.stats.not_messages += 1
        elif "id" in message:
            self._incoming.take_request(message, group)
        elif method == "notifications/progress":
            self._calls.take_progress(params_of(message))
        else:
            self._incoming.take_notification(message)

    def _post(self, message: dict[str, Any]) -> None:
        """Have it sent by `run`: neither the reading nor a caller whose time is over may wait for the server."""
        try:
            self._posted.put_nowait(message)
        except asyncio.QueueFull:
            self.stats.dropped_sends += 1

    async def _send_posted(self) -> None:
        while True:
            message = await self._posted.get()
            with suppress(WireClosed):
                await self._wire.send(message)

    def _too_late(self, call: Call, seconds: float) -> UpstreamTimeout:
        if not call.sent:
            return _not_taken(call.method, seconds)
        details: dict[str, object] = {"method": call.method, "seconds": seconds, "sent": True}
        noise = self._wire.noise
        if noise.excerpt:
            details["noise"] = {"lines": noise.lines, "excerpt": noise.excerpt}
        return UpstreamTimeout(
            f"The server did not answer {quoted(call.method)} within {round(seconds, 3):g} s.",
            hint="Ask for less at once, or raise the limit. Whether the call took effect is not known.",
            details=details,
        )


def _not_taken(method: str, seconds: float) -> UpstreamTimeout:
    return UpstreamTimeout(
        f"The server did not take {quoted(method)} within {round(seconds, 3):g} s: it does not read what it is sent.",
        hint="Try again later, or start the server again.",
        details={"method": method, "seconds": seconds, "sent": None},
    )


def _with_token(params: Mapping[str, Any] | None, token: int | None) -> Mapping[str, Any] | None:
    """The params with our progress token in place of any other, which might be the id of another request."""
    meta = (params or {}).get("_meta", {})
    if not isinstance(meta, Mapping) or (token is None and "progressToken" not in meta):
        return params
    others = {key: value for key, value in meta.items() if key != "progressToken"}
    return {**(params or {}), "_meta": others if token is None else {**others, "progressToken": token}}
