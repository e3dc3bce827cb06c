"""One life of a connection: opened, spoken on and closed in one task, so that its end can cancel nobody else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from toolcrib_core import ToolError
from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.rpc import Connection, OnNotification, OnRequest, Wire, WireClosed
from toolcrib_mcp.upstreams.eras import ClientFace, Era
from toolcrib_mcp.upstreams.session import Session, open_session
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import Clock
from toolcrib_runtime.errors import DeadlineExceeded
from toolcrib_runtime.guards.secrets import Scrubber, scrub_exception

Connect = Callable[[], Awaitable[Wire]]
"""Opens a new wire to the server; whatever it started before it failed or was cancelled, it also ended."""

SESSION_LOST: Final = "session-lost"
"""The reason of a wire's end that a server does not know the session any more; it never looked at what it refused."""

# A closed wire has its last words ready. This is for one that does not keep its promise.
_PATIENCE: Final = 1.0
_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class Dialling:
    """All that is needed to open one link."""

    connect: Connect
    face: ClientFace
    clock: Clock
    scrubber: Scrubber
    on_request: OnRequest
    on_notification: OnNotification


class Link:
    """A session that is up, with what it runs on; `over` is set as soon as it is not.

    `under_way`, `answers` and `lost` count the calls that wait, that were answered, and that were sent in vain.
    """

    def __init__(self, wire: Wire, connection: Connection, session: Session, *, since: float) -> None:
        self.wire = wire
        self.connection = connection
        self.session = session
        self.since = since
        self.under_way = 0
        self.answers = 0
        self.lost = 0
        self.retired = False
        self.failure: UpstreamUnavailable | None = None
        self.over = asyncio.Event()

    def retire(self) -> None:
        """End it because nobody needs it."""
        self.retired = True
        self.over.set()

    def fail(self, failure: UpstreamUnavailable | None) -> None:
        """End it because it carries nothing any more; without a failure, the wire itself knows why."""
        self.failure = self.failure or failure
        self.over.set()


@asynccontextmanager
async def open_link(dialling: Dialling, *, deadline: float, era: Era | None = None) -> AsyncIterator[Link]:
    """Open a wire and a session on it, and close both at the end, in the same task.

    Raises:
        ToolError: The server could not be reached, or no session begun; `details["stderr"]` has its last words.
        WireClosed: As above, from the wire itself.
    """
    scope = CallScope(clock=dialling.clock, deadline=deadline, cancellation=None)
    seconds = max(0.0, deadline - dialling.clock.monotonic())
    try:
        wire = await scope.run(_connected(dialling.connect))
    except DeadlineExceeded:
        raise UpstreamUnavailable(
            f"The server could not be reached within {seconds:.3g} s (`startTimeout` of its entry).",
            hint="Try again later, or raise the limit.",
        ) from None
    try:
        async with _running(wire, dialling) as (connection, reading):
            session = await open_session(
                connection, face=dialling.face, deadline=deadline, era=era, clock=dialling.clock
            )
            link = Link(wire, connection, session, since=dialling.clock.monotonic())
            reading.add_done_callback(lambda _: link.over.set())
            yield link
    except ToolError as failure:
        if "stderr" not in failure.details:
            await wire.aclose()
            if stderr := (await last_words(wire)).stderr:
                failure.details = {**failure.details, "stderr": stderr}
        raise
    finally:
        await wire.aclose()


async def last_words(wire: Wire) -> WireClosed:
    """Why a wire that has nothing more to say has ended."""
    try:
        async with asyncio.timeout(_PATIENCE):
            while True:
                await wire.receive()
    except WireClosed as end:
        return end
    except TimeoutError:
        return WireClosed("It was closed.")


async def stop(task: asyncio.Task[None], *, scrubber: Scrubber) -> None:
    """Cancel a task of ours and wait for its end; what it failed with, if it did, is logged."""
    task.cancel()
    await asyncio.wait([task])
    failure = None if task.cancelled() else task.exception()
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    if failure is not None:
        _logger.error("a task of an upstream failed: %s", scrub_exception(failure, scrubber))


async def _connected(connect: Connect) -> Wire:
    return await connect()


@asynccontextmanager
async def _running(wire: Wire, dialling: Dialling) -> AsyncIterator[tuple[Connection, asyncio.Task[None]]]:
    connection = Connection(
        wire,
        clock=dialling.clock,
        on_request=dialling.on_request,
        on_notification=dialling.on_notification,
        scrubber=dialling.scrubber,
    )
    # Not a task group: it would wrap what the body raises into an exception group.
    reading = asyncio.create_task(connection.run())
    try:
        yield connection, reading
    finally:
        await stop(reading, scrubber=dialling.scrubber)
