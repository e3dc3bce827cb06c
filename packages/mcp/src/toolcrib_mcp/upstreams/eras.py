"""The two eras of the protocol: which one a server speaks is found out once, on a fresh connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from toolcrib_core.wording import listed, quoted
from toolcrib_mcp.errors import ResultTooLarge, UpstreamFailed, UpstreamMalformed, UpstreamTimeout, UpstreamUnavailable
from toolcrib_runtime.cancellation import CallScope
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import DeadlineExceeded

if TYPE_CHECKING:
    from toolcrib_mcp.rpc import Connection

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""What `initialize` can agree on, oldest first."""

MODERN_VERSIONS: Final = ("2026-07-28",)
"""What every request names for itself, oldest first."""

META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"

DISCOVER: Final = "server/discover"
INITIALIZE: Final = "initialize"

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
"""What a modern server says when it has begun to tell of changes."""

_UNSUPPORTED_VERSION = -32022
# A server of the handshake era may keep silent about a method it does not know. The official client waits ten
# seconds for it; half as long is plenty for one that has started, and the handshake must still fit.
# One that is still starting then answers in time nevertheless: see `initialize_or_discover`.
_PROBE_SECONDS = 5.0


class Era(StrEnum):
    """How a server is spoken to."""

    HANDSHAKE = "handshake"
    """`initialize` first; the connection then remembers what was agreed on."""
    MODERN = "modern"
    """Every request says itself which version it is of and what the client can do."""


