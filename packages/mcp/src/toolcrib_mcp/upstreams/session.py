"""A conversation with one server: requests carry what the server's era asks for, and answers come back raw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib_mcp.rpc import Connection, OnProgress
from toolcrib_mcp.upstreams.eras import (
    META_CAPABILITIES,
    META_CLIENT,
    META_VERSION,
    Agreement,
    ClientFace,
    Era,
    agree,
    stamp,
)
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

_OURS = frozenset({META_VERSION, META_CLIENT, META_CAPABILITIES})


class Session:
    """What both sides agreed on, and a way to ask. It lives as long as its connection."""

    def __init__(self, connection: Connection, agreement: Agreement, *, face: ClientFace) -> None:
        self.agreement = agreement
        self._connection = connection
        self._modern = agreement.era is Era.MODERN
        self._stamp = stamp(face, agreement.protocol_version)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None,  # noqa: ASYNC109  # by the connection's clock, and the server is told
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Ask, and give the `result` as it came.

        Raises:
            UpstreamFailed: The server answered with an error, which is kept as it came.
            UpstreamTimeout: It did not answer in time, and was told that nobody waits any more.
            UpstreamUnavailable: The connection ended.
            UpstreamMalformed: It answered with something that is no answer.
            ResultTooLarge: Its answer is larger than is taken.
        """
        stamped = self._stamped(params)
        return await self._connection.request(method, stamped, timeout=timeout, on_progress=on_progress)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Tell the server something that it does not answer.

        Raises:
            UpstreamUnavailable: The connection ended.
        """
        await self._connection.notify(method, self._stamped(params) if self._modern else params)

    def _stamped(self, params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        meta = params.get("_meta") if params else None
        if self._modern:
            theirs = meta if isinstance(meta, Mapping) else {}
            stamped = {**theirs, **self._stamp}
            if META_CAPABILITIES in theirs:
                stamped[META_CAPABILITIES] = theirs[META_CAPABILITIES]
            return {**(params or {}), "_meta": stamped}
        if params is None or not isinstance(meta, Mapping) or _OURS.isdisjoint(meta):
            return params
        # Whoever passes a modern request on must not tell an older server who the client behind us is.
        return {**params, "_meta": {key: value for key, value in meta.items() if key not in _OURS}}


async def open_session(
    connection: Connection, *, face: ClientFace, deadline: float, era: Era | None = None, clock: Clock = SYSTEM_CLOCK
) -> Session:
    """Begin a conversation on a fresh connection, whose `run` is running; see `agree` for what it raises."""
    agreement = await agree(connection, face=face, deadline=deadline, era=era, clock=clock)
    return Session(connection, agreement, face=face)
