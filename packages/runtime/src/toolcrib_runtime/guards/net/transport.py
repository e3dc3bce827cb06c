"""A transport for any `httpx2` client that dials only checked addresses, and reads only what it was told to."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import certifi
import httpcore2
import httpx2

from toolcrib_runtime.errors import FileUnusable, InvalidRequest
from toolcrib_runtime.guards.net.body import ACCEPTED_ENCODINGS, is_packed, unpacked
from toolcrib_runtime.guards.net.dial import GuardedBackend, Resolver, system_resolver
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.headers import check_received, check_sendable, headers_too_long
from toolcrib_runtime.guards.net.urls import check_url

MAX_CONNECTIONS: Final = 32

_KEEPALIVE_SECONDS: Final = 5.0
_TOO_LONG: Final = 431  # h11's mark on the error for a line or header that does not end
# What users of httpx2 expect; httpx2 keeps its own table to itself.
_ERRORS: Final[tuple[tuple[type[Exception], type[httpx2.TransportError]], ...]] = (
    (httpcore2.ConnectTimeout, httpx2.ConnectTimeout),
    (httpcore2.ReadTimeout, httpx2.ReadTimeout),
    (httpcore2.WriteTimeout, httpx2.WriteTimeout),
    (httpcore2.PoolTimeout, httpx2.PoolTimeout),
    (httpcore2.ConnectError, httpx2.ConnectError),
    (httpcore2.ReadError, httpx2.ReadError),
    (httpcore2.WriteError, httpx2.WriteError),
    (httpcore2.LocalProtocolError, httpx2.LocalProtocolError),
    (httpcore2.RemoteProtocolError, httpx2.RemoteProtocolError),
)


def guarded_transport(grant: NetGrant, *, resolver: Resolver | None = None) -> httpx2.AsyncBaseTransport:
    """A transport for `httpx2.AsyncClient(transport=…, trust_env=False)` that reaches only what is granted.

    Every request is judged, redirects that the client follows too. The name is resolved once per connection, every
    answer has to be granted, and a granted one is dialled. TLS verifies the name. Proxies and the environment play no
    part. Only gzip is unpacked, in small pieces. Time and the size of a body are for the caller to bound, or for
    `GuardedClient`.

    Raises:
        FileUnusable: The grant's `ca_file` cannot be used.
    """
    return _GuardedTransport(grant, resolver or system_resolver)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it, from the last to the first; httpcore2's pool hides causes but not contexts."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


class _GuardedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, grant: NetGrant, resolver: Resolver) -> None:
        self._grant = grant
        self._pool = _Pool(
            ssl_context=_ssl_context(grant.ca_file) if grant.ca_file else _public_ssl_context(),
            max_connections=MAX_CONNECTIONS,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=GuardedBackend(grant, resolver=resolver),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = ACCEPTED_ENCODINGS
        check_url(request.url, self._grant)
        check_sendable(request.headers.raw)
        _check_host_header(request)
        with _as_httpx_errors():
            answer = await self._pool.handle_async_request(_core_request(request))
        try:
            return _bounded(answer)
        except BaseException:
            await answer.aclose()
            raise

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Pool(httpcore2.AsyncConnectionPool):
    """A pool that closes what it has given up, also when the request that found it is cancelled meanwhile.

    httpcore2 2.10 guards this against cancel scopes only: `task.cancel()` would leave the rest of the list open.
    """

    async def _close_connections(self, closing: list[httpcore2.AsyncConnectionInterface]) -> None:
        if closing:
            work = asyncio.create_task(super()._close_connections(closing))
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait([work])
                raise


class _Body(httpx2.AsyncByteStream):
    """The plain bytes of an answer as they come."""

    def __init__(self, answer: httpcore2.Response, *, packed: bool) -> None:
        self._answer = answer
        self._packed = packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = cast("AsyncIterable[bytes]", self._answer.stream).__aiter__()
        plain = unpacked(chunks) if self._packed else chunks
        with _as_httpx_errors():
            async for piece in plain:
                yield piece

    async def aclose(self) -> None:
        await self._answer.aclose()


def _core_request(request: httpx2.Request) -> httpcore2.Request:
    return httpcore2.Request(
        method=request.method,
        url=httpcore2.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        ),
        headers=request.headers.raw,
        content=cast("AsyncIterable[bytes]", request.stream),
        extensions=_harmless(request.extensions),
    )


def _harmless(extensions: Mapping[str, Any]) -> dict[str, Any]:
    # `sni_hostname` would verify a certificate for another name, and `target` would ask for another path.
    return {name: extensions[name] for name in ("timeout", "trace") if name in extensions}


def _bounded(answer: httpcore2.Response) -> httpx2.Response:
    check_received(answer.headers)
    headers = httpx2.Headers(answer.headers)
    packed = is_packed(headers.get("Content-Encoding"))
    # What leaves here is plain: a client must not unpack it again, nor expect the packed length.
    for stale in ("Content-Encoding", "Content-Length") if packed else ():
        headers.pop(stale, None)
    return httpx2.Response(
        status_code=answer.status, headers=headers, stream=_Body(answer, packed=packed), extensions=answer.extensions
    )


def _check_host_header(request: httpx2.Request) -> None:
    # A second name in the header would get past the list of granted hosts, on servers that serve several.
    if request.headers.get_list("Host") != [request.url.netloc.decode("ascii")]:
        raise InvalidRequest("The `Host` header is not the host of the URL.", hint="Leave it out.")


@cache  # reading the authorities takes some 40 ms
def _public_ssl_context() -> ssl.SSLContext:
    return _ssl_context(certifi.where())


def _ssl_context(ca_file: str | Path) -> ssl.SSLContext:
    # By hand, because `ssl.create_default_context` obeys SSLKEYLOGFILE, and the default paths of OpenSSL obey
    # SSL_CERT_FILE. This kind of context asks for a certificate and compares the name.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cafile=ca_file)
    except OSError as error:
        raise FileUnusable(
            "The file of trusted certificates cannot be read.", hint="Name a PEM file with certificates in `ca_file`."
        ) from error
    return context


@contextmanager
def _as_httpx_errors() -> Iterator[None]:
    try:
        yield
    except tuple(ours for ours, _ in _ERRORS) as error:
        if any(getattr(each, "error_status_hint", None) == _TOO_LONG for each in causes(error)):
            raise headers_too_long() from error
        theirs = next(theirs for ours, theirs in _ERRORS if isinstance(error, ours))
        raise theirs(str(error)) from error
