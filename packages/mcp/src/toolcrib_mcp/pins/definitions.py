"""What is pinned: a tool as its server listed it, and what became of it since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import orjson

from toolcrib_core import NotJson
from toolcrib_mcp.pins.digests import body_digest, definition_digest
from toolcrib_mcp.pins.ordering import settled_digest

How: TypeAlias = Literal["first-use", "new", "approved", "locked"]
"""Why a definition is trusted.

`first-use`: it was there when the server was first seen. `new`: the server was known already when the tool came.
`approved`: somebody looked at it. `locked`: the lock file has it.
"""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A tool as a server listed it."""

    name: str
    digest: str
    """Of all that the tool says about itself."""
    tool_json: bytes = field(repr=False)

    @classmethod
    def of(cls, tool: object) -> Definition | None:
        """What a server listed, or `None` if that cannot be pinned: it has no name, or is not JSON to be passed on."""
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or not isinstance(name, str):
            return None
        try:
            return cls(name=name, digest=definition_digest(tool), tool_json=orjson.dumps(tool))
        except (NotJson, TypeError):
            return None

    @property
    def tool(self) -> Mapping[str, Any]:
        """The tool as it was listed: a fresh copy."""
        tool: dict[str, Any] = orjson.loads(self.tool_json)
        return tool

    @cached_property
    def settled(self) -> str:
        """The digest that ignores order where order has no meaning."""
        return settled_digest(self.tool)

    def is_same_as(self, other: Definition) -> bool:
        """Whether both say the same, at most in another order where order has no meaning."""
        return self.digest == other.digest or self.settled == other.settled

    def has_digest(self, digest: str | None) -> bool:
        """Whether a lock file means this definition; it may have either digest."""
        return digest is not None and digest in {self.digest, self.settled}

    @cached_property
    def body(self) -> str:
        """The digest without the name."""
        return body_digest(self.tool)


@dataclass(frozen=True, kw_only=True)
class Pin:
    """What is known of one tool of one server: what is trusted, and what waits for somebody to look at it."""

    scope: str
    """Whose server it is: empty for everybody's."""
    server: str
    tool: str
    """What the server calls it."""
    pinned: Definition | None = None
    """What is trusted; `None` where nothing ever was."""
    how: How | None = None
    pinned_by: str = ""
    """Who approved it."""
    pinned_at: float | None = None
    """In seconds since the epoch."""
    waiting: Definition | None = None
    """What the server lists in place of that."""
    waiting_since: float | None = None
    """In seconds since the epoch."""
    was: str | None = None
    """The name of the tool that this one was before, as far as its content tells."""
