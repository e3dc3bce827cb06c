"""Redirects, one hop at a time: what is asked next, and what no longer goes along."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

import httpx2

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import FetchFailed
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.urls import origin_of, parse_url, shown_url

MAX_REDIRECTS: Final = 5

_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_POST_BECOMES_GET: Final = frozenset({301, 302})
_SEE_OTHER: Final = 303
# A list of what is harmless, not of what is secret: nobody knows the names of all headers that carry keys.
_HARMLESS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})


@dataclass(frozen=True, kw_only=True)
class Hop:
    """One request of an exchange."""

    method: str
    url: httpx2.URL = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    content: bytes = field(default=b"", repr=False)


def is_redirect(status: int) -> bool:
    """Whether the status sends the client elsewhere."""
    return status in _STATUSES


def next_hop(hop: Hop, *, status: int, location: str | None, grant: NetGrant) -> Hop:
    """The request that a redirect leads to.

    Another origin gets no headers but a few harmless ones. Method and body change as the HTTP standard says.

    Raises:
        FetchFailed: The redirect names no place, or leads from https to http.
        InvalidUrl: It leads to a URL that is never requested.
        BlockedAddress: It leads to a host or address that is not granted.
    """
    if location is None:
        raise _refused(hop, "does not say where to")
    url = parse_url(_joined(hop.url, location), grant)
    if hop.url.scheme == "https" and url.scheme == "http":
        raise _refused(hop, "leads from https to plain http")
    following = replace(hop, url=url)
    if origin_of(url) != origin_of(hop.url):
        following = replace(following, headers=_only(hop.headers, _HARMLESS))
    return _without_body(following) if _becomes_get(hop.method, status) else following


def check_origin(following: Hop, hop: Hop) -> None:
    """Refuse to leave the host, the port or the scheme of a request.

    Raises:
        FetchFailed: The redirect leads to another one.
    """
    if origin_of(following.url) != origin_of(hop.url):
        raise _refused(hop, "leads to another host, port or scheme")


def _joined(base: httpx2.URL, location: str) -> str:
    try:
        return urljoin(str(base), location)
    except ValueError:
        # Half a pair of brackets: the URL parser says so in its own words.
        return location


def _becomes_get(method: str, status: int) -> bool:
    if status == _SEE_OTHER:
        return method not in ("GET", "HEAD")
    return status in _POST_BECOMES_GET and method == "POST"


def _without_body(hop: Hop) -> Hop:
    kept = tuple((name, value) for name, value in hop.headers if not name.lower().startswith("content-"))
    return replace(hop, method="GET", headers=kept, content=b"")


def _only(headers: tuple[tuple[str, str], ...], names: frozenset[str]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in headers if name.lower() in names)


def _refused(hop: Hop, problem: str) -> FetchFailed:
    return FetchFailed(
        f"The answer of `{shown_url(hop.url)}` is a redirect that {problem}.",
        category=ToolErrorCategory.UNAVAILABLE,
        hint="Ask for the final URL itself.",
        retryable=False,
        details={"sent": True},
    )
