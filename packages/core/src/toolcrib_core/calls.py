"""`ToolCall`: one request to run a tool, as data. Core reads and carries it; the runtime runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


# One is made for every call. A named tuple is made in a third of the time of a frozen dataclass, and as unchangeable.
class ToolCall(NamedTuple):
    """One request to run a tool.

    `tool` is an id, an alias or a name, as the registry resolves it. `arguments` may be the JSON text that a model
    wrote: it is parsed strictly, and bad text is a validation error, never an empty object.
    """

    tool: str
    arguments: Mapping[str, Any] | str | bytes | None = None
    """None is no arguments."""
    id: str | None = None
    """What the result is known by; one is made up where none is given."""
    idempotency_key: str | None = None
    """Calls of one tool with the same key run once; the others get the first result."""
    approval: str | None = None
    """The approval that somebody granted for exactly this call."""

    def __repr__(self) -> str:
        # Arguments may be secrets, and an approval is one.
        return f"ToolCall(tool={self.tool!r}, id={self.id!r})"
