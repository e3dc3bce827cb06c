"""The servers of a hub while it serves them, and how they are exchanged while requests are in flight."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from toolcrib_core.wording import count, quoted
from toolcrib_mcp.errors import UpstreamBusy, UpstreamUnavailable
from toolcrib_mcp.hub.limits import HubLimits
from toolcrib_mcp.hub.lines import Line
from toolcrib_mcp.hub.places import Places
from toolcrib_mcp.hub.servers import ConfigChange, HubServer
from toolcrib_mcp.hub.voices import Voices
from toolcrib_mcp.hub.watching import ResourceWatch
from toolcrib_mcp.upstreams import ListKind, Upstream, close_all, start_all
from toolcrib_mcp.upstreams.usage import Usage
from toolcrib_runtime.clock import Clock

_logger: Final = logging.getLogger("toolcrib.mcp")


@dataclass(eq=False, kw_only=True)
class ServedServer:
    """What a hub keeps for one server from its start to its end; another configuration of it is another one."""

    about: HubServer
    upstream: Upstream
    voices: Voices
    watch: ResourceWatch
    places: Places
    leases: Usage
    """The requests that hold this server, also before and between their calls."""
    _limits: HubLimits = field(repr=False)
    _clock: Clock = field(repr=False)

    @classmethod
    def of(
        cls,
        about: HubServer,
        upstream: Upstream,
        *,
        voices: Voices,
        watch: ResourceWatch,
        limits: HubLimits,
        clock: Clock,
    ) -> ServedServer:
        """Nothing is started yet."""
        return cls(
            about=about,
            upstream=upstream,
            voices=voices,
            watch=watch,
            places=_places(about, limits, clock),
            leases=Usage(clock=clock, idle_after=None, on_idle=lambda: None),
            _limits=limits,
            _clock=clock,
        )

    @property
    def may_wait(self) -> bool:
        """Whether it need not be started before its first call."""
        return self.about.starts_lazily and self.upstream.known_tools is not None

    def seconds(self, asked: float | None) -> float:
        """How long a request may wait for it."""
        return self.about.upstream_settings.call_timeout if asked is None else asked

    def reconfigure(self, about: HubServer) -> None:
        """Serve it by other settings from now on: the session stays, and so do the requests in flight."""
        before, self.about = self.about, about
        self.watch.seconds = about.upstream_settings.call_timeout
        self.upstream.reconfigure(about.upstream_settings)
        if about.max_calls != before.max_calls:
            self.places = _places(about, self._limits, self._clock)

    async def retire(self) -> None:
        """Wait for the requests that hold it, for as long as one call may take, then end it."""
        seconds = self.about.upstream_settings.call_timeout
        until = self._clock.monotonic() + seconds
        await self.leases.drain(seconds)
        await self.upstream.aclose(drain=max(0.0, until - self._clock.monotonic()))


class ServedServers:
    """The servers that are served now, and those that only finish what they have begun.

    `serve` makes one, `lines_of` takes the private lines of one out of use, `on_changed` is called for lists of prompts
    and resources that changed with a server, and `on_failed` for a server that could not be started after a change.
    """

    def __init__(
        self,
        servers: Mapping[str, HubServer],
        *,
        serve: Callable[[HubServer], ServedServer],
        lines_of: Callable[[str], list[Line]],
        on_changed: Callable[[ListKind], object],
        on_failed: Callable[[str], object],
    ) -> None:
        self.by_name: Mapping[str, ServedServer] = {name: serve(server) for name, server in servers.items()}
        self._serve = serve
        self._lines_of = lines_of
        self._on_changed = on_changed
        self._on_failed = on_failed
        self._retired: set[ServedServer] = set()
        self._work: set[asyncio.Task[None]] = set()

    def of(self, name: str) -> ServedServer:
        """The server of this name.

        Raises:
            UpstreamUnavailable: There is none.
        """
        found = self.by_name.get(name)
        if found is None:
            raise _not_served(name)
        return found

    @asynccontextmanager
    async def lease(self, name: str, client: Hashable, *, seconds: float | None) -> AsyncIterator[ServedServer]:
        """The server for one request, which holds a place at it meanwhile.

        Raises:
            UpstreamBusy: There is no place in time, or too many wait already.
            UpstreamUnavailable: There is no such server.
        """
        async with AsyncExitStack() as place:
            while True:
                served = self.of(name)
                await place.enter_async_context(served.places.one(client, seconds=served.seconds(seconds)))
                if self.of(name) is served:
                    break
                # It was replaced while this request waited for a place.
                await place.aclose()
            with served.leases.one():
                yield served

    async def subscribe(self, listener: str, name: str, uri: str, *, most: int) -> None:
        """Publish a notification `to` this listener whenever the resource has changed; `most` are watched in all.

        Raises:
            UpstreamError: As `Hub.subscribe`.
        """
        served = self.of(name)
        watched = sum(len(each.watch) for each in self.by_name.values())
        if uri not in served.watch and watched >= most:
            raise UpstreamBusy(
                f"{count(watched, 'resource')} are watched, and that is the most that can be.",
                hint="Read the resource again when its content matters.",
                details={"upstream": name, "sent": False, "limit": most},
            )
        await served.watch.add(served.upstream, listener, uri)

    async def unsubscribe(self, listener: str, name: str, uri: str) -> None:
        """Publish no more notifications to this listener."""
        if (served := self.by_name.get(name)) is not None:
            await served.watch.remove(served.upstream, listener, uri)

    def subscriptions(self, listener: str) -> list[tuple[str, str]]:
        """The servers and URIs that a listener has subscribed to."""
        return [(name, uri) for name, served in self.by_name.items() for uri in served.watch.heard_by(listener)]

    def reconfigure(self, servers: Mapping[str, HubServer]) -> ConfigChange:
        """Serve these from now on: new ones are started, and those that are gone end when their requests are done.

        Raises:
            ConfigError: A variable has no value. Nothing was changed.
        """
        before = self.by_name
        kept = {name for name in servers.keys() & before.keys() if servers[name].is_reached_like(before[name].about)}
        new = {name: self._serve(server) for name, server in servers.items() if name not in kept}
        # From here on nothing fails.
        adjusted = [name for name in servers if name in kept and servers[name] != before[name].about]
        self.by_name = {name: new.get(name) or before[name] for name in servers}
        for name in adjusted:
            before[name].reconfigure(servers[name])
            if not before[name].may_wait:
                self._spawn(self._start(before[name]))
        for name in before.keys() - kept:
            self._retire(before[name])
        for name, served in new.items():
            if name in before and (known := before[name].upstream.known_tools) is not None:
                # Until its own are read, its tools are those of before, and a call is checked against its own.
                served.upstream.learn(known.items)
            self._spawn(self._begin(served, before.get(name)))
        return ConfigChange(
            added=tuple(name for name in new if name not in before),
            removed=tuple(name for name in before if name not in servers),
            replaced=tuple(name for name in new if name in before),
            adjusted=tuple(adjusted),
        )

    async def aclose(self, *, drain: float | None = None) -> None:
        """End all of them, with time for what is in flight."""
        await close_all([each.upstream for each in (*self.by_name.values(), *self._retired)], drain=drain)
        for task in (work := list(self._work)):
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    def _retire(self, served: ServedServer) -> None:
        lines = self._lines_of(served.about.name)
        self._retired.add(served)
        self._spawn(self._end(served, lines))
        self._announce_lists(served)

    async def _end(self, served: ServedServer, lines: list[Line]) -> None:
        try:
            await served.retire()
        finally:
            await close_all((line.upstream for line in lines), drain=0)
            self._retired.discard(served)

    async def _begin(self, served: ServedServer, before: ServedServer | None) -> None:
        if not await self._start(served):
            if self.by_name.get(served.about.name) is served:
                self._on_failed(served.about.name)
            return
        if before is not None:
            await served.watch.take_over(served.upstream, before.watch)
        self._announce_lists(served)

    async def _start(self, served: ServedServer) -> bool:
        (report,) = await start_all([served.upstream], timeout=served.about.settings.start_timeout)
        if report.error is not None and self.by_name.get(served.about.name) is served:
            _logger.warning("the server %s is not ready: %s", quoted(report.name), report.error.message)
        return report.error is None

    def _announce_lists(self, served: ServedServer) -> None:
        """Announce the prompts and resources that came or went with a server; the catalogue announces its tools."""
        said = served.upstream.known_agreement
        for kind in (ListKind.PROMPTS, ListKind.RESOURCES):
            if said is not None and kind.capability in said.capabilities:
                self._on_changed(kind)

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.create_task(_finished(work), name="change of the servers")
        self._work.add(task)
        task.add_done_callback(self._work.discard)


async def _finished(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except Exception:
        # Work beside the serving: its failure must not be lost, and ends nothing else.
        _logger.exception("a change of the servers was not carried out to its end")


def _not_served(name: str) -> UpstreamUnavailable:
    """The error of a request for a server that the configuration does not have, or no longer."""
    return UpstreamUnavailable(
        f"The server {quoted(name)} is not in the configuration, or no longer.",
        hint="Look for the tool again: another server may have it.",
        retryable=False,
        details={"upstream": name, "sent": False},
    )


def _places(about: HubServer, limits: HubLimits, clock: Clock) -> Places:
    return Places(about.name, limit=about.max_calls, max_waiting=limits.max_waiting, clock=clock)
