"""Putting a mode together: the servers of a configuration, what clients see of them, and where clients arrive.

What it takes to serve is imported when it is served: whoever only asks who serves does without.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from toolcrib_core.wording import quoted
from toolcrib_mcp.serving.admission import ANYBODY, Admission, front_settings
from toolcrib_mcp.serving.background import Background
from toolcrib_mcp.serving.reporting import Reporter
from toolcrib_mcp.serving.stopping import StopRequests, stop_signals, unless
from toolcrib_mcp.state_files import MANIFEST

if TYPE_CHECKING:
    from toolcrib_core import DocumentVectors
    from toolcrib_mcp.config import GatewayConfig, HttpFront
    from toolcrib_mcp.front import Service
    from toolcrib_mcp.front.http import HttpFront as HttpApp
    from toolcrib_mcp.gateway import GatewayService
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.pins import PinBook
    from toolcrib_mcp.proxy import ProxyService
    from toolcrib_mcp.relay import TransparentService
    from toolcrib_mcp.safeguards import Safeguards
    from toolcrib_mcp.shared import SharedDatabase
    from toolcrib_mcp.shared.session_book import SessionBook
    from toolcrib_mcp.upstreams import Connect

Mode: TypeAlias = Literal["gateway", "proxy", "transparent"]
"""What clients see of the servers: `gateway` three tools, `proxy` a stripped list and two tools, `transparent` all."""

OpenVectors: TypeAlias = Callable[[], "DocumentVectors | None"]
"""Opens what finds tools by meaning, where there is such a thing."""

OnReady: TypeAlias = Callable[[str | None], None]
"""Is told the URL that clients come to, or `None` for standard input and output."""

DRAIN: Final = 5.0
"""Seconds that requests under way have to finish when it is time to stop."""

CLOSE_AT_ONCE: Final = 1.0
"""Seconds that servers have to be gone when they are killed; the end of the process takes whatever is left."""

DIALLING: Final = 2.0
"""Seconds that the programs of the servers have to be started before anything else is done that takes time."""

PATIENCE: Final = 5.0
"""Seconds that a list waits, once, for servers whose tools are not known yet."""

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
) -> None:
    """Serve a configuration over HTTP, or without `http` over standard input and output, until it is to stop.

    It is to stop when the client closes standard input, or at SIGTERM or SIGINT: then no more is taken in, what is
    under way has five seconds, and every server is closed; at a second signal that happens at once. Clients are
    answered while the servers are still starting. `state_dir` is the directory of this configuration alone, in which
    known tools, live health and large results are kept; without it, none of them outlives the process. `upstreams` are
    servers beside those of the configuration, by name; whoever brings them closes what they hold afterwards.
    `admission` says who is let in, and what they have of their own. With a `shared` database it is one of several
    replicas, each of which answers as any other would.

    Every call passes the safeguards of the configuration: pins, policy, limits, approvals, audit. They are opened while
    the servers start, after the policy and the lock file were found usable; before they are open, nobody is served.

    Raises:
        ConfigError: The address cannot be listened at, or must not be; or the policy, the lock file or the key of the
            shared database cannot be used.
        OSError: Standard input or output is closed.
        StoreError: The database of large results cannot be opened.
        ValueError: A server of `upstreams` has the name or the namespace of another.
    """
    from toolcrib_mcp.hub import Hub
    from toolcrib_mcp.safeguards.checking import check_safeguards

    # What the hub tells clients of depends on what they see.
    config = replace(config, settings=config.settings.model_copy(update={"mode": mode}))
    manifest = None if state_dir is None else state_dir / MANIFEST
    check_safeguards(config)
    with stop_signals() as stop:
        # What calls pass is closed last, though it is opened while the servers start: they take longer.
        async with AsyncExitStack() as holding:
            pins: asyncio.Future[PinBook | None] = asyncio.get_running_loop().create_future()
            hub = Hub(config, solo=http is None, manifest=manifest, upstreams=upstreams, pins=pins)
            try:
                async with Background() as background:
                    started = asyncio.Event()
                    background.spawn(_start(hub, started))
                    await hub.dialled(timeout=DIALLING)
                    safeguards = await holding.enter_async_context(await _safeguards(config, state_dir, shared))
                    pins.set_result(safeguards.pins)
                    safeguards.checkpoint.recorder.start()
                    serving = _Serving(
                        hub=hub,
                        started=started,
                        mode=mode,
                        http=http,
                        state_dir=state_dir,
                        on_ready=on_ready,
                        open_vectors=open_vectors,
                        admission=admission,
                        safeguards=safeguards,
                        stop=stop,
                    )
                    await unless(stop.insisted, serving.run())
            finally:
                await _close(hub, stop)


@dataclass(frozen=True, kw_only=True)
class _Serving:
    hub: Hub
    started: asyncio.Event
    """Set when every server runs, or could not be started."""
    mode: Mode
    http: HttpFront | None
    state_dir: Path | None
    on_ready: OnReady | None
    open_vectors: OpenVectors | None
    admission: Admission
    safeguards: Safeguards
    stop: StopRequests

    async def run(self) -> None:
        async with Background() as background, aclosing(await self._service()) as service:
            if self.open_vectors is not None and self.mode == "gateway":
                background.spawn(self._search_by_meaning(cast("GatewayService", service), self.open_vectors))
            if self.http is None:
                self._ready(None, background, sessions=lambda: 1)
                await self._over_stdio(service)
            else:
                await self._over_http(service, self.http, background)

    async def _service(self) -> GatewayService | ProxyService | TransparentService:
        if self.mode == "transparent":
            from toolcrib_mcp.relay import TransparentService

            return TransparentService(self.hub, checkpoint=self.safeguards.checkpoint)
        if self.mode == "gateway":
            from toolcrib_mcp.gateway import open_gateway_service

            return await open_gateway_service(
                self.hub, state_dir=self.state_dir, personal=self.admission.personal, safeguards=self.safeguards
            )
        from toolcrib_mcp.proxy import ProxyRuntime, ProxyService

        return ProxyService(ProxyRuntime(self.hub, patience=PATIENCE, checkpoint=self.safeguards.checkpoint))

    async def _over_stdio(self, service: Service) -> None:
        from toolcrib_mcp.front.stdio import serve_stdio

        max_message = self.hub.config.settings.limits.max_message_bytes
        principal = self.admission.principal
        await serve_stdio(service, drain=DRAIN, max_message=max_message, stop=self.stop.asked, principal=principal)

    async def _over_http(self, service: Service, address: HttpFront, background: Background) -> None:
        from toolcrib_mcp.front.http import serve_http

        apps: list[HttpApp] = []
        front = serve_http(
            service,
            host=address.host,
            port=address.port,
            settings=front_settings(address, self.admission, drain=DRAIN),
            mounts=self.admission.mounts,
            on_front=apps.append,
            on_ready=lambda url: self._ready(url, background, sessions=lambda: apps[0].sessions),
            book=self._book(),
        )
        await unless(self.stop.asked, front)

    def _book(self) -> SessionBook | None:
        key = self.safeguards.replicated
        if key is None:
            return None
        from toolcrib_mcp.shared.session_book import SessionBook

        return SessionBook(self.safeguards.store, key)

    def _ready(self, url: str | None, background: Background, *, sessions: Callable[[], int]) -> None:
        if self.state_dir is not None:
            reporter = Reporter(
                directory=self.state_dir,
                mode=self.mode,
                address=url or "stdio",
                describe=lambda: self.hub.status().to_json(),
                sessions=sessions,
            )
            background.spawn(reporter.run())
        if self.on_ready is not None:
            self.on_ready(url)

    async def _search_by_meaning(self, service: GatewayService, open_vectors: OpenVectors) -> None:
        """Prepare the sentence model and the vectors of all tools, so that no search has to wait for them."""
        await self.started.wait()
        vectors = await asyncio.to_thread(open_vectors)
        if vectors is not None:
            await asyncio.to_thread(vectors.tools, self.hub.catalog.snapshot().registry.list())
            service.search_with(vectors)


async def _start(hub: Hub, started: asyncio.Event) -> None:
    seconds = max((each.settings.start_timeout for each in hub.servers.values()), default=0.0)
    for report in await hub.start(timeout=seconds, lazily=True):
        if report.error is not None:
            _logger.warning("the server %s is not ready: %s", quoted(report.name), report.error.message)
    started.set()


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
