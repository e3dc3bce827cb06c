"""Which requests are let in: only those that are for this server, and from pages that may send them."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.replies import Refusal
from toolcrib_mcp.front.http.settings import HttpFrontSettings

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^:\[\]@/]+)(?::\d{1,5})?")
_MAX_REMEMBERED = 64


class Guard:
    """Checks the headers of every request before anything else is done with it.

    The checks of host and origin keep web pages from reaching a server on the machine of whoever looks at them, by a
    name that is made to point there. They cannot be switched off.
    """

    def __init__(self, settings: HttpFrontSettings) -> None:
        named = () if settings.resource is None else (settings.resource.host,)
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK_HOSTS, *settings.allowed_hosts, *named))
        self._any_address = settings.allow_addresses
        self._origins = frozenset(origin.lower() for origin in settings.allowed_origins)
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
