"""URLs: what is requested, what is refused, and what an error shows of them."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_runtime.errors import BlockedAddress, InvalidUrl
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.urls import MAX_URL_BYTES, check_url, origin_of, parse_url, shown_url

LOCAL = NetGrant(allow_loopback=True)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("https://example.com", "example.com", 443),
        ("HTTPS://Example.COM:8443/a?b=c#d", "example.com", 8443),
        ("https://example.com:/", "example.com", 443),
        ("https://1.1.1.1/", "1.1.1.1", 443),
        ("https://[2606:4700::1]:444/", "2606:4700::1", 444),
        ("https://xn--bcher-kva.example/ä?ö=ü", "xn--bcher-kva.example", 443),
    ],
)
def test_a_public_url_is_parsed(text, host, port):
    url = parse_url(text, NetGrant())

    assert origin_of(url) == ("https", host, port)
    assert url.fragment == ""


@pytest.mark.fault("E6")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com",
        "//example.com/",
        "https:example.com",
        "https:/example.com",
        "gopher://example.com/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://:443/",
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://@example.com/",
        "https://example.com\\@127.0.0.1/",
        "https://example.com/a\\b",
        "https://exam ple.com/",
        " https://example.com/",
        "https://example.com/ ",
        "https://example.com/\t",
        "https://exa\tmple.com/",
        "https://example.com/\r\nHost: evil",
        "https://example.com/\x00",
        "https://example.com/%00",
        "https://example.com%00.evil.com/",
        "https://example%2ecom/",
        "https://example.com/\u202e",
        "https://example.com/\u00a0",
        "https://example。com/",
        "https://exam\uff0eple.com/",
        "https://１２７.0.0.1/",
        "https://①②⑦.0.0.1/",
        "https://bücher.example/",
        "https://example.com:８０/",
        "https://example.com:8_0/",
        "https://example.com:+80/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:-1/",
        "https://example.com./",
        "https://example..com/",
        "https://[::1/",
        "https://[1.2.3.4]/",
        "https://[]/",
        f"https://example.com/{'a' * 64 * 1024}",
        f"https://example.com/{'é' * (MAX_URL_BYTES // 2)}",
        "https://example.com/\ud800",
    ],
)
def test_a_url_that_two_readers_could_take_for_two_things_is_refused(text):
    with pytest.raises(InvalidUrl):
        parse_url(text, NetGrant(allow_http=True, allow_loopback=True, allow_private=True))


@pytest.mark.parametrize("text", ["https://user@example.com/", "https://user:password@example.com/"])
def test_credentials_before_the_host_are_sent_elsewhere(text):
    with pytest.raises(InvalidUrl, match="Send credentials in a header"):
        parse_url(text, NetGrant())


@pytest.mark.fault("E2")
@pytest.mark.parametrize(
    "host", ["0x7f000001", "2130706433", "127.1", "0", "0177.0.0.1", "127.0.0.1.", "0x7f.1", "a.0x", "1.1.1.1.1"]
)
def test_a_number_that_only_a_resolver_takes_for_an_address_is_refused(host):
    with pytest.raises(InvalidUrl, match="host"):
        parse_url(f"https://{host}/", NetGrant(allow_http=True, allow_loopback=True))


@pytest.mark.fault("E1", "E2")
@pytest.mark.parametrize(
    "host",
    "127.0.0.1 10.0.0.1 0.0.0.0 [::] [::1] [::ffff:127.0.0.1] [64:ff9b::7f00:1] [fe80::1%25eth0] [2002:7f00:1::] "
    "[fe80::1%eth0] 224.0.0.1 [2600::5efe:10.0.0.1]".split(),
)
def test_an_address_in_a_url_is_judged_at_once(host):
    with pytest.raises(BlockedAddress):
        parse_url(f"https://{host}/", NetGrant())


@pytest.mark.fault("E3")
@pytest.mark.parametrize(
    "host", ["169.254.169.254", "metadata.google.internal", "METADATA.google.internal", "metadata", "x.metadata.goog"]
)
def test_a_metadata_service_is_blocked_whatever_is_granted(host):
    grant = NetGrant(allow_loopback=True, allow_private=True, allow_http=True, hosts=(host,))

    with pytest.raises(BlockedAddress, match="metadata"):
        parse_url(f"http://{host}/latest/", grant)


def test_a_host_outside_the_list_is_blocked():
    grant = NetGrant(hosts=("*.example.com",))

    assert parse_url("https://a.example.com/", grant).host == "a.example.com"
    with pytest.raises(BlockedAddress, match="not one of those"):
        parse_url("https://example.org/", grant)


def test_an_address_on_the_list_matches_in_any_spelling():
    grant = NetGrant(hosts=("::1",), allow_loopback=True)

    assert parse_url("http://[0:0:0:0:0:0:0:1]/", grant).port is None


def test_a_port_outside_the_grant_is_refused():
    grant = NetGrant(ports=frozenset({443}))

    assert parse_url("https://example.com/", grant).port is None
    with pytest.raises(InvalidUrl, match="port"):
        parse_url("https://example.com:8443/", grant)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "app.localhost"])
def test_plain_http_is_for_loopback(host):
    assert parse_url(f"http://{host}/", LOCAL).scheme == "http"


@pytest.mark.parametrize("host", ["example.com", "1.1.1.1"])
def test_plain_http_elsewhere_needs_a_grant(host):
    assert parse_url(f"http://{host}/", NetGrant(allow_http=True)).scheme == "http"
    with pytest.raises(InvalidUrl, match="plain http"):
        parse_url(f"http://{host}/", LOCAL)


@pytest.mark.parametrize("text", ["ftp://example.com/", "https://u:p@example.com/", "/relative", "https://a_b!/"])
def test_a_url_that_another_part_has_built_is_judged_as_well(text):
    with pytest.raises(InvalidUrl):
        check_url(httpx2.URL(text), NetGrant())


@pytest.mark.parametrize("text", ["https://u:hunter2@example.com/", "https://example.com/%00?key=hunter2", "hunter2"])
def test_an_error_shows_nothing_of_a_refused_url(text):
    with pytest.raises(InvalidUrl) as raised:
        parse_url(text, NetGrant())

    assert "hunter2" not in str(raised.value.to_dict())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://example.com", "https://example.com/"),
        ("https://example.com:8443/bot-hunter2/send?key=hunter2", "https://example.com:8443/…"),
        ("https://[2606::1]/?key=hunter2", "https://[2606::1]/…"),
    ],
)
def test_a_url_is_shown_without_path_and_query(text, shown):
    assert shown_url(httpx2.URL(text)) == shown


@pytest.mark.fault("E6")
@given(
    st.builds(
        "{}://{}{}".format,
        st.sampled_from(["http", "https", "HTTPS", "ftp"]),
        st.text(st.sampled_from("ab.1:@[]%\\/#?０。é-_+ "), max_size=12),
        st.text(max_size=8),
    )
)
def test_every_text_is_refused_or_has_the_same_host_for_every_parser(text):
    grant = NetGrant(allow_http=True, allow_loopback=True, allow_private=True)

    try:
        url = parse_url(text, grant)
    except (InvalidUrl, BlockedAddress):
        return

    assert urlsplit(text).hostname == url.raw_host.decode()
    assert (urlsplit(text).port or origin_of(url).port) == origin_of(url).port
