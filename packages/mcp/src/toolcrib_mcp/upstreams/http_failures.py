"""What a failed HTTP exchange with a server means, in our own words: those of others may quote what was sent."""

from __future__ import annotations

import socket
import ssl
from http import HTTPStatus
from typing import Final

import httpx2

from toolcrib_mcp.errors import (
    AuthFailed,
    AuthRequired,
    ResultTooLarge,
    UpstreamBusy,
    UpstreamError,
    UpstreamFailed,
    UpstreamMalformed,
    UpstreamUnavailable,
)
from toolcrib_mcp.rpc import Unreadable
from toolcrib_mcp.upstreams.links import SESSION_LOST
from toolcrib_runtime.errors import GuardError, MalformedOutput, OutputTooLarge
from toolcrib_runtime.guards.net.headers import retry_after
from toolcrib_runtime.guards.net.redirects import is_redirect
from toolcrib_runtime.guards.net.transport import causes
from toolcrib_runtime.guards.net.urls import shown_url

_METHOD_NOT_FOUND: Final = -32601
_INTERNAL_ERROR: Final = -32603
_UNREACHABLE: Final = frozenset({408, 502, 503, 504})


def undelivered(request_id: object, error: UpstreamError) -> Unreadable:
    """What `receive` gives in place of the answer to a request that failed on the way."""
    return Unreadable(reason=error.message, excerpt="", id=request_id, error=error)


def not_reached(error: httpx2.TransportError, url: httpx2.URL) -> UpstreamUnavailable:
    """The failure of a request that got no answer at all."""
    every = tuple(causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in every):
        return _unavailable(url, "has a certificate that is not valid for it", sent=False, retryable=False)
    if any(isinstance(cause, ssl.SSLError) for cause in every):
        return _unavailable(url, "does not speak TLS as this client does", sent=False, retryable=False)
    if any(isinstance(cause, socket.gaierror) for cause in every):
        return _unavailable(url, "has a host name that does not resolve", sent=False)
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return _unavailable(url, "does not take a connection", sent=False)
    return broken_off(url)


def broken_off(url: httpx2.URL) -> UpstreamUnavailable:
    """The failure of a request that was sent and whose answer did not come to its end."""
    return _unavailable(url, "broke off before its answer was complete", sent=True)


def session_lost(url: httpx2.URL, *, sent: bool) -> UpstreamUnavailable:
    """The failure of a request for a session that the server does not know any more; unsent, it was not looked at."""
    return _unavailable(url, "has forgotten the session", sent=sent, reason=SESSION_LOST)


def guarded(error: GuardError | OutputTooLarge, url: httpx2.URL) -> UpstreamError:
    """The failure of a request that a guard stopped, or whose answer one did not let through."""
    if isinstance(error, OutputTooLarge):
        return ResultTooLarge(
            f"The answer of `{shown_url(url)}` is larger than is taken: {error.message}", details=error.details
        )
    if isinstance(error, MalformedOutput):
        return UpstreamMalformed(
            f"The answer of `{shown_url(url)}` cannot be used: {error.message}", hint=error.hint, details=error.details
        )
    return UpstreamUnavailable(
        f"`{shown_url(url)}` is not asked: {error.message}",
        hint=error.hint,
        retryable=False,
        details={**error.details, "sent": False},
    )


def refused(response: httpx2.Response, url: httpx2.URL, *, has_credentials: bool) -> UpstreamError:
    """The failure that the status of an answer stands for, where the answer has no error of its own."""
    status = response.status_code
    wait = retry_after(response.headers.get("Retry-After"))
    details: dict[str, object] = {"status": status} | ({} if wait is None else {"retryAfter": wait})
    said = f"`{shown_url(url)}` answered with HTTP status {_named(status)}."
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        if status == HTTPStatus.UNAUTHORIZED and not has_credentials:
            return AuthRequired(said, hint="Configure the header that the server wants.", details=details)
        return AuthFailed(said, hint="Renew the configured credentials, or ask for more rights.", details=details)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return UpstreamBusy(said, hint="Ask again later, and less often.", details=details)
    if is_redirect(status):
        return UpstreamUnavailable(
            f"{said} Redirects to other places are not followed.",
            hint="Configure the final URL itself.",
            retryable=False,
            details={**details, "sent": True},
        )
    if status in _UNREACHABLE:
        return UpstreamUnavailable(said, hint="Try again later.", details={**details, "sent": True})
    return UpstreamFailed(
        said,
        rpc_code=_METHOD_NOT_FOUND if status == HTTPStatus.NOT_FOUND else _INTERNAL_ERROR,
        rpc_message=f"HTTP status {_named(status)}",
        hint="Check the URL and the configured headers; the same request will fail again.",
    )


def no_answer(response: httpx2.Response, url: httpx2.URL, *, excerpt: str) -> UpstreamMalformed:
    """The failure of a request whose answer is something else than a message."""
    return UpstreamMalformed(
        f"`{shown_url(url)}` answered with HTTP status {_named(response.status_code)}, but with no message.",
        hint="The URL may not be that of an MCP server over streamable HTTP; check its path.",
        details={"status": response.status_code, "excerpt": excerpt},
    )


def _unavailable(
    url: httpx2.URL, problem: str, *, sent: bool, retryable: bool | None = None, reason: str | None = None
) -> UpstreamUnavailable:
    return UpstreamUnavailable(
        f"`{shown_url(url)}` {problem}.",
        hint="Check the URL, and whether the server runs.",
        retryable=retryable,
        details={"sent": sent} | ({} if reason is None else {"reason": reason}),
    )


def _named(status: int) -> str:
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)
