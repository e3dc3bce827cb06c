"""How the HTTP front is kept safe and bounded."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from toolcrib_mcp.front.http.resource import ProtectedResource
from toolcrib_mcp.front.service import Identity
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_runtime.policy.bounds import check_number, check_whole

Authenticate: TypeAlias = Callable[[str], Awaitable[Identity | None]]
"""Who a bearer token belongs to, if it is known and still good."""

_SENDABLE = re.compile(r"[!-~]+")
_HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/]+")

_SECONDS: Final = (
    "body_timeout",
    "write_timeout",
    "ping_interval",
    "session_idle",
    "abandoned_timeout",
    "drain_timeout",
    "head_timeout",
    "keep_alive",
)

_COUNTS: Final = (
    "max_body",
    "max_sessions",
    "max_principal_sessions",
    "max_requests",
    "max_principal_requests",
    "max_address_connections",
)


@dataclass(frozen=True, kw_only=True)
class HttpFrontSettings:
    """How clients over HTTP are let in, and what each of them may take up.

    Raises:
        ValueError: A number makes no sense, or a token, host or origin can never be met; the message names it.
    """

    tokens: Mapping[str, Secret] = field(default_factory=dict)
    """Who may come in, each with the bearer token that says so; without any, everybody may."""
    authenticate: Authenticate | None = None
    """Asked at every request who a bearer token belongs to that is none of the `tokens`; nobody else may come in."""
    resource: ProtectedResource | None = None
    """Where clients get tokens that `authenticate` knows, and the scopes that these need; told to whoever asks."""
    recheck_interval: float = 30.0
    """Seconds after which `authenticate` is asked again about the client of a stream that stays open."""
    requests_per_minute: int | None = None
    """How many requests a principal may send, or where nobody is asked, an address; without a number, any."""
    allowed_hosts: tuple[str, ...] = ()
    """Names and addresses, without a port, that a request may be for, beside those of this machine itself."""
    allow_addresses: bool = False
    """Whether a request may be for any IP address; nobody makes an address point elsewhere, as one can a name."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may send requests, as `https://example.com`, beside those of the hosts that are allowed."""
    max_body: int = 4 * 1024 * 1024
    """Bytes of one request; requests under way have at most 8 times as many of one principal, 32 times of all."""
    unauthenticated_per_minute: int | None = 600
    """How many requests without a known token an address may send where clients must have one; `None` is any."""
    max_sessions: int = 1000
    """Handshakes that are kept at once."""
    max_principal_sessions: int = 250
    """Of one principal; beyond it, that of its sessions which has been unused for longest ends."""
    max_requests: int = 1000
    """Requests that are worked on at once, streams of changes included."""
    max_principal_requests: int = 250
    """Of one principal."""
    max_address_connections: int = 1000
    """Connections of one address; beyond it, the one that has been idle for longest is closed."""
    session_idle: float = 1800.0
    """Seconds after which a session that nobody uses is forgotten."""
    abandoned_timeout: float = 30.0
    """Seconds that a request goes on after its client has gone without taking it back; only of the handshake era."""
    ping_interval: float = 15.0
    """Seconds of silence after which a stream says that it is still there."""
    body_timeout: float = 30.0
    """Seconds that a request may take to arrive."""
    head_timeout: float = 15.0
    """Seconds that its headers may take of them."""
    write_timeout: float = 30.0
    """Seconds that a client may keep us waiting before it takes what is sent."""
    keep_alive: float = 60.0
    """Seconds that a connection without a request is kept open."""
    drain_timeout: float = 5.0
    """Seconds that requests under way have to finish when the front is closed."""

    @property
    def asks_who(self) -> bool:
        """Whether every client has to say who it is."""
        return bool(self.tokens) or self.authenticate is not None

    def __post_init__(self) -> None:
        for name in _SECONDS:
            check_number(name, getattr(self, name), least=0)
        check_number("recheck_interval", self.recheck_interval, least=0.01)
        for name in _COUNTS:
            check_whole(name, getattr(self, name), least=1)
        for name in ("requests_per_minute", "unauthenticated_per_minute"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=1)
        if self.resource is not None and self.authenticate is None:
            raise ValueError("a `resource` needs `authenticate`, which knows the tokens that are given out for it")
        for principal, token in self.tokens.items():
            if not _SENDABLE.fullmatch(token.reveal()):
                raise ValueError(f"the token of `{principal}` must be visible ASCII, for a header has to carry it")
        if any(one == other for one, other in _pairs(list(self.tokens.values()))):
            raise ValueError("two of the `tokens` are the same, so they do not tell who comes")
        if not all(_HOST.fullmatch(host) for host in self.allowed_hosts):
            raise ValueError("`allowed_hosts` must be names or addresses without a port; IPv6 stands in brackets")
        if not all(_ORIGIN.fullmatch(origin) for origin in self.allowed_origins):
            raise ValueError("`allowed_origins` must be like `https://example.com`, without a path")


def _pairs(tokens: list[Secret]) -> list[tuple[Secret, Secret]]:
    return [(one, other) for place, one in enumerate(tokens) for other in tokens[:place]]
