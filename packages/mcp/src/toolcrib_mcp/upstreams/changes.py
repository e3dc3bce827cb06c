"""News of a server's lists: a burst of them counts once, when it has settled."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_mcp.errors import UpstreamError, UpstreamFailed
from toolcrib_mcp.upstreams.eras import Agreement, Era
from toolcrib_mcp.upstreams.listing import ListKind
from toolcrib_mcp.upstreams.session import Session
from toolcrib_runtime.clock import Clock

CHANGED: Final[Mapping[str, ListKind]] = {
    "notifications/tools/list_changed": ListKind.TOOLS,
    "notifications/prompts/list_changed": ListKind.PROMPTS,
    "notifications/resources/list_changed": ListKind.RESOURCES,
}
"""The notifications that say that a list has changed."""

LISTEN: Final = "subscriptions/listen"
"""The request whose answer comes when the server no longer tells."""

_FIRST_PAUSE = 1.0
_MAX_PAUSE = 60.0


class Burst:
    """Collects news, and gives them when none has come for `quiet` seconds or the first is `longest` seconds old.

    The last of a burst is never lost: what comes while earlier news are dealt with begins the next burst.
    """

    def __init__(self, *, quiet: float, longest: float, clock: Clock) -> None:
        self._quiet = quiet
        self._longest = longest
        self._clock = clock
        self._kinds: set[ListKind] = set()
        self._latest = 0.0
        self._news = asyncio.Event()

    def add(self, *kinds: ListKind) -> None:
        """Take news in; a storm of them costs next to nothing for each."""
        self._kinds.update(kinds)
        self._latest = self._clock.monotonic()
        self._news.set()

    async def settled(self) -> set[ListKind]:
        """Wait for news, and until they have settled."""
        await self._news.wait()
        until = self._clock.monotonic() + self._longest
        while (wait := min(self._latest + self._quiet, until) - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait)
        self._news.clear()
        kinds, self._kinds = self._kinds, set()
        return kinds


async def listen(session: Session, *, clock: Clock) -> None:
    """Ask a modern server to tell of changes, and again whenever its stream ends; one that refuses is left alone.

    Each time it begins to tell, it says `ACKNOWLEDGED`. What changed before that, it does not tell.
    """
    wanted = {f"{kind.value}ListChanged": True for kind in told_on_request(session.agreement)}
    pause = _FIRST_PAUSE
    while wanted:
        try:
            # The answer comes when the stream ends.
            await session.request(LISTEN, {"notifications": wanted}, timeout=None)
        except UpstreamFailed:
            return
        except UpstreamError:
            pause = min(2 * pause, _MAX_PAUSE)
        else:
            pause = _FIRST_PAUSE
        await clock.sleep(pause)


def told_on_request(agreement: Agreement) -> list[ListKind]:
    """The lists whose changes a server tells only when asked to; none in the handshake era, when it just tells."""
    if agreement.era is not Era.MODERN:
        return []
    return [kind for kind in CHANGED.values() if _tells(agreement.capabilities.get(kind.capability))]


def honoured_by(acknowledgement: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a server says that it will tell of."""
    honoured = acknowledgement.get("notifications")
    return honoured if isinstance(honoured, Mapping) else {}


def _tells(capability: object) -> bool:
    return isinstance(capability, Mapping) and capability.get("listChanged") is True
