"""What is served to clients, whatever the transport: the one interface between a front and what stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from toolcrib_mcp.front.feed import Feed
from toolcrib_mcp.upstreams.eras import Era

if TYPE_CHECKING:
    from toolcrib_mcp.rpc import OnProgress

PROGRESS: Final = "notifications/progress"

META_PRINCIPAL: Final = "io.toolcrib/principal"
"""Where in the `_meta` of a request the gateway names its caller, towards services of the same process alone."""


@dataclass(frozen=True, kw_only=True)
class ServerFace:
    """What a client is told at first about the server it reached."""

    capabilities: Mapping[str, Any]
    instructions: str | None = None


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who a client is, once a front has made sure of that."""

    name: str
    """The principal."""
    scopes: frozenset[str] | None = None
    """What its token is limited to, by names that whoever gave it out knows; `None` where it is not limited."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The client behind a request, as far as it told about itself."""

    era: Era
    protocol_version: str
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    info: Mapping[str, Any] = field(default_factory=dict)
    conversation: str | None = None
    """What its requests have in common; `None` for a request that stands alone, as modern ones over HTTP do."""
    principal: str | None = None
    """Who it is, where the front has made sure of that."""
    scopes: frozenset[str] | None = None
    """What its token is limited to; `None` where it is not."""
    log_level: str | None = None
    """The least severity of log messages that it asked for."""


class Channel(Protocol):
    """The way back to the client while its request is worked on; what is sent here belongs to that request."""

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something; one that has gone is no error."""

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # the client is told when time is over
        """Ask the client, and give the `result` of its answer as it came. Only the handshake era has this.

        Raises:
            RpcError: The client answered with an error, which is kept as it came; or it cannot be asked.
        """


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request of a client, raw: `params` is as it came, `_meta` included."""

    method: str
    params: Mapping[str, Any]
    caller: Caller
    channel: Channel

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the params; empty where there is none."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, Mapping) else {}

    @property
    def on_progress(self) -> OnProgress | None:
        """Passes progress on to the client under the token it gave; `None` if it gave none."""
        token = self.meta.get("progressToken")
        if type(token) not in {str, int}:
            return None

        async def pass_on(params: dict[str, Any]) -> None:
            await self.channel.notify(PROGRESS, {**params, "progressToken": token})

        return pass_on


class Service(Protocol):
    """Answers the requests of any number of clients at once.

    A front answers `initialize`, `server/discover`, `ping`, `logging/setLevel` and `subscriptions/listen` itself, and
    brings results into the form of the client's era (`resultType`, `ttlMs`, `cacheScope`); everything else comes here.
    """

    @property
    def info(self) -> Mapping[str, Any]:
        """Name, version and title, as the protocol spells them."""

    @property
    def feed(self) -> Feed:
        """What clients are told without having asked."""

    async def face(self) -> ServerFace:
        """What a client is told at first; may wait a bounded time for servers that are being started."""

    async def answer(self, request: Request) -> Mapping[str, Any]:
        """The result of a request. Being cancelled means that the client no longer wants it.

        Raises:
            RpcError: The error that the client gets.
        """

    async def subscribe(self, listener: str, uri: str) -> None:
        """Publish a notice `to` this listener whenever the resource has changed.

        Raises:
            RpcError: There is no such resource, or nobody tells of its changes.
        """

    async def unsubscribe(self, listener: str, uri: str) -> None:
        """The listener no longer wants to know; one that never did is no error."""

    async def end(self, conversation: str) -> None:
        """A client has gone: forget what was kept for it."""
