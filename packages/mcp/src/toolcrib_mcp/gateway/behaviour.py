"""How the gateway behaves, where there is a choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from toolcrib_mcp.config import GatewaySettings


@dataclass(frozen=True, kw_only=True)
class GatewayBehaviour:
    """The choices of an operator."""

    cache_stable: bool = False
    """Whether each client gets what it has seen before first, unchanged, so that its prompt cache holds."""
    browse_limit: int = 8
    """How many tools a search shows when the client names no number."""
    whole_tokens: int = 4_000
    """A result of at most this many tokens is passed on unchanged."""
    summary_tokens: int = 375
    """What stands in place of a larger one has at most so many."""
    view_tokens: int = 1_500
    """How many tokens one answer of `tool_view` may have."""
    patience: float = 10.0
    """How many seconds a client waits, once, for servers that are being started."""

    @classmethod
    def of(cls, settings: GatewaySettings) -> Self:
        """What a configuration says."""
        return cls(
            cache_stable=settings.cache_stable,
            browse_limit=settings.browse_limit,
            whole_tokens=settings.whole_tokens,
            summary_tokens=settings.summary_tokens,
            view_tokens=settings.view_tokens,
        )
