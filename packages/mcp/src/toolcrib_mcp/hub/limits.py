"""How much a hub keeps at once, for everybody together."""

from __future__ import annotations

from dataclasses import dataclass

from toolcrib_runtime.policy.bounds import check_number, check_whole


@dataclass(frozen=True, kw_only=True)
class HubLimits:
    """The bounds of a hub.

    Raises:
        ValueError: A number makes no sense; the message names it.
    """

    max_waiting: int = 1024
    """Requests that wait for a place at one server; one more is refused."""
    max_private: int = 64
    """Servers that run for one client alone, over all clients."""
    max_exclusive: int = 8
    """Those of them that one server may have for callers without a conversation; more of these wait."""
    idle_after: float = 300.0
    """Seconds without a request after which such a server is ended, until it is needed again."""
    max_watched: int = 1024
    """Resources whose changes are listened for, over all servers."""

    def __post_init__(self) -> None:
        for name in ("max_waiting", "max_private", "max_exclusive", "max_watched"):
            check_whole(name, getattr(self, name), least=1)
        check_number("idle_after", self.idle_after, least=0)