@dataclass(frozen=True, kw_only=True)
class ClientFace:
    """What a server is told about us. Capabilities that are not named here are refused when a server uses them."""

    name: str = "toolcrib"
    version: str = "0.1.0"
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    @property
    def info(self) -> dict[str, Any]:
        """Name and version, as the protocol spells them."""
        return {"name": self.name, "version": self.version}


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What a server told about itself, and the version that both sides speak."""

    era: Era
    protocol_version: str
    capabilities: Mapping[str, Any]
    server_info: Mapping[str, Any] = field(default_factory=dict)
    instructions: str | None = None


async def agree(
    connection: Connection, *, face: ClientFace, deadline: float, era: Era | None = None, clock: Clock = SYSTEM_CLOCK
) -> Agreement:
    """Find out which era the server speaks, and open the conversation in it.

    With `era`, the server is taken to speak that one; one that turns out not to is asked for the other.

    Raises:
        UpstreamUnavailable: No version is known to both sides, the server refused, or the connection ended.
        UpstreamTimeout: It did not answer in time.
        UpstreamMalformed: Its answer to `initialize` is none.
    """
    talk = _Talk(connection, face=face, deadline=deadline, clock=clock)
    if era is Era.HANDSHAKE:
        with suppress(UpstreamFailed):  # it was another server when it was asked last
            return await talk.initialize()
    return await _probe_first(talk)


async def _probe_first(talk: _Talk) -> Agreement:
    """Probe, else shake hands; as the official client decides it: all but the word of a modern server is legacy."""
    version = MODERN_VERSIONS[-1]
    for last_try in (False, True):
        try:
            agreement = await talk.discover(version)
        except UpstreamFailed as refused:
            named = _supported(refused)
            if (mutual := _newest_mutual(named)) is not None and not last_try:
                version = mutual
                continue
            if named is not None and not set(named) & set(HANDSHAKE_VERSIONS):
                raise _no_common_version(named) from refused
            agreement = None
        if agreement is not None:
            return agreement
        try:
            return await talk.initialize_or_discover()
        except UpstreamFailed as refused:
            # Some servers settle on the modern era by a probe whose answer came too late, and refuse the handshake.
            mutual = _newest_mutual(_supported(refused))
            if mutual is None or last_try:
                raise _refused(refused) from refused
            version = mutual
    raise AssertionError("the second try returns or raises")  # pragma: no cover  # as it says


class _Talk:
    """The first words on a connection, all within one deadline."""

    def __init__(self, connection: Connection, *, face: ClientFace, deadline: float, clock: Clock) -> None:
        self._connection = connection
        self._face = face
        self._deadline = deadline
        self._clock = clock
        self._late: asyncio.Task[Agreement | None] | None = None

    async def discover(self, version: str) -> Agreement | None:
        """What a modern server says about itself; `None` if nothing says so far that it is one.

        The request stays in flight then: a server that starts slowly answers it later.
        """
        discovering = asyncio.create_task(self._discover(version), name="server/discover")
        patience = min(_PROBE_SECONDS, self._seconds_left() / 2)
        scope = CallScope(clock=self._clock, deadline=self._clock.monotonic() + patience, cancellation=None)
        try:
            with suppress(DeadlineExceeded):
                await scope.run(asyncio.wait([discovering]))
        except BaseException:
            discovering.cancel()
            raise
        if discovering.done():
            return discovering.result()
        self._late = discovering
        return None

    async def initialize_or_discover(self) -> Agreement:
        """The handshake, unless the answer to a request for discovery that is in flight comes first.

        A slow starter reads both requests in order. Without this it would speak another era on a busy machine, and a
        server may list other definitions in the other era.
        """
        late, self._late = self._late, None
        if late is None:
            return await self.initialize()
        initializing = asyncio.create_task(self.initialize(), name="initialize")
        try:
            await asyncio.wait((late, initializing), return_when=asyncio.FIRST_COMPLETED)
            if late.done() and late.exception() is None and (agreement := late.result()) is not None:
                return agreement
            return await initializing
        finally:
            late.cancel()
            initializing.cancel()
            await asyncio.gather(late, initializing, return_exceptions=True)

    async def _discover(self, version: str) -> Agreement | None:
        params = {"_meta": stamp(self._face, version)}
        try:
            result = await self._connection.request(DISCOVER, params, timeout=self._seconds_left())
        except (UpstreamTimeout, UpstreamMalformed, ResultTooLarge):
            return None
        return _discovered(result)

    async def initialize(self) -> Agreement:
        """The handshake."""
        offer = {
            "protocolVersion": HANDSHAKE_VERSIONS[-1],
            "capabilities": dict(self._face.capabilities),
            "clientInfo": self._face.info,
        }
        result = await self._connection.request(INITIALIZE, offer, timeout=self._seconds_left())
        agreement = _initialized(result)
        await self._connection.notify("notifications/initialized")
        return agreement

    def _seconds_left(self) -> float:
        return max(0.0, self._deadline - self._clock.monotonic())


def stamp(face: ClientFace, version: str) -> dict[str, Any]:
    """What the `_meta` of every modern request carries."""
    return {META_VERSION: version, META_CLIENT: face.info, META_CAPABILITIES: dict(face.capabilities)}


def _discovered(result: Mapping[str, Any]) -> Agreement | None:
    supported, capabilities = result.get("supportedVersions"), result.get("capabilities")
    if not isinstance(supported, list) or not isinstance(capabilities, dict):
        return None
    version = _newest_mutual(supported)
    if version is None:
        return None
    meta = result.get("_meta")
    return Agreement(
        era=Era.MODERN,
        protocol_version=version,
        capabilities=capabilities,
        server_info=_object(meta.get(META_SERVER)) if isinstance(meta, dict) else {},
        instructions=_text(result.get("instructions")),
    )


def _initialized(result: Mapping[str, Any]) -> Agreement:
    version = result.get("protocolVersion")
    if not isinstance(version, str):
        raise UpstreamMalformed(
            "The server's answer to `initialize` has no protocol version.",
            hint="The program may not be an MCP server; check the command or the address.",
            details={"keys": sorted(result)[:20]},
        )
    if version not in HANDSHAKE_VERSIONS:
        raise _no_common_version([version])
    return Agreement(
        era=Era.HANDSHAKE,
        protocol_version=version,
        capabilities=_object(result.get("capabilities")),
        server_info=_object(result.get("serverInfo")),
        instructions=_text(result.get("instructions")),
    )


def _supported(refused: UpstreamFailed) -> list[str] | None:
    """The versions that a refusal names."""
    if refused.rpc_code != _UNSUPPORTED_VERSION or not isinstance(refused.rpc_data, dict):
        return None
    named = refused.rpc_data.get("supported")
    if not isinstance(named, list):
        return None
    return [each for each in named if isinstance(each, str)]


def _newest_mutual(named: list[str] | None) -> str | None:
    return next((each for each in reversed(MODERN_VERSIONS) if each in (named or ())), None)


def _no_common_version(theirs: list[str]) -> UpstreamUnavailable:
    ours = [*HANDSHAKE_VERSIONS, *MODERN_VERSIONS]
    return UpstreamUnavailable(
        f"The server speaks protocol version {listed(theirs)}; known here are {listed(ours)}.",
        hint="Use a release of the server that speaks one of these versions.",
        retryable=False,
        details={"serverVersions": theirs[:20], "knownVersions": ours},
    )


def _refused(refused: UpstreamFailed) -> UpstreamUnavailable:
    return UpstreamUnavailable(
        f"The server refused to begin: {quoted(refused.rpc_message)} (code {refused.rpc_code}).",
        hint="See the documentation of the server for what it needs to start.",
        details={"rpcCode": refused.rpc_code},
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
