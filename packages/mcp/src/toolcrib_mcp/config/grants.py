"""What the gateway may reach for an HTTP server: what the operator granted, else what the URL itself names."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.guards.net.addresses import AddressKind, IpAddress, address_kind
from toolcrib_runtime.guards.net.grant import is_host_name, is_localhost


def network_for(url: str, granted: NetGrant | None) -> NetGrant:
    """The grant for a server at this URL.

    Without one from the operator it is for the URL's host only. A URL that literally names the own machine or a private
    address grants that. A name grants nothing about where it leads: for one that leads to a private address the
    operator has to say `network: {allowPrivate: true}`.
    """
    if granted is not None:
        return granted
    host = _host_of(url)
    address = _as_address(host)
    if address is None and not is_host_name(host):
        return NetGrant()
    kind = address_kind(address) if address is not None else None
    private = kind is AddressKind.PRIVATE
    loopback = kind is AddressKind.LOOPBACK or is_localhost(host)
    return NetGrant(hosts=(host,), allow_loopback=loopback, allow_private=private, allow_http=private)


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _as_address(host: str) -> IpAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
