"""What a grant may say, and which hosts it names."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from toolcrib_runtime.guards.net.grant import NetGrant, grants_host, is_host_name, is_localhost


def test_a_grant_without_a_list_names_every_host():
    assert grants_host(NetGrant(), "example.com")


@pytest.mark.parametrize(
    ("host", "named"),
    [
        ("api.example.com", True),
        ("a.b.example.org", True),
        ("example.org", False),
        ("notexample.org", False),
        ("evil.com", False),
        ("api.example.com.evil.com", False),
        ("127.0.0.1", True),
        ("::1", True),
    ],
)
def test_a_list_names_its_hosts_and_everything_below_a_star(host, named):
    grant = NetGrant(hosts=("API.example.com", "*.example.org", "127.0.0.1", "0:0::1"))

    assert grants_host(grant, host) is named


@pytest.mark.parametrize(
    "pattern", ["", "*", "*.", "a.*.com", "*com", "http://a.com", "a.com/", "a.com:80", "127.1", "*.0x7f", "bücher.de"]
)
def test_a_pattern_that_is_not_a_host_is_refused(pattern):
    with pytest.raises(ValidationError, match="expected a host name"):
        NetGrant(hosts=(pattern,))


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_that_does_not_exist_is_refused(port):
    with pytest.raises(ValidationError):
        NetGrant(ports=frozenset({port}))


def test_a_grant_is_read_from_json_and_cannot_be_widened_later():
    grant = NetGrant.model_validate_json('{"hosts": ["api.example.com"], "ports": [443], "allowLoopback": true}')

    assert grant == NetGrant(hosts=("api.example.com",), ports=frozenset({443}), allow_loopback=True)
    with pytest.raises(ValidationError, match="frozen"):
        grant.allow_private = True


@pytest.mark.parametrize("host", ["a", "a.b", "xn--bcher-kva.de", "_srv.a", "a-b.c", "1a.b", "0x.a", f"{'a' * 63}.b"])
def test_a_host_name_is_made_of_labels(host):
    assert is_host_name(host)


@pytest.mark.parametrize(
    "text",
    [
        *["", ".", "a.", ".a", "a..b", "-a", "a-", "A", "a b", "a\n", "é"],
        *["1", "0x7f", "0x", "127.1", "a.1", "a.0xf"],
        *["a" * 64, ".".join(["a" * 60] * 5)],
    ],
)
def test_a_host_name_is_never_what_a_resolver_could_read_as_an_address(text):
    assert not is_host_name(text)


@pytest.mark.parametrize(
    ("host", "local"), [("localhost", True), ("a.localhost", True), ("notlocalhost", False), ("localhost.com", False)]
)
def test_names_under_localhost_are_the_own_machine(host, local):
    assert is_localhost(host) is local
