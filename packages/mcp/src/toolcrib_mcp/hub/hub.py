"""`Hub`: all servers of a configuration, for any number of clients at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from toolcrib_mcp.catalog import Catalog
from toolcrib_mcp.config import GatewayConfig
from toolcrib_mcp.front.feed import Feed, Notice
from toolcrib_mcp.front.service import Caller
from toolcrib_mcp.hub.keeping import CatalogKeeper
from toolcrib_mcp.hub.limits import HubLimits
from toolcrib_mcp.hub.manifest import ManifestFile
from toolcrib_mcp.hub.news import ListNews
from toolcrib_mcp.hub.private import PrivateLines, is_private
from toolcrib_mcp.hub.reporting import report_on
from toolcrib_mcp.hub.served import ServedServer, ServedServers
from toolcrib_mcp.hub.servers import LIVE_SETTINGS, ConfigChange, HubServer, servers_of
from toolcrib_mcp.hub.status import HubStatus
from toolcrib_mcp.hub.voices import Voice, Voices
from toolcrib_mcp.hub.watching import ResourceWatch
from toolcrib_mcp.redaction import ResultRedactor, configured_secrets
from toolcrib_mcp.rpc import OnNotification, OnRequest
from toolcrib_mcp.upstreams import (
    ClientFace,
    Connect,
    Era,
    Listing,
    ListKind,
    StartProgress,
    StartReport,
    Upstream,
    UpstreamHooks,
    UpstreamSettings,
    start_all,
)
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import DeadlineExceeded

if TYPE_CHECKING:
    from toolcrib_mcp.pins.book import PinBook

_LIMITS: Final = HubLimits()


class Hub:
    """The servers of a configuration: started together, kept running, catalogued, and asked by any number of clients.

    Nothing is started before `start`, or before something is asked of a server. Close it, or use it as a context
    manager: then nothing of any server is left.
    """

    def __init__(
        self,
        config: GatewayConfig,
        *,
        environ: Mapping[str, str] = os.environ,
        solo: bool = False,
        manifest: Path | None = None,
        clock: Clock = SYSTEM_CLOCK,
        upstreams: Mapping[str, Connect] | None = None,
        limits: HubLimits = _LIMITS,
        pins: PinBook | asyncio.Future[PinBook | None] | None = None,
    ) -> None:
        """Prepare all servers.

        With `solo` there is one client only, and whatever a shared server says is said to it. `manifest` is a file
        that holds what is known of the servers, so that their tools can be browsed before they run. `upstreams` are
        servers beside those of the configuration, by name. With `pins` a tool that is not what was trusted is withheld;
        while they are a future that has no result, every tool is.

        Raises:
            ConfigError: A variable has no value.
            ValueError: A server of `upstreams` has the name or the namespace of another.
        """
        self.config = config
        self.servers: Mapping[str, HubServer] = MappingProxyType(servers_of(config, upstreams or {}))
        self.feed = Feed()
        self.config_problem: str | None = None
        """Why the configuration, as it is in its file now, is not served; the last usable one is."""
        self.restart_needed: tuple[str, ...] = ()
        """Settings that were changed in the file and count after a restart."""
        self._brought = upstreams or {}
        self._environ = environ
        self._clock = clock
        self._limits = limits
        self.solo = solo
        self._solo_conversation: str | None = None
        self._news = ListNews(self.feed, clock=clock)
        self._redactor = ResultRedactor(configured_secrets(config.enabled))
        self._keeper = CatalogKeeper(
            self.servers,
            on_changed=lambda: self._news.add(ListKind.TOOLS),
            whole=config.settings.mode == "transparent",
            pins=pins,
            redactor=self._redactor,
        )
        self._private = PrivateLines(
            open_upstream=self._open,
            shared=self.shared,
            era_of=self._era_of,
            feed=self.feed,
            limits=limits,
            clock=clock,
            redactor=self._redactor,
            solo=solo,
        )
        self._undialled = set(self.servers)
        self._dialled = asyncio.Event()
        self._served = ServedServers(
            self.servers,
            serve=self._serve,
            lines_of=self._private.take_out,
            on_changed=self._news.add,
            on_failed=lambda name: self._keeper.take(name, ()),
        )
        self._manifest = (
            None if manifest is None else ManifestFile(manifest, self.servers, redactor=self._redactor, clock=clock)
        )
        self._loading: asyncio.Task[None] | None = None

    @property
    def catalog(self) -> Catalog:
        """The tools of all servers, kept in step with what they list."""
        return self._keeper.catalog

    async def start(
        self,
        *,
        timeout: float,  # noqa: ASYNC109  # of each
        lazily: bool = False,
        on_progress: Callable[[StartProgress], object] | None = None,
    ) -> list[StartReport]:
        """Start all servers at once and catalogue their tools; give one report for each, in order.

        One that cannot be started delays none of the others: it is reported, and started again later by itself. With
        `lazily` a server whose tools are known from an earlier start waits for its first call, unless its settings say
        otherwise. `on_progress` is called at the beginning, and whenever one more is ready or has failed.
        """
        deadline = self._clock.monotonic() + timeout
        await self._learned()
        every = self._served.by_name
        needed = [served for served in every.values() if not (lazily and served.may_wait)]
        for name in every.keys() - {served.about.name for served in needed}:
            self._note_dialled(name)
        progress = StartProgress(served.about.name for served in needed)

        async def start(served: ServedServer) -> StartReport:
            report = await self._start(served, deadline)
            progress.note(report)
            if on_progress is not None:
                on_progress(progress)
            return report

        if on_progress is not None and needed:
            on_progress(progress)
        reports, _ = await asyncio.gather(asyncio.gather(*map(start, needed)), self.load())
        return list(reports)

    async def reconfigure(self, config: GatewayConfig) -> ConfigChange:
        """Serve another configuration from now on; what is the same in both goes on undisturbed.

        A server that is reached as before keeps its process and its session, and other settings of it count from its
        next call on. One that is reached otherwise is replaced: calls in flight finish on the old one, for as long as a
        call may take, and new ones go to the new one. Of the gateway's own settings those of `LIVE_SETTINGS` count.

        Raises:
            ConfigError: A variable has no value. Nothing was changed.
            ValueError: A server has the name or the namespace of one of this process. Nothing was changed.
        """
        live = {name: getattr(config.settings, name) for name in LIVE_SETTINGS}
        config = replace(config, settings=self.config.settings.model_copy(update=live))
        servers = servers_of(config, self._brought)
        self._redactor.add(*configured_secrets(config.enabled))
        change = self._served.reconfigure(servers)
        # Nothing was awaited: every request sees the one configuration or the other.
        self.config, self.servers = config, MappingProxyType(servers)
        self._keeper.reconfigure(self.servers)
        if self._manifest is not None:
            self._manifest.reconfigure(self.servers)
        return change

    async def dialled(self, *, timeout: float) -> None:  # noqa: ASYNC109  # a bound, not a deadline that can be missed
        """Wait until the processes of all servers that are being started run, or could not be started; no longer."""
        if self._undialled:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._dialled.wait()

    async def load(self) -> None:
        """Take what the manifest knows into the catalogue; a second time only waits for the first."""
        await self._learned()
        for name in self.servers:
            await self._keeper.settled(name)

    async def tools(self, server: str, *, timeout: float) -> Listing:  # noqa: ASYNC109  # by the clock of the hub
        """The tools of a server as it lists them; when they are given, they are in the catalogue, too.

        Raises:
            UpstreamError: They could not be had, or there is no such server; never an empty list in place of that.
        """
        listing = await self.shared(server).tools(timeout=timeout)
        await self._keeper.settled(server)
        return listing

    def shared(self, server: str) -> Upstream:
        """The connection to a server that everybody uses.

        Raises:
            UpstreamUnavailable: There is no such server.
        """
        return self._served.of(server).upstream

    def server(self, name: str) -> HubServer:
        """How a server is called and treated.

        Raises:
            UpstreamUnavailable: There is no such server.
        """
        return self._served.of(name).about

    @asynccontextmanager
    async def lease(
        self,
        server: str,
        caller: Caller,
        *,
        on_request: OnRequest | None = None,
        on_notification: OnNotification | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # by the clock of the hub
    ) -> AsyncIterator[Upstream]:
        """The upstream for one request of a client, which holds a place at the server meanwhile.

        It is the shared one, unless a server of the handshake era was granted something of its client: then it is one
        that only this client speaks with, for now or for good. What the server asks goes to `on_request` of the latest
        lease under way; what it tells, log messages above all, goes to `on_notification`, and without one is a notice
        for the caller's conversation. `timeout` is how long to wait for a place; as long as a call may take without it.

        Raises:
            UpstreamBusy: There is no place in time, or too many wait already. Nothing was sent.
            UpstreamUnavailable: The server had to be asked which era it speaks, and is not there; or there is none.
        """
        async with self._served.lease(server, caller.principal or caller.conversation, seconds=timeout) as served:
            if self.solo:
                self._solo_conversation = caller.conversation
            voice = Voice(on_request=on_request, on_notification=on_notification)
            if is_private(served.about, caller, solo=self.solo):
                seconds = served.seconds(timeout)
                async with self._private.lease(served.about, caller, voice, seconds=seconds) as upstream:
                    yield upstream
            else:
                with served.voices.heard(voice):
                    yield served.upstream

    async def subscribe(self, listener: str, server: str, uri: str) -> None:
        """Publish a notice `to` this listener whenever the resource has changed.

        Raises:
            UpstreamError: The server is not there, refuses, or does not tell of changes of this resource.
            UpstreamBusy: Too many resources are listened for.
        """
        await self._served.subscribe(listener, server, uri, most=self._limits.max_watched)

    async def unsubscribe(self, listener: str, server: str, uri: str) -> None:
        """The listener no longer wants to know; one that never did is no error, nor a server that is gone."""
        await self._served.unsubscribe(listener, server, uri)

    async def end(self, conversation: str) -> None:
        """A client has gone: end what ran for it alone, and what it listened for."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._private.end(conversation))
            for name, uri in self._served.subscriptions(conversation):
                group.create_task(self.unsubscribe(conversation, name, uri))

    def status(self) -> HubStatus:
        """A report for people."""
        return report_on(
            self._served.by_name,
            keeper=self._keeper,
            private=self._private.lines,
            manifest_problem=None if self._manifest is None else self._manifest.problem,
            config_problem=self.config_problem,
            restart_needed=self.restart_needed,
        )

    async def aclose(self, *, drain: float | None = None) -> None:
        """Take no more requests, wait for those under way, then end every server; a second time only waits."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])
        async with asyncio.TaskGroup() as group:
            group.create_task(self._served.aclose(drain=drain))
            group.create_task(self._private.lines.aclose(drain=drain))
        await self._news.aclose()
        await self._keeper.aclose()
        if self._manifest is not None:
            await self._manifest.aclose()

    async def __aenter__(self) -> Self:
        await self.load()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _start(self, served: ServedServer, deadline: float) -> StartReport:
        (report,) = await start_all([served.upstream], timeout=max(0.0, deadline - self._clock.monotonic()))
        if report.error is None:
            scope = CallScope(clock=self._clock, deadline=deadline, cancellation=None)
            with suppress(DeadlineExceeded):
                await scope.run(self._keeper.settled(served.about.name))
        return report

    async def _learned(self) -> None:
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="manifest")
        await asyncio.shield(self._loading)

    async def _load(self) -> None:
        for name, known in (await self._manifest.read() if self._manifest is not None else {}).items():
            if name not in self._keeper.listed:
                self._served.of(name).upstream.learn(known.tools, known.agreement)
                self._keeper.take(name, known.tools, is_news=False)

    def _serve(self, server: HubServer) -> ServedServer:
        voices = Voices()
        watch = ResourceWatch(feed=self.feed, clock=self._clock, seconds=server.upstream_settings.call_timeout)

        def on_tools(listing: Listing) -> None:
            # One that was replaced and still has calls in flight does not count any more.
            if self._served.by_name.get(server.name) is served:
                self._keeper.take(server.name, listing.items)
                if self._manifest is not None:
                    self._manifest.note(server.name, self._keeper.listed[server.name], served.upstream.known_agreement)

        hooks = UpstreamHooks(
            on_tools=on_tools,
            on_changed=self._news.add,
            attend=watch.attend,
            on_notification=lambda method, params: self._told(served, method, params),
            on_dialled=lambda: self._note_dialled(server.name),
            is_needed=lambda: watch.is_told,
            confirm=lambda params: self._keeper.confirm(server.name, params.get("name")),
        )
        served = ServedServer.of(
            server,
            self._open(server, hooks=hooks),
            voices=voices,
            watch=watch,
            limits=self._limits,
            clock=self._clock,
        )
        return served

    def _open(
        self,
        server: HubServer,
        *,
        hooks: UpstreamHooks,
        face: ClientFace | None = None,
        settings: UpstreamSettings | None = None,
    ) -> Upstream:
        return server.upstream(
            environ=self._environ,
            clock=self._clock,
            hooks=hooks,
            face=face,
            settings=settings,
            known_tools=lambda: [tool for tool in self._keeper.listed.get(server.name, ()) if isinstance(tool, dict)],
        )

    def _note_dialled(self, server: str) -> None:
        self._undialled.discard(server)
        if not self._undialled:
            self._dialled.set()

    async def _told(self, served: ServedServer, method: str, params: dict[str, Any]) -> None:
        """Hand on what a shared server tells: of resources to those who listen, all else only to a sole client."""
        if served.watch.take(method, params) or not self.solo:
            return
        if not await served.voices.tell(method, params) and self._solo_conversation is not None:
            params = self._redactor.redact(params, server=served.about.name).result
            self.feed.publish(Notice(method=method, params=params, to=frozenset({self._solo_conversation})))

    async def _era_of(self, server: str) -> Era:
        return (await self.shared(server).agreed()).era
