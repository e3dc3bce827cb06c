"""Serving a configuration: clients are answered at once, and the servers behind are started beside it.

What takes long to import is imported in threads, once clients have their first answers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from toolcrib_core.wording import quoted
from toolcrib_mcp.serving.admission import ANYBODY, Admission, front_settings
from toolcrib_mcp.serving.background import Background
from toolcrib_mcp.serving.composition import Compose, Composition, Entrance, OnReady, OpenVectors, entrance_to
from toolcrib_mcp.serving.deferred import DeferredService
from toolcrib_mcp.serving.greeting import Mode
from toolcrib_mcp.serving.stopping import StopRequests, stop_signals, unless
from toolcrib_mcp.state_files import MANIFEST

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewayConfig, HttpFront
    from toolcrib_mcp.front.http import HttpFront as HttpApp
    from toolcrib_mcp.gateway import GatewayService
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.pins import PinBook
    from toolcrib_mcp.proxy import ProxyService
    from toolcrib_mcp.relay import TransparentService
    from toolcrib_mcp.safeguards import Safeguards
    from toolcrib_mcp.safeguards.noting import CallRecorder
    from toolcrib_mcp.shared import SharedDatabase
    from toolcrib_mcp.shared.session_book import SessionBook
    from toolcrib_mcp.upstreams import Connect, StartProgress

DRAIN: Final = 5.0
"""Seconds that requests in flight have to finish when it is time to stop."""

CLOSE_AT_ONCE: Final = 1.0
"""Seconds that servers have to be gone when they are killed; the end of the process takes whatever is left."""

DIALLING: Final = 2.0
"""Seconds that the programs of the servers have to be started before anything else is done that takes time."""

PATIENCE: Final = 5.0
"""Seconds that a list waits, once, for servers whose tools are not known yet."""

UNASKED: Final = 1.0
"""Seconds after which the servers are started although no client has asked for anything."""

# One at a time: a thread that imports cannot be stopped, and a process that is to end waits for it.
_IMPORTS: Final = (
    "pydantic.main",
    "toolcrib_mcp.config.settings",
    "toolcrib_mcp.catalog",
    "toolcrib_mcp.upstreams.opening",
    "toolcrib_mcp.hub.hub",
)
_logger = logging.getLogger("toolcrib.mcp")


async def serve(
    config: GatewayConfig,
    *,
    mode: Mode,
    http: HttpFront | None = None,
    state_dir: Path | None = None,
    on_ready: OnReady | None = None,
    open_vectors: OpenVectors | None = None,
    upstreams: Mapping[str, Connect] | None = None,
    admission: Admission = ANYBODY,
    shared: SharedDatabase | None = None,
    reload: Callable[[], GatewayConfig] | None = None,
) -> None:
    """Serve a configuration over HTTP, or without `http` over standard input and output, until it is to stop.

    It is to stop when the client closes standard input, or at SIGTERM or SIGINT: then no more is taken in, what is
    in flight has five seconds, and every server is closed; at a second signal that happens at once. `initialize` and
    the gateway's list of tools are answered at once, everything else while servers are still starting. `state_dir` is
    the directory of this configuration alone, in which known tools, live health and large results are kept; without
    it, none of them outlives the process. `upstreams` are servers beside those of the configuration, by name; whoever
    brings them closes what they hold afterwards. `admission` says who is let in, and what they have of their own. With
    a `shared` database it is one of several replicas, each of which answers as any other would. With `reload`, which
    reads the configuration again, an edit of its file is served within two seconds; see `ConfigWatcher`.

    Every call passes the safeguards of the configuration: pins, policy, limits, approvals, audit. They are opened while
    the servers start, after the policy and the lock file were found usable; before they are open, no call is made.

    Raises:
        ConfigError: The address cannot be listened at, or must not be; or the policy, the lock file or the key of the
            shared database cannot be used.
        OSError: Standard input or output is closed.
        StoreError: The database of large results cannot be opened.
        ValueError: A server of `upstreams` has the name or the namespace of another.
    """
    from toolcrib_mcp.safeguards.checking import check_safeguards

    check_safeguards(config)
    composition = Composition(
        config=config,
        upstreams=upstreams or {},
        admission=admission,
        shared=shared,
        open_vectors=open_vectors,
        reload=reload,
    )
    entrance = entrance_to(config, mode=mode, http=http, admission=admission, state_dir=state_dir, on_ready=on_ready)
    await serve_composed(lambda: nullcontext(composition), replace(entrance, has_replicas=shared is not None))


async def serve_composed(compose: Compose, entrance: Entrance) -> None:
    """As `serve`, for what is composed once clients have their first answers.

    Raises:
        ConfigError: As `serve`; clients whose requests wait are told so as well.
        OSError: As `serve`.
        StoreError: As `serve`.
        ToolError: What `compose` raises.
    """
    with stop_signals() as stop:
        await _Process(compose, entrance, stop).run()


class _Process:
    """Serves clients, and composes what they are served beside it."""

    def __init__(self, compose: Compose, entrance: Entrance, stop: StopRequests) -> None:
        loop = asyncio.get_running_loop()
        self._compose = compose
        self._entrance = entrance
        self._stop = stop
        self._deferred = DeferredService(entrance.greeting)
        self._address: asyncio.Future[str | None] = loop.create_future()
        self._safeguards: asyncio.Future[Safeguards] = loop.create_future()
        self._sessions: Callable[[], int] = lambda: 1
        self._gone = asyncio.Event()

    async def run(self) -> None:
        composing = asyncio.create_task(self._keep_composed(), name="composition")
        clients = asyncio.create_task(unless(self._stop.insisted, self._serve_clients()), name="clients")
        try:
            await asyncio.wait((composing, clients), return_when=asyncio.FIRST_COMPLETED)
            if not clients.done():
                failure = composing.exception()
                self._deferred.fail(failure if isinstance(failure, Exception) else RuntimeError())
                self._stop.asked.set()
                await asyncio.wait((clients,))
        finally:
            self._gone.set()
            clients.cancel()
            await asyncio.wait((clients,))
            if not self._deferred.is_composed:
                composing.cancel()
            await asyncio.wait((composing,))
        for task in (composing, clients):
            if not task.cancelled():
                task.result()

    async def _serve_clients(self) -> None:
        if self._entrance.http is None:
            await self._serve_stdio()
        else:
            await self._serve_http(self._entrance.http)

    async def _serve_stdio(self) -> None:
        from toolcrib_mcp.front.stdio import serve_stdio

        asyncio.get_running_loop().call_later(UNASKED, self._deferred.wanted.set)
        self._listening(None)
        await serve_stdio(
            self._deferred,
            drain=DRAIN,
            max_message=self._entrance.max_message,
            stop=self._stop.asked,
            principal=self._entrance.admission.principal,
        )

    async def _serve_http(self, http: HttpFront) -> None:
        from toolcrib_mcp.front.http import serve_http

        admission = self._entrance.admission
        apps: list[HttpApp] = []
        self._sessions = lambda: apps[0].sessions
        book = None
        if self._entrance.has_replicas:
            self._deferred.wanted.set()
            book = await unless(self._stop.asked, self._book())
            if self._stop.asked.is_set():
                return

        front = serve_http(
            self._deferred,
            host=http.host,
            port=http.port,
            settings=front_settings(http, admission, drain=DRAIN),
            mounts=admission.mounts,
            on_front=apps.append,
            on_ready=self._listening,
            book=book,
        )
        await unless(self._stop.asked, front)

    def _listening(self, url: str | None) -> None:
        self._address.set_result(url)
        if url is not None:
            self._deferred.wanted.set()
        if self._entrance.on_ready is not None:
            self._entrance.on_ready(url)

    async def _book(self) -> SessionBook | None:
        safeguards = await asyncio.shield(self._safeguards)
        if safeguards.replicated is None:
            return None
        from toolcrib_mcp.shared.session_book import SessionBook

        return SessionBook(safeguards.store, safeguards.replicated)

    async def _keep_composed(self) -> None:
        """Compose what is served, and keep it until the clients are gone."""
        await self._deferred.wanted.wait()
        for module in _IMPORTS:
            await asyncio.to_thread(import_module, module)
        # What calls pass is closed after the servers, though it is opened while they start: they take longer.
        async with (
            self._compose() as composition,
            AsyncExitStack() as holding,
            self._hub(composition) as (hub, pins),
            Background() as background,
        ):
            started = asyncio.Event()
            background.spawn(_start(hub, started))
            await hub.dialled(timeout=DIALLING)
            opening = await _safeguards(hub.config, self._entrance.state_dir, composition.shared)
            safeguards = await holding.enter_async_context(opening)
            pins.set_result(safeguards.pins)
            safeguards.checkpoint.recorder.start()
            self._safeguards.set_result(safeguards)
            if composition.admission.checkpoint is not None:
                composition.admission.checkpoint.set_result(safeguards.checkpoint)
            if composition.reload is not None:
                background.spawn(_watch(hub, composition.reload, composition.config, safeguards))
            async with aclosing(await self._service(hub, safeguards, composition)) as service:
                self._deferred.become(service)
                if composition.open_vectors is not None and self._entrance.mode == "gateway":
                    gateway = cast("GatewayService", service)
                    background.spawn(_search_by_meaning(hub, gateway, composition.open_vectors, started))
                if self._entrance.state_dir is not None:
                    background.spawn(self._report(hub, self._entrance.state_dir, safeguards.checkpoint.recorder))
                background.spawn(self._remember(service, started))
                await self._gone.wait()

    @asynccontextmanager
    async def _hub(self, composition: Composition) -> AsyncIterator[tuple[Hub, asyncio.Future[PinBook | None]]]:
        """The hub, which withholds every tool until the pins are there."""
        from toolcrib_mcp.hub import Hub

        # What the hub tells clients of depends on what they see.
        settings = composition.config.settings.model_copy(update={"mode": self._entrance.mode})
        config = replace(composition.config, settings=settings)
        state_dir = self._entrance.state_dir
        manifest = None if state_dir is None else state_dir / MANIFEST
        pins: asyncio.Future[PinBook | None] = asyncio.get_running_loop().create_future()
        solo = self._entrance.http is None
        hub = Hub(config, solo=solo, manifest=manifest, upstreams=composition.upstreams, pins=pins)
        try:
            yield hub, pins
        finally:
            await _close(hub, self._stop)

    async def _service(
        self, hub: Hub, safeguards: Safeguards, composition: Composition
    ) -> GatewayService | ProxyService | TransparentService:
        if self._entrance.mode == "transparent":
            from toolcrib_mcp.relay import TransparentService

            return TransparentService(hub, checkpoint=safeguards.checkpoint)
        if self._entrance.mode == "gateway":
            gateway = await asyncio.to_thread(import_module, "toolcrib_mcp.gateway.opening")
            personal = composition.admission.personal
            service: GatewayService = await gateway.open_gateway_service(
                hub, state_dir=self._entrance.state_dir, personal=personal, safeguards=safeguards
            )
            return service
        from toolcrib_mcp.proxy import ProxyRuntime, ProxyService

        return ProxyService(ProxyRuntime(hub, patience=PATIENCE, checkpoint=safeguards.checkpoint))

    async def _report(self, hub: Hub, state_dir: Path, recorder: CallRecorder) -> None:
        """Keep the live health up to date, once clients can connect."""
        url = await asyncio.shield(self._address)
        from toolcrib_mcp.serving.reporting import Reporter

        reporter = Reporter(
            directory=state_dir,
            mode=self._entrance.mode,
            address=url or "stdio",
            describe=lambda: {**hub.status().to_json(), "auditProblem": recorder.problem},
            sessions=self._sessions,
        )
        await reporter.run()

    async def _remember(
        self, service: GatewayService | ProxyService | TransparentService, started: asyncio.Event
    ) -> None:
        """Correct what clients were told at first, once the servers are known, and keep it for the next process."""
        kept, greeting = self._entrance.kept, self._entrance.greeting
        if greeting is None:
            return
        from toolcrib_mcp.proxy.embedding import lone_request

        await started.wait()
        face = await service.face()
        tools = greeting.tools
        if tools is not None:
            tools = (await service.answer(replace(lone_request(), method="tools/list")))["tools"]
            self._deferred.revise(tools)
        known = replace(greeting, capabilities=face.capabilities, instructions=face.instructions, tools=tools)
        if kept is not None:
            await asyncio.to_thread(kept.write, known)


async def _search_by_meaning(
    hub: Hub, service: GatewayService, open_vectors: OpenVectors, started: asyncio.Event
) -> None:
    """Prepare the sentence model and the vectors of all tools, so that no search has to wait for them."""
    await started.wait()
    vectors = await asyncio.to_thread(open_vectors)
    if vectors is not None:
        await asyncio.to_thread(vectors.tools, hub.catalog.snapshot().registry.list())
        service.search_with(vectors)


def _log_progress(progress: StartProgress) -> None:
    _logger.info("servers: %s", progress)


async def _start(hub: Hub, started: asyncio.Event) -> None:
    seconds = max((each.settings.start_timeout for each in hub.servers.values()), default=0.0)
    for report in await hub.start(timeout=seconds, lazily=True, on_progress=_log_progress):
        if report.error is not None:
            _logger.warning("the server %s is not ready: %s", quoted(report.name), report.error.message)
    started.set()


async def _watch(hub: Hub, reload: Callable[[], GatewayConfig], written: GatewayConfig, safeguards: Safeguards) -> None:
    from toolcrib_mcp.hub.config_watcher import ConfigWatcher
    from toolcrib_mcp.redaction import configured_secrets
    from toolcrib_runtime.clock import SYSTEM_CLOCK

    def prepare(config: GatewayConfig) -> None:
        safeguards.hide(configured_secrets(config.enabled))

    await ConfigWatcher(hub, reload, served=written, prepare=prepare, clock=SYSTEM_CLOCK).run()


async def _safeguards(
    config: GatewayConfig, state_dir: Path | None, shared: SharedDatabase | None
) -> AbstractAsyncContextManager[Safeguards]:
    # In a thread, since it is the database that takes long to import; servers that are ready meanwhile are heard.
    safeguards = await asyncio.to_thread(import_module, "toolcrib_mcp.safeguards.opening")
    opening: AbstractAsyncContextManager[Safeguards] = safeguards.open_safeguards(
        config, state_dir=state_dir, shared=shared
    )
    return opening


async def _close(hub: Hub, stop: StopRequests) -> None:
    """End every server; nothing is under way any more, or nobody waits for it."""
    running = [each.health.pid for each in hub.status().servers.values() if each.health.pid is not None]
    closing = asyncio.create_task(hub.aclose(drain=0))
    insisted = asyncio.create_task(stop.insisted.wait())
    await asyncio.wait((closing, insisted), return_when=asyncio.FIRST_COMPLETED)
    insisted.cancel()
    if not closing.done():
        for pid in running:
            # Each server leads a group of its own, with whatever it has started.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
    await asyncio.wait((closing,), timeout=CLOSE_AT_ONCE if stop.insisted.is_set() else None)
    if closing.done():
        await closing
