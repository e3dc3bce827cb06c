"""`ToolCall` and `ToolResult`: what goes into the runtime, and what always comes out."""

from __future__ import annotations

import itertools
import secrets
import warnings
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from toolcrib_core import ToolCall, ToolError, ToolErrorCategory, digest
from toolcrib_core.excerpts import error_text
from toolcrib_core.json_values import JsonObject, JsonValue
from toolcrib_runtime.policy.approvals import PendingApproval

__all__ = ["Outcome", "Source", "ToolCall", "ToolResult", "new_call_id"]

Outcome: TypeAlias = Literal["success", "error", "action_required"]
Source: TypeAlias = Literal["run", "cache", "ledger"]

_process = secrets.token_hex(4)
_numbers = itertools.count(1)


def new_call_id() -> str:
    """An id that no other call has, in this process or another."""
    return f"call_{_process}_{next(_numbers)}"


# One is made for every call. A named tuple is made in a third of the time of a frozen dataclass, and as unchangeable.
class ToolResult(NamedTuple):
    """How one call ended. There is always one, whatever happened; only the caller's own cancellation raises."""

    call_id: str
    tool_id: str
    """The full id of the tool that the name led to; what the call said, if it led to none."""
    outcome: Outcome
    value: JsonValue = None
    error: ToolError | None = None
    action: PendingApproval | None = None
    """What somebody must decide before the call can run; with the outcome `action_required`."""
    attempts: int = 0
    """How often the tool's code was started; 0 means that nothing can have happened."""
    source: Source = "run"
    """Whether the value was made by this call, or remembered from an earlier one."""
    started_at: float = 0.0
    """Seconds since the epoch."""
    duration: float = 0.0
    """Seconds from the call's arrival to its end."""
    queued: float = 0.0
    """How many of them it waited for its turn."""
    blocks: tuple[JsonObject, ...] | None = None
    """Content that the tool itself laid out, in the shape of MCP content blocks."""
    snapshot: bytes | str | None = None
    """The validated arguments as JSON text; None where they were not valid."""

    def __repr__(self) -> str:
        # A value may be large, or a secret.
        failure = f", error={self.error.code!r}" if self.error is not None else ""
        return f"ToolResult(call_id={self.call_id!r}, tool_id={self.tool_id!r}, outcome={self.outcome!r}{failure})"

    @property
    def ok(self) -> bool:
        """Whether there is a value."""
        return self.outcome == "success"

    @property
    def content(self) -> tuple[JsonObject, ...]:
        """What to show to a model, in the shape of MCP content blocks."""
        if self.blocks is not None:
            return self.blocks
        return ({"type": "text", "text": self.text},)

    @property
    def text(self) -> str:
        """What to show to a model, as text: the value (text as it is, the rest as JSON), or what went wrong."""
        if self.error is not None:
            return error_text(self.error)
        return self.value if isinstance(self.value, str) else orjson.dumps(self.value).decode()

    @property
    def input_digest(self) -> str | None:
        """The SHA-256 of the canonical arguments; None where they were not valid."""
        return None if self.snapshot is None else digest(orjson.loads(self.snapshot))

    @property
    def output_digest(self) -> str | None:
        """The SHA-256 of the canonical value; None where there is none."""
        return digest(self.value) if self.ok else None

    def unwrap(self) -> JsonValue:
        """The value.

        Raises:
            ToolError: There is none; this is the error that the result holds.
        """
        if self.error is not None:
            raise self.error
        return self.value

    def to_dict(self) -> JsonObject:
        """The result as JSON, with the keys that travel on the wire."""
        known: dict[str, Any] = {
            "callId": self.call_id,
            "toolId": self.tool_id,
            "outcome": self.outcome,
            "value": self.value if self.ok else None,
            "content": list(self.content),
            "error": self.error.to_dict() if self.error else None,
            "action": self.action.to_dict() if self.action else None,
            "attempts": self.attempts,
            "source": self.source,
            "startedAt": self.started_at,
            "duration": self.duration,
            "queued": self.queued,
            "inputDigest": self.input_digest,
            "outputDigest": self.output_digest,
        }
        return {key: value for key, value in known.items() if value is not None or (key == "value" and self.ok)}

    @property
    def error_message(self) -> str | None:
        """Deprecated: `error.message`."""
        _warn("error_message", "error.message")
        return self.error.message if self.error else None

    @property
    def error_category(self) -> ToolErrorCategory | None:
        """Deprecated: `error.category`."""
        _warn("error_category", "error.category")
        return self.error.category if self.error else None


def _warn(old: str, new: str) -> None:
    warnings.warn(f"`ToolResult.{old}` is deprecated: use `{new}`", DeprecationWarning, stacklevel=3)
