"""How many requests each client may send: one bucket for each, which fills up again all the time."""

from __future__ import annotations

from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from typing import Final

from toolcrib_mcp.front.asking import CONNECTION_CLOSED
from toolcrib_mcp.front.http.replies import Refusal, Scope
from toolcrib_mcp.front.service import Identity
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

MAX_BUCKETS: Final = 10_000
"""How many clients are remembered; who came least recently is forgotten first, and that bucket is most likely full."""


class Rates:
    """Lets each client send so many requests at once, and as many again in each minute; without a number, any."""

    def __init__(self, per_minute: int | None, *, what: str = "requests", clock: Clock = SYSTEM_CLOCK) -> None:
        self._what = what
        self._most = 0.0 if per_minute is None else float(per_minute)
        self._clock = clock
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, principal: Identity | None, scope: Scope) -> None:
        """Count a request of this principal, or where nobody is asked, of this address.

        Raises:
            Refusal: It is one too many; the headers say when to come again.
        """
        if not self._most:
            return
        who, now, each_second = _client(principal, scope), self._clock.monotonic(), self._most / 60
        level, since = self._buckets.pop(who, (self._most, now))
        level = min(self._most, level + (now - since) * each_second)
        self._buckets[who] = (max(level - 1, 0.0) if level >= 1 else level, now)
        if len(self._buckets) > MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        if level < 1:
            seconds = ceil((1 - level) / each_second)
            raise Refusal(
                429,
                f"That are more {self._what} than the {self._most:.0f} a minute that each client may send.",
                code=CONNECTION_CLOSED,
                data={"retryAfter": seconds},
                headers=((b"retry-after", b"%d" % seconds),),
            )

    def give_back(self, principal: Identity | None, scope: Scope) -> None:
        """Count a request no more."""
        who = _client(principal, scope)
        if who in self._buckets:
            level, since = self._buckets[who]
            self._buckets[who] = (min(self._most, level + 1), since)


def _client(principal: Identity | None, scope: Scope) -> tuple[str, str]:
    return ("address", network_of(scope.get("client"))) if principal is None else ("principal", principal.name)


def network_of(client: tuple[str, int] | None) -> str:
    """The address of a client; of IPv6 the network, for each has as many addresses in theirs as they like."""
    if not client:
        return ""
    try:
        address = ip_address(client[0].partition("%")[0])
    except ValueError:
        return str(client[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Network((address, 64), strict=False))
