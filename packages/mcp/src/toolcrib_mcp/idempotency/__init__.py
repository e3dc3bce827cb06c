"""Effect-safe execution: a call that is repeated under its key reaches its server once."""

from __future__ import annotations

from toolcrib_mcp.idempotency.calls import META_KEY, META_REPLAYED, IdempotentCalls

__all__ = ["META_KEY", "META_REPLAYED", "IdempotentCalls"]
