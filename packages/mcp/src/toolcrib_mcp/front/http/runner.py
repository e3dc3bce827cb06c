"""Running the front on a socket of its own, until it is cancelled."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.front.http.app import PATH, AsgiApp, HttpFront
from toolcrib_mcp.front.http.guard import check_binding
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.service import Service

if TYPE_CHECKING:
    from toolcrib_mcp.shared.session_book import SessionBook

_MAX_PORT = 65_535


def http_app(
    service: Service,
    *,
    settings: HttpFrontSettings | None = None,
    mounts: Mapping[str, AsgiApp] | None = None,
    book: SessionBook | None = None,
) -> HttpFront:
    """The service as an ASGI application; every host by which it is reached has to be among the `allowed_hosts`."""
    return HttpFront(service, settings=settings or HttpFrontSettings(), mounts=mounts, book=book)


async def serve_http(
    service: Service,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: HttpFrontSettings | None = None,
    mounts: Mapping[str, AsgiApp] | None = None,
    on_ready: Callable[[str], None] | None = None,
    on_front: Callable[[HttpFront], None] | None = None,
    book: SessionBook | None = None,
) -> None:
    """Serve until cancelled; port 0 is any that is free, and `on_ready` is given the URL.

    Just before, `on_front` is given the application, which knows how many sessions are open.

    Being cancelled, it takes no more requests, lets those under way finish within `drain_timeout`, and ends all
    streams and sessions; those in a `book` go on at other replicas. Signals are left to whoever started it.

    Raises:
        ConfigError: The address cannot be served on, or the whole network could come in without a token.
    """
    # Only now: what only asks for the settings does not need a server.
    from toolcrib_mcp.front.http.uvicorn_server import QuietServer

    settings = settings or HttpFrontSettings()
    check_binding(host, settings)
    listening = await _listen(host, port)
    bound = listening.getsockname()[:2]
    front = http_app(service, settings=_with_hosts(settings, host.strip("[]"), bound[0]), mounts=mounts, book=book)
    server = QuietServer(front, settings=settings)
    running = asyncio.create_task(server.serve([listening]))
    try:
        await server.until_ready(running)
        if on_front is not None:
            on_front(front)
        if on_ready is not None:
            on_ready(f"http://{_reachable(bound[0])}:{bound[1]}{PATH}")
        await asyncio.shield(running)
    finally:
        await front.aclose()
        await server.aclose(running)
        listening.close()


async def _listen(host: str, port: int) -> socket.socket:
    try:
        return await _bound(host.strip("[]"), port)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"The address {quoted(f'{host}:{port}')} cannot be served on: {error}.",
            hint="Choose another host or port; port 0 takes any that is free.",
            details={"place": "port", "host": host, "port": port},
        ) from error


async def _bound(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _MAX_PORT:
        # The resolver takes what is left of it after the first sixteen bits.
        raise OverflowError(f"a port is at most {_MAX_PORT}")
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE
    )
    family, kind, protocol, _, address = found[0]
    # With the protocol named, asyncio sends small packets at once.
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.settimeout(0)
    except BaseException:
        listening.close()
        raise
    return listening


def _with_hosts(settings: HttpFrontSettings, host: str, address: str) -> HttpFrontSettings:
    """The settings with every host that the socket is reached by, as far as that can be known."""
    return replace(
        settings,
        allowed_hosts=(*settings.allowed_hosts, _bracketed(host or address), _bracketed(address)),
        allow_addresses=settings.allow_addresses or ip_address(address).is_unspecified,
    )


def _reachable(address: str) -> str:
    if ip_address(address).is_unspecified:
        return "[::1]" if ":" in address else "127.0.0.1"
    return _bracketed(address)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
