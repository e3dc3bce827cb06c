"""How a call under an idempotency key ended, as it is kept: sealed, and within a bound."""

from __future__ import annotations

from typing import Any, Final

from toolcrib_core import ToolError
from toolcrib_core.json_values import thaw
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.approvals.sealing import Seals
from toolcrib_mcp.errors import ResultTooLarge
from toolcrib_mcp.outward import outward_code
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.codec import decode, encode_message
from toolcrib_runtime.errors import UnknownOutcome

META_REPLAYED: Final = "io.toolcrib/replayed"
"""In the `_meta` of a result: that it is the one of an earlier call with the same key, and nothing was run."""

MAX_KEPT: Final = 256 * 1024
"""How many bytes of an end are kept; of a larger one only that there was one."""


class Endings:
    """Writes down ends, and tells them again."""

    def __init__(self, seals: Seals, *, max_kept: int = MAX_KEPT) -> None:
        self._seals = seals
        self._max_kept = max_kept

    def of_result(self, key: str, result: dict[str, Any]) -> bytes:
        """The end of a call that gave a result; it may say that the tool failed."""
        return self._written(key, {"result": result})

    def of_failure(self, key: str, error: ToolError | RpcError) -> bytes:
        """The end of a call that its server answered with an error, as its client was told."""
        if isinstance(error, RpcError):
            return self._written(key, {"rpc": {"code": error.code, "message": error.message, "data": error.data}})
        return self._written(key, {"error": thaw({**error.to_dict(), "code": outward_code(error)})})

    def told_again(self, key: str, record: bytes, *, tool_id: str) -> dict[str, Any]:
        """The result that was kept, marked as such.

        Raises:
            ResultTooLarge: There was one, but it was too large to be kept.
            UnknownOutcome: What was kept cannot be read any more.
            ToolError: It was a failure.
            RpcError: It was one of the protocol.
        """
        opened = self._seals.unseal(record, row=key)
        if opened is None:
            raise _unreadable(tool_id)
        end: Any = decode(opened)
        if "error" in end:
            raise ToolError.from_dict(end["error"])
        if "rpc" in end:
            raise RpcError(**end["rpc"])
        if "size" in end:
            raise _not_kept(tool_id, end["size"])
        result: dict[str, Any] = end["result"]
        return {**result, "_meta": {**_meta_of(result), META_REPLAYED: True}}

    def _written(self, key: str, end: dict[str, Any]) -> bytes:
        text = encode_message(end)
        if len(text) > self._max_kept:
            text = encode_message({"size": len(text)})
        return self._seals.seal(text, row=key)


def _meta_of(result: dict[str, Any]) -> dict[str, Any]:
    meta = result.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _not_kept(tool_id: str, size: int) -> ResultTooLarge:
    return ResultTooLarge(
        f"The call of {quoted(tool_id)} with this idempotency key was made and came to its end; "
        f"its result had {count(size, 'byte')}, which is more than is kept.",
        hint="Nothing was run now, and the work is done: look at what it changed with another tool.",
        details={"bytes": size},
    )


def _unreadable(tool_id: str) -> UnknownOutcome:
    return UnknownOutcome(
        f"The call of {quoted(tool_id)} with this idempotency key came to its end; how, can no longer be read.",
        hint="Nothing was run now. Look whether the effect is there before you call again with a new key.",
    )
