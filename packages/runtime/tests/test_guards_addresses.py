"""Which addresses are reached: a table of known ones, and properties over every spelling."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_runtime.errors import BlockedAddress
from toolcrib_runtime.guards.net.addresses import AddressKind, address_kind, check_address
from toolcrib_runtime.guards.net.grant import NetGrant

EVERYTHING = NetGrant(allow_loopback=True, allow_private=True, allow_http=True)

METADATA = """
169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 fd00:ec2::23 fd20:ce::254
fd00:c1::a9fe:a9fe fd00:42::42 ::ffff:169.254.169.254 ::ffff:168.63.129.16 64:ff9b::169.254.169.254
64:ff9b::168.63.129.16 2002:a9fe:a9fe:: ::169.254.169.254 2001:db8::5efe:a9fe:a9fe
""".split()

NEVER = """
0.0.0.0 0.1.2.3 169.254.0.1 169.254.255.255 192.0.0.1 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1
203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 :: fe80::1 fe80::1%eth0 fec0::1 ff02::1 100::1
2001:db8::1 3fff::1 2001:2::1 2001:10::1 5f00::1 2001:0:7f00:1:: 2002:7f00:1:: 64:ff9b:1::7f00:1 ::127.0.0.1
::ffff:0:127.0.0.1 2600::1%1 ::1%lo 64:ff9b::127.0.0.1 2600::5efe:127.0.0.1 2600::200:5efe:10.0.0.1
""".split()

LOOPBACK = "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1".split()

PRIVATE = "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255 fc00::1 fdff::1".split()

PUBLIC = "1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 192.0.1.1 2606:4700::1 64:ff9b::8.8.8.8 2600::5efe:8.8.8.8".split()


@pytest.mark.fault("E1", "E2")
@pytest.mark.parametrize("address", [*NEVER, *LOOPBACK, *PRIVATE, *METADATA])
def test_an_address_that_is_not_public_is_blocked_without_a_grant(address):
    with pytest.raises(BlockedAddress):
        check_address(address, NetGrant())


@pytest.mark.fault("E1", "E2", "E3")
@pytest.mark.parametrize("address", [*NEVER, *METADATA])
def test_some_addresses_are_blocked_whatever_is_granted(address):
    with pytest.raises(BlockedAddress):
        check_address(address, EVERYTHING)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_reached_without_a_grant(address):
    assert check_address(address, NetGrant()) == ip_address(address)


@pytest.mark.parametrize("address", LOOPBACK)
def test_loopback_needs_its_own_grant(address):
    reached = check_address(address, NetGrant(allow_loopback=True))

    assert reached.is_loopback
    with pytest.raises(BlockedAddress, match="`allow_loopback`"):
        check_address(address, NetGrant(allow_private=True))


@pytest.mark.parametrize("address", PRIVATE)
def test_private_networks_need_their_own_grant(address):
    assert check_address(address, NetGrant(allow_private=True)) == ip_address(address)
    with pytest.raises(BlockedAddress, match="`allow_private`"):
        check_address(address, NetGrant(allow_loopback=True))


def test_a_mapped_address_is_dialled_as_the_address_that_it_maps():
    assert check_address("::ffff:8.8.8.8", NetGrant()) == IPv4Address("8.8.8.8")


@pytest.mark.fault("E2")
@pytest.mark.parametrize("text", ["", "localhost", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "1.2.3.4 "])
def test_what_is_not_an_address_is_blocked(text):
    with pytest.raises(BlockedAddress, match="not an IP address"):
        check_address(text, EVERYTHING)


def test_the_error_names_the_kind_and_not_the_address():
    with pytest.raises(BlockedAddress) as raised:
        check_address("10.11.12.13", NetGrant())

    assert raised.value.details == {"kind": "private"}
    assert "10.11.12.13" not in str(raised.value)


NOT_PUBLIC = st.sampled_from(
    [IPv4Network(network) for network in "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16".split()]
    + [IPv4Network(network) for network in "172.16.0.0/12 192.168.0.0/16 198.18.0.0/15 224.0.0.0/3".split()]
).flatmap(lambda network: st.integers(int(network[0]), int(network[-1])))

PREFIXES = st.integers(0, 2**64 - 1)
HALVES = st.integers(0, 2**80 - 1)


def spellings(inner: int, prefix: int, half: int) -> list[int]:
    """Every way in which IPv6 carries an IPv4 address."""
    return [
        0xFFFF << 32 | inner,  # mapped
        inner,  # compatible
        0xFFFF << 48 | inner,  # translated
        0x64_FF9B << 96 | inner,  # NAT64
        0x64_FF9B_0001 << 80 | half & ~0xFFFF_FFFF | inner,  # local NAT64, /96
        0x2002 << 112 | inner << 80 | half,  # 6to4
        0x2001_0000 << 96 | half & ~0xFFFF_FFFF | inner ^ 0xFFFF_FFFF,  # Teredo, client
        0x2001_0000 << 96 | inner << 64 | half & (2**64 - 1),  # Teredo, server
        prefix << 64 | 0x5EFE << 32 | inner,  # ISATAP
        prefix << 64 | 0x0200_5EFE << 32 | inner,
    ]


@pytest.mark.fault("E2")
@given(NOT_PUBLIC, PREFIXES, HALVES, st.integers(0, 9))
def test_no_spelling_in_ipv6_hides_an_ipv4_address_that_is_not_public(inner, prefix, half, which):
    address = IPv6Address(spellings(inner, prefix, half)[which])

    for spelling in (address, address.compressed, address.exploded):
        with pytest.raises(BlockedAddress):
            check_address(spelling, NetGrant())


@pytest.mark.fault("E3")
@given(st.sampled_from(METADATA[:5]), PREFIXES, HALVES, st.integers(0, 9))
def test_no_spelling_in_ipv6_hides_a_metadata_address_from_the_widest_grant(inner, prefix, half, which):
    address = IPv6Address(spellings(int(IPv4Address(inner)), prefix, half)[which])

    with pytest.raises(BlockedAddress):
        check_address(address, EVERYTHING)


@given(st.ip_addresses())
def test_every_address_has_one_kind_and_is_reached_exactly_when_it_is_granted(address):
    kind = address_kind(address)

    try:
        reached = check_address(address, NetGrant())
    except BlockedAddress:
        reached = None

    assert reached is None or kind is AddressKind.PUBLIC or reached.version == 4
    assert reached is None or reached.is_global
