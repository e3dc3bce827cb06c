"""The least severity of log messages that a client wants, in the words of the server's era."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final
from weakref import WeakKeyDictionary

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.front.conversation import wants_log_message
from toolcrib_mcp.front.envelope import META_LOG_LEVEL
from toolcrib_mcp.front.feed import LOG_MESSAGE
from toolcrib_mcp.front.service import Caller, Request
from toolcrib_mcp.relay.meta import with_meta
from toolcrib_mcp.rpc import OnNotification
from toolcrib_mcp.upstreams import Agreement, Era, Upstream

_EVERYTHING: Final = "debug"


class LogLevels:
    """Which level each server of the handshake era was told last; one that started anew is told again."""

    def __init__(self) -> None:
        self._told: WeakKeyDictionary[Upstream, tuple[Agreement, str]] = WeakKeyDictionary()

    async def apply(
        self, upstream: Upstream, agreement: Agreement, caller: Caller, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The params for a modern server, which is told with every request; an older one is told first, and once.

        Raises:
            UpstreamError: The server could not be told.
        """
        level = caller.log_level
        if agreement.era is Era.MODERN:
            # It keeps silent unless it is told a level, and a client of the handshake era need not name one.
            level = _EVERYTHING if level is None and caller.era is Era.HANDSHAKE else level
            return params if level is None else with_meta(params, META_LOG_LEVEL, level)
        if level is not None and "logging" in agreement.capabilities:
            await self._tell(upstream, agreement, level)
        return params

    async def _tell(self, upstream: Upstream, agreement: Agreement, level: str) -> None:
        if self._told.get(upstream) != (agreement, level):
            with suppress(UpstreamFailed):  # its log is as loud as it was, and the call can be made
                await upstream.call("logging/setLevel", {"level": level})
            self._told[upstream] = (agreement, level)


def hearer(request: Request) -> OnNotification:
    """Passes what a server tells during a request on to its client, log messages only if the client wants them."""
    caller = request.caller

    async def hear(method: str, params: dict[str, Any]) -> None:
        if method == LOG_MESSAGE and not wants_log_message(caller, params.get("level")):
            return
        await request.channel.notify(method, params)

    return hear
