"""Who is let in: only requests that are for this server, from pages that may, of clients that say who they are."""

from __future__ import annotations

import hashlib
import hmac
import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.replies import Refusal
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.service import Identity

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]@/]+)(?::\d{1,5})?")
_MAX_REMEMBERED = 64


class Guard:
    """Checks the headers of every request before anything else is done with it.

    The checks of host and origin keep web pages from reaching a server on the machine of whoever looks at them, by a
    name that is made to point there. They cannot be switched off.
    """

    def __init__(self, settings: HttpFrontSettings) -> None:
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK_HOSTS, *settings.allowed_hosts))
        self._any_address = settings.allow_addresses
        self._origins = frozenset(origin.lower() for origin in settings.allowed_origins)
        self._tokens = {principal: _digest(token.reveal()) for principal, token in settings.tokens.items()}
        self._authenticate = settings.authenticate
        self._asks_who = settings.asks_who
        self._met: set[str] = set()

    def check_target(self, headers: Headers) -> None:
        """Refuse a request that is for another host, or comes from a foreign page.

        Raises:
            Refusal: It is, or does.
        """
        host, origin = headers.get(b"host"), headers.get(b"origin")
        if host is None or not (host in self._met or self._is_ours(host) or self._is_address(host)):
            raise Refusal(421, "This server does not answer to that host; `allowed_hosts` names those that it does.")
        if origin is not None and not self._may_send(origin):
            raise Refusal(403, "Pages of that origin may not send requests; `allowed_origins` names those that may.")

    async def identity(self, headers: Headers) -> Identity | None:
        """Who the client is; `None` where nobody has to say.

        Raises:
            Refusal: It does not say, or nobody is known who would say so.
        """
        return await self._known(headers.get(b"authorization")) if self._asks_who else None

    def _is_ours(self, host: str) -> bool:
        match = _HOST.fullmatch(host.lower())
        if match is None or match["name"] not in self._hosts:
            return False
        if len(self._met) < _MAX_REMEMBERED:
            self._met.add(host)
        return True

    def _is_address(self, host: str) -> bool:
        match = _HOST.fullmatch(host.lower()) if self._any_address else None
        return match is not None and _address(match["name"]) is not None

    def _may_send(self, origin: str) -> bool:
        if origin.lower() in self._origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in {"http", "https"} and not parts.path and self._is_ours(parts.netloc)

    async def _known(self, authorization: str | None) -> Identity:
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer":
            raise _unknown("This server wants a bearer token.", b"Bearer")
        presented, known = _digest(token.strip()), None
        for principal, digest in self._tokens.items():
            # All of them, so that the time it takes does not tell which one was near.
            if hmac.compare_digest(presented, digest):
                known = principal
        if known is not None:
            return Identity(name=known)
        try:
            found = None if self._authenticate is None else await self._authenticate(token.strip())
        except ToolError:
            raise Refusal(503, "It cannot be told now whose bearer token that is.") from None
        if found is None:
            raise _unknown("That bearer token is not known here.", b'Bearer error="invalid_token"')
        return found


def check_binding(host: str, settings: HttpFrontSettings) -> None:
    """Refuse to serve a network that anybody may be in without asking who comes.

    Raises:
        ConfigError: The host is not of this machine alone, and there are no tokens.
    """
    if settings.asks_who or is_loopback(host):
        return
    raise ConfigError(
        f"The address {quoted(host)} can be reached from the network, and no token is configured.",
        hint="Set a bearer token for every client, or serve on `127.0.0.1`.",
        details={"place": "host", "host": host},
    )


def is_loopback(host: str) -> bool:
    """Whether only programs of the same machine reach this address."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.strip("[]"))
    except ValueError:
        return None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _unknown(message: str, challenge: bytes) -> Refusal:
    return Refusal(401, message, headers=((b"www-authenticate", challenge),))
