"""One server behind the gateway: started when needed, started again when it ends, and asked within deadlines."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from toolcrib_mcp.errors import UpstreamError, UpstreamFailed, UpstreamTimeout, UpstreamUnavailable
from toolcrib_mcp.rpc import OnNotification, OnProgress, OnRequest, Wire
from toolcrib_mcp.upstreams.eras import Agreement, ClientFace
from toolcrib_mcp.upstreams.failing import CALL_LIMIT, closed, not_listed
from toolcrib_mcp.upstreams.hosting import Host
from toolcrib_mcp.upstreams.links import SESSION_LOST, Connect, Dialling, Link
from toolcrib_mcp.upstreams.listing import Listing, ListKind, list_all
from toolcrib_mcp.upstreams.relaying import only_granted
from toolcrib_mcp.upstreams.reporting import health_of, noise_of
from toolcrib_mcp.upstreams.session import Session
from toolcrib_mcp.upstreams.settings import UpstreamSettings
from toolcrib_mcp.upstreams.states import UpstreamHealth, UpstreamState
from toolcrib_mcp.upstreams.tool_watch import OnChanged, OnTools, ToolWatch
from toolcrib_mcp.upstreams.usage import Usage
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.guards.secrets import Scrubber

# What was not sent is sent to the next life of the server, which may end before it gets there.
_MAX_TRIES: Final = 3
_CALL: Final = "tools/call"
_DEFAULTS: Final = UpstreamSettings()
_FACE: Final = ClientFace()
_T = TypeVar("_T")
_logger = logging.getLogger("toolcrib.mcp")


@dataclass(frozen=True, kw_only=True)
class UpstreamHooks:
    """Who is told what a server does of its own accord.

    `on_request` is asked only for what the `ClientFace` announces; every other request of a server is refused.
    """

    on_tools: OnTools | None = None
    on_changed: OnChanged | None = None
    attend: Callable[[Session], Awaitable[None]] | None = None
    """Works beside every session of the server, and is cancelled with it."""
    on_notification: OnNotification | None = None
    on_request: OnRequest | None = None
    on_dialled: Callable[[], object] | None = None
    """Is told after every try to reach the server, with or without success: its process runs, if it is to."""
    is_needed: Callable[[], bool] | None = None
    """Says whether the server must stay up although no call is in flight, as for a subscription."""
    confirm: Callable[[Mapping[str, Any]], Awaitable[None]] | None = None
    """Checks the params of a `tools/call` that was decided on tools of an earlier session, before it is sent.

    It is called after the new session's tools were read, and raises what the caller gets instead of an answer.
    """


class Upstream:
    """A server that can be asked as if it were always there.

    Nothing is started before it is needed. Close it, or use it as a context manager: then nothing of it is left.
    `address` is what reports name; `scrubber` takes the server's secrets out of them.
    """

    def __init__(
        self,
        name: str,
        connect: Connect,
        *,
        settings: UpstreamSettings = _DEFAULTS,
        face: ClientFace = _FACE,
        hooks: UpstreamHooks | None = None,
        address: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
        random: Random | None = None,
        scrubber: Scrubber | None = None,
    ) -> None:
        self.name = name
        self._hooks = hooks or UpstreamHooks()
        self._settings = settings
        self._address = address
        self._clock = clock
        self._scrubber = scrubber or Scrubber()
        self._closing = False
        self._noise: Counter[str] = Counter()
        self._known_agreement: Agreement | None = None
        self._idle_for: float | None = None
        self._usage = Usage(clock=clock, idle_after=settings.idle_after, on_idle=self._retire)
        self._watch = ToolWatch(
            name, settings=settings, clock=clock, on_tools=self._hooks.on_tools, on_changed=self._hooks.on_changed
        )
        dialling = Dialling(
            connect=_told_of(connect, self._hooks.on_dialled),
            face=face,
            clock=clock,
            scrubber=self._scrubber,
            on_request=only_granted(face, self._hooks.on_request),
            on_notification=self._notified,
        )
        self._host = Host(name, dialling, settings=settings, attend=self._attend, random=random)

    @property
    def state(self) -> UpstreamState:
        """How far it is."""
        if self._host.link is not None:
            return UpstreamState.IN_USE if self._usage.count else UpstreamState.STARTED
        return UpstreamState.CONFIGURED if self._watch.known is None else UpstreamState.KNOWN

    @property
    def agreement(self) -> Agreement | None:
        """What the server told about itself, while it is running."""
        return None if self._host.link is None else self._host.link.session.agreement

    @property
    def known_agreement(self) -> Agreement | None:
        """What the server told about itself last, or what was learned; also while it is not running."""
        return self.agreement or self._known_agreement

    @property
    def known_tools(self) -> Listing | None:
        """Its tools as last read, or as learned; also while it is not running."""
        return self._watch.known

    def learn(self, tools: Iterable[Any], agreement: Agreement | None = None) -> None:
        """Take raw tools, and what the server told about itself, from a manifest: it need not run to be browsed."""
        self._watch.learn(tools)
        if agreement is not None and self._known_agreement is None:
            self._known_agreement = agreement
            self._host.expect(agreement.era)

    def reconfigure(self, settings: UpstreamSettings) -> None:
        """Keep the server by other settings from now on; the session that is up stays up."""
        self._settings = settings
        self._host.reconfigure(settings)
        self._watch.reconfigure(settings)
        self._usage.idle_after = settings.idle_after
        if self._host.link is not None:
            self._usage.rest()

    async def start(self, *, timeout: float | None = None) -> Agreement:  # noqa: ASYNC109  # by the clock it was given
        """See to it that it is running and its tools are known.

        Raises:
            UpstreamUnavailable: It could not be started, is not ready in time, or rests after too many failures.
            UpstreamError: It is running, but its tools cannot be read.
        """
        with self._used():
            deadline = self._deadline(timeout, self._settings.start_timeout)
            link = await self._host.link_by(deadline)
            if self._settings.watch:
                await self._watch.tools_by(deadline)
            return link.session.agreement

    async def agreed(self, *, timeout: float | None = None) -> Agreement:  # noqa: ASYNC109  # by the clock it was given
        """What the server tells about itself; it is started if need be, and its tools are not waited for.

        Raises:
            UpstreamUnavailable: It could not be started, is not ready in time, or rests after too many failures.
        """
        with self._used():
            link = await self._host.link_by(self._deadline(timeout, self._settings.start_timeout))
            return link.session.agreement

    async def tools(self, *, timeout: float | None = None) -> Listing:  # noqa: ASYNC109  # by the clock it was given
        """Its tools: those that are known, else those that it is started for to tell.

        Raises:
            UpstreamError: They could not be had; never an empty list in place of that.
        """
        with self._used():
            deadline = self._deadline(timeout, self._settings.list_timeout)
            if self._watch.known is None:
                await self._host.link_by(deadline)
            return await self._watch.tools_by(deadline)

    async def list(self, kind: ListKind, *, timeout: float | None = None) -> Listing:  # noqa: ASYNC109  # as above
        """One of its lists, read now.

        Raises:
            UpstreamError: It could not be had.
            ListingIncomplete: It could not be read to its end.
        """
        with self._used():
            deadline = self._deadline(timeout, self._settings.list_timeout)
            return await self._on_a_link(
                deadline,
                lambda link: list_all(
                    link.session, kind, deadline=deadline, caps=self._settings.caps, clock=self._clock
                ),
            )

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  # by the clock it was given, and the server is told
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Ask the server, and give the `result` as it came; a start that is needed happens within the same time.

        What was sent is never sent again. What certainly was not is sent to the server's next life.

        Raises:
            UpstreamFailed: It answered with an error, which is kept as it came.
            UpstreamTimeout: It did not answer in time, and was told that nobody waits any more.
            UpstreamUnavailable: It is not there, or ended before it answered. Unless `details["sent"]` is false,
                nobody knows whether the call took effect.
            UpstreamMalformed: Its answer cannot be used.
            ResultTooLarge: Its answer is larger than is taken.
        """
        with self._used():
            deadline = self._deadline(timeout, self._settings.call_timeout)
            confirm = self._hooks.confirm if method == _CALL and self._was_decided_before() else None

            async def ask(link: Link) -> dict[str, Any]:
                if confirm is not None:
                    await self._current_tools(deadline)
                    await confirm(params or {})
                return await self._ask(link, method, params, deadline=deadline, on_progress=on_progress)

            return await self._on_a_link(deadline, ask)

    def health(self) -> UpstreamHealth:
        """A report for people."""
        return health_of(
            self.name,
            state=self.state,
            host=self._host,
            watch=self._watch,
            agreement=self.known_agreement,
            idle_for=self._idle_for,
            calls_under_way=self._usage.count,
            noise=self._noise,
            address=self._address,
            scrubber=self._scrubber,
        )

    async def aclose(self, *, drain: float | None = None) -> None:
        """Take no more calls, wait for those under way, then end the server; a second time only waits."""
        self._closing = True
        await self._usage.drain(self._settings.drain if drain is None else drain)
        await self._host.aclose()
        self._usage.forget()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _on_a_link(self, deadline: float, ask: Callable[[Link], Awaitable[_T]]) -> _T:
        """Ask on a link that is up; on the next one if what was asked was certainly not sent."""
        tries_left = _MAX_TRIES
        while True:
            link = await self._host.link_by(deadline)
            tries_left -= 1
            try:
                return await ask(link)
            except UpstreamUnavailable as error:
                if not self._can_try_again(link, error) or not tries_left:
                    raise

    async def _ask(
        self,
        link: Link,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        deadline: float,
        on_progress: OnProgress | None,
    ) -> dict[str, Any]:
        seconds = max(0.0, deadline - self._clock.monotonic())
        link.under_way += 1
        try:
            result = await link.session.request(method, params, timeout=seconds, on_progress=on_progress)
        except UpstreamError as error:
            error.details = {**error.details, "upstream": self.name}
            if isinstance(error, UpstreamTimeout):
                error.hint = f"{error.hint} The limit is {CALL_LIMIT}."
            if isinstance(error, UpstreamFailed):
                self._host.answered(link)
            raise
        else:
            self._host.answered(link)
            return result
        finally:
            link.under_way -= 1

    def _can_try_again(self, link: Link, error: UpstreamUnavailable) -> bool:
        """Whether a call that failed was never sent, and another link is on its way."""
        if error.details.get("sent") is not False:
            link.lost += 1
            return False
        # The connection names the method that a closed wire did not carry. A wire that is open may fail to carry one
        # call while it carries others; it is given up only if nobody else depends on it.
        has_ended = "method" in error.details or error.details.get("reason") == SESSION_LOST
        if not has_ended and link.under_way:
            return False
        self._host.leave(link)
        link.fail(None if has_ended else error)
        return True

    @contextmanager
    def _used(self) -> Iterator[None]:
        if self._closing:
            raise closed(self.name)
        with self._usage.one():
            yield

    def _deadline(self, timeout: float | None, otherwise: float) -> float:
        return self._clock.monotonic() + (otherwise if timeout is None else timeout)

    def _was_decided_before(self) -> bool:
        """Whether a call that comes now was decided on what an earlier session listed."""
        return self._watch.known is not None and not self._watch.is_current

    async def _current_tools(self, deadline: float) -> None:
        """Wait until the running session has listed its tools, before a call that was decided on older ones is sent."""
        try:
            await self._watch.current_by(deadline)
        except UpstreamError as failure:
            # The failure may be known already: a caller that tries again and again must let others run.
            await asyncio.sleep(0)
            raise not_listed(self.name, failure) from failure

    def _retire(self) -> None:
        link = self._host.link
        if link is None or self._usage.count:
            return
        if self._hooks.is_needed is not None and self._hooks.is_needed():
            self._usage.rest()
            return
        self._idle_for = self._settings.idle_after
        self._host.leave(link)
        link.retire()

    def _note_agreement(self, agreement: Agreement) -> None:
        """Keep what the server says about itself; a list that it has only now, or no more, has changed."""
        before, self._known_agreement = self._known_agreement, agreement
        if before is None or self._hooks.on_changed is None:
            return
        for kind in (ListKind.PROMPTS, ListKind.RESOURCES):
            if (kind.capability in before.capabilities) != (kind.capability in agreement.capabilities):
                self._hooks.on_changed(kind)

    async def _attend(self, link: Link) -> None:
        self._idle_for = None
        self._note_agreement(link.session.agreement)
        self._usage.rest()
        try:
            async with asyncio.TaskGroup() as group:
                if self._settings.watch:
                    group.create_task(self._watch.run(link.session))
                if self._hooks.attend is not None:
                    group.create_task(self._attended(self._hooks.attend, link.session))
        finally:
            self._noise += noise_of(link)

    async def _attended(self, attend: Callable[[Session], Awaitable[None]], session: Session) -> None:
        try:
            await attend(session)
        except Exception:
            # Somebody else's code: its fault must not end the session.
            _logger.exception("what works beside a session of an upstream failed")

    async def _notified(self, method: str, params: dict[str, Any]) -> None:
        if not self._watch.notice(method, params) and self._hooks.on_notification is not None:
            await self._hooks.on_notification(method, params)


def _told_of(connect: Connect, on_dialled: Callable[[], object] | None) -> Connect:
    if on_dialled is None:
        return connect

    async def dialled() -> Wire:
        try:
            return await connect()
        finally:
            on_dialled()

    return dialled
