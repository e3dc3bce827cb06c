"""A wire to a server behind a URL: streamable HTTP, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Final

from toolcrib_mcp.rpc import MAX_LINE, Unreadable, WireClosed, WireNoise
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_mcp.upstreams.http_conversation import Conversation
from toolcrib_mcp.upstreams.http_endpoint import Endpoint
from toolcrib_mcp.upstreams.http_headers import RequestHeaders
from toolcrib_mcp.upstreams.http_inbox import HttpCall, Inbox
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.guards.net import NetGrant, Resolver
from toolcrib_runtime.guards.net.transport import MAX_CONNECTIONS
from toolcrib_runtime.guards.secrets import Scrubber, Secret

# The other connections are for answers and notices of ours: calls that wait for them must not keep them out.
_MAX_CALLS: Final = MAX_CONNECTIONS - 8


class HttpWire:
    """Messages to and from one URL; get one from `open_http_wire`.

    Every request is an exchange of its own: in place of an answer that cannot come there is an `Unreadable`, at once,
    and the others go on. Only a lost session ends the wire, with `SessionLost`.
    """

    def __init__(
        self, endpoint: Endpoint, *, headers: RequestHeaders, max_message: int, scrubber: Scrubber, clock: Clock
    ) -> None:
        self._endpoint = endpoint
        self._headers = headers
        self._inbox = Inbox(max_message=max_message, scrubber=scrubber)
        self._conversation = Conversation(
            endpoint, headers=headers, inbox=self._inbox, max_message=max_message, clock=clock
        )
        self._slots = asyncio.Semaphore(_MAX_CALLS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls: dict[object, tuple[HttpCall, asyncio.Task[None]]] = {}

    @property
    def noise(self) -> WireNoise:
        """What has come so far that was no message."""
        return self._inbox.noise

    async def send(self, message: Mapping[str, Any]) -> None:
        """Begin to send a message; only `notifications/initialized` is waited for, since all others come after it.

        How many requests are under way is up to the callers: each of them waits for one, or gives it up.

        Raises:
            WireClosed: The session is lost, or the wire was closed.
            TypeError: The message is not JSON.
        """
        if self._inbox.end is not None:
            raise self._inbox.end
        content = encode_message(message)
        if "method" in message and "id" in message:
            self._start_call(message, content)
        elif not self._breaks_off(message):
            telling = self._start(self._conversation.tell(self._headers.of(message), content))
            if message.get("method") == "notifications/initialized":
                await asyncio.wait([telling])
                self._start_listening()

    async def receive(self) -> dict[str, Any] | Unreadable:
        """The next message, or what came in place of one.

        Raises:
            WireClosed: The session is lost, or the wire was closed.
        """
        return await self._inbox.take()

    async def aclose(self) -> None:
        """Break off what is under way, end the session, and close every connection; a second time does nothing."""
        had_ended, self._inbox.end = self._inbox.end is not None, self._inbox.end or WireClosed("The wire was closed.")
        try:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if not had_ended:
                await self._conversation.end_session()
        finally:
            self._inbox.close()
            await self._endpoint.aclose()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _start_call(self, message: Mapping[str, Any], content: bytes) -> None:
        headers = self._headers.of(message)
        call = HttpCall(
            id=message["id"], method=message["method"], headers=headers, content=content, modern=self._headers.modern
        )
        task = self._start(self._carry(call))
        self._calls[call.id] = call, task
        task.add_done_callback(lambda _: self._calls.pop(call.id, None))

    async def _carry(self, call: HttpCall) -> None:
        async with self._slots:
            await self._conversation.call(call)

    def _breaks_off(self, message: Mapping[str, Any]) -> bool:
        """Break off the request that a notice of ours gives up; whether that says all there is to say."""
        if message.get("method") != "notifications/cancelled":
            return False
        under_way = self._calls.get(message["params"]["requestId"])
        if under_way is None:
            return self._headers.modern
        call, task = under_way
        task.cancel()
        # In the modern era, the end of the exchange is the notice.
        return call.modern

    def _start_listening(self) -> None:
        if self._headers.session is not None and self._inbox.end is None:
            self._start(self._conversation.listen())


async def open_http_wire(
    url: str,
    *,
    headers: Mapping[str, Secret],
    grant: NetGrant,
    tools: Iterable[Mapping[str, Any]] = (),
    max_message: int = MAX_LINE,
    resolver: Resolver | None = None,
    scrubber: Scrubber | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> HttpWire:
    """The wire to a server behind a URL, which must be closed; the server is first asked when something is sent.

    `headers` are sent to that server and to nobody else, and none of anybody else's are. `tools` are those that the
    server is known to have, as it listed them: a modern one wants some arguments of some tools in headers, too.

    Raises:
        InvalidUrl: The URL is not one that is ever requested, or its scheme or port are not granted.
        BlockedAddress: Its host is not granted.
        InvalidRequest: A configured header is not one that is sent.
        FileUnusable: The grant's `ca_file` cannot be used.
    """
    return HttpWire(
        Endpoint(url, headers=headers, grant=grant, resolver=resolver),
        headers=RequestHeaders(tools),
        max_message=max_message,
        scrubber=scrubber or Scrubber(headers.values()),
        clock=clock,
    )
