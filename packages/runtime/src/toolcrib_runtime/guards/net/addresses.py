"""Which addresses a tool may reach: every spelling of an address is judged by where it leads."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

from toolcrib_runtime.errors import BlockedAddress
from toolcrib_runtime.guards.net.grant import NetGrant

IpAddress: TypeAlias = IPv4Address | IPv6Address


class AddressKind(StrEnum):
    """Where an address leads, in words that fit before `address`."""

    PUBLIC = "public"
    LOOPBACK = "loopback"
    PRIVATE = "private"
    METADATA = "cloud metadata"
    LINK_LOCAL = "link-local"
    MULTICAST = "multicast"
    TRANSITION = "IPv6 transition"
    DOCUMENTATION = "documentation"
    RESERVED = "reserved"


# `ipaddress.is_global` is no guard: measured on Python 3.11, it is true for NAT64, 6to4 and IPv4-compatible spellings
# of loopback, for fec0::1, for multicast, and for the metadata addresses of Azure and Oracle. So the tables are ours,
# from the special-purpose registries of IANA; the first match counts.
_IPV4: Final = tuple(
    (IPv4Network(network), kind)
    for kind, networks in (
        (AddressKind.METADATA, "169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192"),
        (AddressKind.LOOPBACK, "127.0.0.0/8"),
        (AddressKind.PRIVATE, "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10"),
        (AddressKind.LINK_LOCAL, "169.254.0.0/16"),
        (AddressKind.MULTICAST, "224.0.0.0/4"),
        (AddressKind.RESERVED, "0.0.0.0/8 192.0.0.0/24 192.88.99.0/24 198.18.0.0/15 240.0.0.0/4"),
        (AddressKind.DOCUMENTATION, "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24"),
        (AddressKind.PUBLIC, "0.0.0.0/0"),
    )
    for network in networks.split()
)
# IPv6 is public only inside 2000::/3, and behind the well-known prefix of NAT64, which networks without IPv4 depend on.
_IPV6: Final = tuple(
    (IPv6Network(network), kind)
    for kind, networks in (
        (AddressKind.METADATA, "fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42"),
        (AddressKind.LOOPBACK, "::1"),
        (AddressKind.PRIVATE, "fc00::/7"),
        (AddressKind.LINK_LOCAL, "fe80::/10"),
        (AddressKind.MULTICAST, "ff00::/8"),
        (AddressKind.PUBLIC, "64:ff9b::/96"),
        # IPv4-compatible, translated and local NAT64 addresses; Teredo; 6to4.
        (AddressKind.TRANSITION, "::/96 ::ffff:0:0:0/96 64:ff9b:1::/48 2001::/32 2002::/16"),
        (AddressKind.DOCUMENTATION, "2001:db8::/32 3fff::/20"),
        (AddressKind.RESERVED, "2001::/23"),
        (AddressKind.PUBLIC, "2000::/3"),
        (AddressKind.RESERVED, "::/0"),
    )
    for network in networks.split()
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = 0x0000_5EFE
_ISATAP_MASK: Final = 0xFDFF_FFFF  # all but the bit that says whether the embedded address is globally unique


def check_address(address: str | IpAddress, grant: NetGrant) -> IpAddress:
    """The address to connect to, once everything in it is known to be granted.

    An IPv4 address mapped into IPv6 is the IPv4 address. One that is embedded in another way has to be public.

    Raises:
        BlockedAddress: The address is of a kind that is not granted, or never is; `details["kind"]` says which.
    """
    target = _unmapped(_parsed(address))
    kind = address_kind(target)
    granted = {AddressKind.PUBLIC}
    if grant.allow_loopback:
        granted.add(AddressKind.LOOPBACK)
    if grant.allow_private:
        granted.add(AddressKind.PRIVATE)
    if kind not in granted:
        raise _blocked(kind)
    inner = _embedded(target)
    if inner is not None and address_kind(inner) is not AddressKind.PUBLIC:
        raise _blocked(AddressKind.TRANSITION)
    return target


def address_kind(address: IpAddress) -> AddressKind:
    """Where an address leads, by its own prefix alone."""
    if isinstance(address, IPv4Address):
        return next(kind for network, kind in _IPV4 if address in network)
    return next(kind for network, kind in _IPV6 if address in network)


def _parsed(address: str | IpAddress) -> IpAddress:
    try:
        parsed = ip_address(address)
    except ValueError:
        raise BlockedAddress(
            "The host leads to something that is not an IP address.",
            hint="Use a host name or a plain IP address.",
            details={"kind": "not an address"},
        ) from None
    # A zone picks a network interface, which is none of a tool's business.
    if isinstance(parsed, IPv6Address) and parsed.scope_id is not None:
        raise _blocked(AddressKind.LINK_LOCAL)
    return parsed


def _unmapped(address: IpAddress) -> IpAddress:
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _embedded(address: IpAddress) -> IPv4Address | None:
    """The IPv4 address behind NAT64 or ISATAP; the other transition prefixes are blocked as a whole."""
    if isinstance(address, IPv4Address):
        return None
    number = int(address)
    if address in _NAT64 or (number >> 32) & _ISATAP_MASK == _ISATAP:
        return IPv4Address(number & 0xFFFF_FFFF)
    return None


def _blocked(kind: AddressKind) -> BlockedAddress:
    hints = {
        AddressKind.LOOPBACK: "Use a public host, or grant `allow_loopback` to this tool.",
        AddressKind.PRIVATE: "Use a public host, or grant `allow_private` to this tool.",
    }
    return BlockedAddress(
        f"The host leads to a {kind} address, which this tool may not reach.",
        hint=hints.get(kind, "Use a public host; no grant opens this address."),
        details={"kind": kind.value},
    )
