"""URLs that may be requested: parsed by the library that dials them, refused where two readers could differ."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from toolcrib_runtime.errors import BlockedAddress, InvalidUrl
from toolcrib_runtime.guards.net.addresses import IpAddress, check_address
from toolcrib_runtime.guards.net.grant import MAX_PORT, NetGrant, grants_host, is_host_name, is_localhost

if TYPE_CHECKING:
    import httpx2

MAX_URL_BYTES: Final = 8192

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# Stricter than httpx2, which takes the port `8_0` for 80 and the ideographic full stop for a dot: both were seen.
_AUTHORITY: Final = re.compile(r"(?:\[[^\[\]]*\]|[a-z0-9._-]+)(?::[0-9]{0,5})?", re.ASCII | re.IGNORECASE)
_BEFORE_PATH: Final = re.compile(r"(?P<scheme>[^:/?#]*)://(?P<authority>[^/?#]*)")
_METADATA_NAMES: Final = (
    "metadata.google.internal",
    "metadata.goog",
    "metadata",
    "instance-data",
    "instance-data.ec2.internal",
    "metadata.tencentyun.com",
)


class Origin(NamedTuple):
    """Who is asked: two URLs of one origin share credentials, all others do not."""

    scheme: str
    host: str
    port: int


def parse_url(text: str, grant: NetGrant) -> httpx2.URL:
    """The URL in a text, once it is known to be well formed, granted, and read by everybody in the same way.

    A host that is a name is resolved and judged only when it is dialled.

    Raises:
        InvalidUrl: The text is no http or https URL that is ever requested, or scheme or port are not granted.
        BlockedAddress: The host is not on the grant's list, or is an address that is not granted.
    """
    # Not at the top: who has no URL to read needs no HTTP client.
    import httpx2

    _check_characters(text)
    shape = _BEFORE_PATH.match(text)
    if shape is None or shape["scheme"].lower() not in DEFAULT_PORTS:
        raise _invalid("it does not start with `http://` or `https://`")
    if "@" in shape["authority"]:
        raise _invalid("it holds a user name or password before the host", "Send credentials in a header.")
    if _AUTHORITY.fullmatch(shape["authority"]) is None:
        raise _invalid("its host or port is malformed", "Write the host in ASCII (`xn--…` for other scripts).")
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        raise _invalid("its host or port is malformed") from None
    check_url(url, grant)
    return url.copy_with(fragment=None)


def check_url(url: httpx2.URL, grant: NetGrant) -> None:
    """Judge a parsed URL: the part of `parse_url` that also holds for a request somebody else has built.

    Raises:
        InvalidUrl: As for `parse_url`.
        BlockedAddress: As for `parse_url`.
    """
    scheme, host, port = origin_of(url)
    if scheme not in DEFAULT_PORTS:
        raise _invalid("it does not start with `http://` or `https://`")
    if url.userinfo:
        raise _invalid("it holds a user name or password before the host", "Send credentials in a header.")
    if not 1 <= port <= MAX_PORT or (grant.ports is not None and port not in grant.ports):
        raise _invalid("its port is not granted")
    address = _check_host(host, grant)
    on_loopback = address.is_loopback if address else is_localhost(host)
    if scheme == "http" and not (grant.allow_http or on_loopback):
        raise _invalid("plain http is not granted", "Use https.")


def origin_of(url: httpx2.URL) -> Origin:
    """Scheme, host and port of a URL, with the scheme's own port where it names none."""
    port = url.port if url.port is not None else DEFAULT_PORTS.get(url.scheme, 0)
    return Origin(scheme=url.scheme, host=url.raw_host.decode("ascii"), port=port)


def shown_url(url: httpx2.URL) -> str:
    """A URL as errors show it: query, fragment and path are left out, because any of them may hold a secret."""
    hidden = "/…" if url.raw_path != b"/" else "/"
    return f"{url.scheme}://{url.netloc.decode('ascii')}{hidden}"


def _check_characters(text: str) -> None:
    if len(text) > MAX_URL_BYTES or len(text.encode(errors="replace")) > MAX_URL_BYTES:
        raise _invalid(f"it is longer than {MAX_URL_BYTES:,} bytes")
    if not text.isprintable() or " " in text:
        raise _invalid("it holds whitespace or a character that cannot be seen", "Percent-encode it.")
    # `http://example.com\@127.0.0.1/` has the host 127.0.0.1 for one reader and example.com for another.
    if "\\" in text:
        raise _invalid("it holds a backslash", "Percent-encode it.")
    if "%00" in text:
        raise _invalid("it holds an encoded NUL")


def _check_host(host: str, grant: NetGrant) -> IpAddress | None:
    address = _as_address(host)
    if address is None and not is_host_name(host):
        raise _invalid(
            "its host is not a host name",
            "Use a name such as `api.example.com`, without a dot at the end, or a plain IP address.",
        )
    if not grants_host(grant, str(address or host)):
        raise BlockedAddress(
            "The host is not one of those that this tool may reach.",
            hint="Use a granted host, or add this one to the grant's `hosts`.",
            details={"kind": "host not granted"},
        )
    if any(host == name or host.endswith(f".{name}") for name in _METADATA_NAMES):
        raise BlockedAddress(
            "The host is a cloud metadata service, which no tool may reach.",
            hint="Use a public host; no grant opens this one.",
            details={"kind": "cloud metadata"},
        )
    return check_address(address, grant) if address else None


def _as_address(host: str) -> IpAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _invalid(problem: str, hint: str | None = None) -> InvalidUrl:
    return InvalidUrl(f"The URL is not requested: {problem}.", hint=hint, details={"problem": problem})
