"""What a tool may reach over the network: hosts, ports and kinds of address."""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MAX_PORT: Final = 65535

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST_NAME: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*", re.ASCII)
# The resolver of the C library reads such a last label as part of an IPv4 address: `127.1` and `0x7f000001` are
# loopback to it, although no address parser takes them for one.
_NUMERIC_END: Final = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)", re.ASCII)


def _host_pattern(text: str) -> str:
    pattern = text.lower()
    if is_host_name(pattern.removeprefix("*.")):
        return pattern
    try:
        return str(ip_address(pattern))
    except ValueError:
        raise ValueError("expected a host name, `*.` and a host name, or an IP address") from None


class NetGrant(BaseModel):
    """What an outbound request may reach; without arguments, any public host by https.

    `hosts` names the hosts that may be asked: `api.example.com`, or `*.example.com` for every name below it. Nothing
    means any. A host on the list still has to lead to an address of a granted kind.
    Loopback needs `allow_loopback`. Other private networks, that is RFC 1918, unique local IPv6 and the shared range of
    carriers and overlays, need `allow_private`. Plain http needs `allow_http`, unless the URL names loopback.
    The services that hand out a machine's credentials are never reached, whatever is granted.
    `ca_file` is trusted instead of the public certificate authorities.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    hosts: tuple[Annotated[str, AfterValidator(_host_pattern)], ...] | None = None
    """Which hosts may be asked; without a list, any."""
    ports: frozenset[Annotated[int, Field(ge=1, le=MAX_PORT)]] | None = None
    """Which ports may be asked; without a list, any."""
    allow_loopback: bool = False
    """Whether the own machine may be asked."""
    allow_private: bool = False
    """Whether other private networks may be asked."""
    allow_http: bool = False
    """Whether plain http is fine."""
    ca_file: Path | None = None
    """A file of certificates that are trusted instead of the public ones."""


def grants_host(grant: NetGrant, host: str) -> bool:
    """Whether the grant's list of hosts, if it has one, names this host."""
    return grant.hosts is None or any(_matches(host, pattern) for pattern in grant.hosts)


def is_host_name(text: str) -> bool:
    """Whether the text is a host name in lower case that no resolver could read as an address."""
    return _HOST_NAME.fullmatch(text) is not None and _NUMERIC_END.fullmatch(text) is None


def is_localhost(host: str) -> bool:
    """Whether the name is reserved for the own machine, by RFC 6761."""
    return host == "localhost" or host.endswith(".localhost")


def _matches(host: str, pattern: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern
