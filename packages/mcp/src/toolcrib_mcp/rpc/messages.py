"""JSON-RPC 2.0 messages: making them, and telling what one that came is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import UpstreamError, UpstreamFailed, UpstreamMalformed
from toolcrib_mcp.rpc.codec import encode_message
from toolcrib_runtime.guards.secrets import Scrubber

METHOD_NOT_FOUND: Final = -32601
"""The code for a method that is not served."""

INTERNAL_ERROR: Final = -32603
"""The code for a failure that is not the asker's."""

_VERSION = "2.0"
_MAX_EXCERPT = 200
_MAX_SCRUBBED = 1024


class RpcError(Exception):
    """Raise it in an `on_request` to answer the server's request with this error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def request_message(request_id: int, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """A request of ours."""
    message: dict[str, Any] = {"jsonrpc": _VERSION, "id": request_id, "method": method}
    if params is not None:
        message["params"] = params
    return message


def notification_message(method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """A notification of ours."""
    message: dict[str, Any] = {"jsonrpc": _VERSION, "method": method}
    if params is not None:
        message["params"] = params
    return message


def result_message(request_id: str | int, result: Mapping[str, Any]) -> dict[str, Any]:
    """Our answer to a request of the server."""
    return {"jsonrpc": _VERSION, "id": request_id, "result": result}


def error_message(request_id: str | int | None, error: RpcError) -> dict[str, Any]:
    """Our refusal of a request of the server; without an id where none could be made out."""
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": _VERSION, "id": request_id, "error": body}


def is_message(message: Mapping[str, Any]) -> bool:
    """Whether an object says that it is JSON-RPC 2.0; a line of a structured log does not."""
    return message.get("jsonrpc") == _VERSION


def params_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a request or notification; without any, an empty object."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def own_id(value: object) -> int | None:
    """The number that an id or token stands for, if it can be one of ours.

    All ours are integers. `"3"` and `3.0` are taken for 3, because there are servers that write them so, both official
    SDKs take them, and nothing else can be meant: no two of our ids are spelled alike. `true` is not 1.
    """
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= len(str(2**63)):
        return int(value) if value == str(int(value)) else None
    return None


def outcome_of(answer: Mapping[str, Any], method: str, *, scrubber: Scrubber) -> dict[str, Any] | UpstreamError:
    """The result as it came, or the error that the answer means. A member that is null counts as absent."""
    result, error = answer.get("result"), answer.get("error")
    if error is None and isinstance(result, dict):
        return result
    if result is not None and error is not None:
        return _malformed("it has a result and an error", answer, method, scrubber)
    if error is None:
        return _malformed("its result is no object", answer, method, scrubber)
    if not _is_error(error):
        return _malformed("its error has no integer code or no message", answer, method, scrubber)
    return _failed(error, method, scrubber)


def _is_error(error: object) -> bool:
    return isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str)


def _failed(error: Mapping[str, Any], method: str, scrubber: Scrubber) -> UpstreamFailed:
    said = scrubber.scrub_line(error["message"], max_length=_MAX_EXCERPT)
    return UpstreamFailed(
        f"The server answered {quoted(method)} with the error {error['code']}: {quoted(said)}.",
        rpc_code=error["code"],
        rpc_message=error["message"],
        rpc_data=error.get("data"),
        hint="Change the request as the error says; the same one will fail again.",
    )


def _malformed(why: str, answer: Mapping[str, Any], method: str, scrubber: Scrubber) -> UpstreamMalformed:
    begins = encode_message(answer)[:_MAX_SCRUBBED].decode("utf-8", "replace")
    return malformed(method, why, excerpt=scrubber.scrub_line(begins, max_length=_MAX_EXCERPT))


def malformed(method: str, why: str, *, excerpt: str) -> UpstreamMalformed:
    """What a request ends with whose answer is none."""
    return UpstreamMalformed(
        f"The answer of the server to {quoted(method)} cannot be used: {why}.",
        hint="This is a fault of the server; whether the call took effect is not known.",
        details={"method": method, "excerpt": excerpt},
    )
