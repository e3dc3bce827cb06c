"""What the proxy itself answers a call with: definitions, and errors that a model can act on."""

from __future__ import annotations

from typing import Any, Final

import orjson

from toolcrib_core import ToolError
from toolcrib_core.wording import quoted
from toolcrib_mcp.catalog import HydrationResult
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.outward import ARGS_INVALID, UPSTREAM_ERROR, outward
from toolcrib_mcp.proxy.meta_tools import EXECUTE, HYDRATE
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.codec import encode_message

# The client has to act on these itself, so they stay errors of the protocol: a URL that its user is to visit, and a
# capability that it did not announce.
_FOR_CLIENTS: Final = frozenset({-32042, -32021})


def hydration(hydrated: HydrationResult) -> dict[str, Any]:
    """The answer of `tool_hydrate`: the tool as its server listed it, every field of it, beside its id."""
    text = b'{"tool_id":%b,"tool":%b}' % (orjson.dumps(hydrated.tool_id), hydrated.tool_json)
    return {"content": [{"type": "text", "text": text.decode()}]}


def failure(error: ToolError) -> dict[str, Any]:
    """The error as a result that says that the call failed; the text and the structure say the same."""
    told = outward(error)
    text = encode_message(told).decode().rstrip("\n")
    return {"content": [{"type": "text", "text": text}], "structuredContent": told, "isError": True}


def in_words_of_caller(error: ToolError, tool: HydrationResult, asked: str) -> ToolError:
    """The error with the tool called as the caller called it, wherever it names it."""
    names = {quoted(tool.tool_id), quoted(f"{tool.definition.namespace}:{tool.definition.name}")}

    def renamed(text: str) -> str:
        for name in names:
            text = text.replace(name, quoted(asked))
        return text

    error.message = renamed(error.message)
    error.hint = error.hint and renamed(error.hint)
    violations = error.details.get("violations")
    for each in violations if isinstance(violations, list) else ():
        if isinstance(each, dict) and isinstance(each.get("message"), str):
            each["message"] = renamed(each["message"])
    return error


def is_for_client(error: RpcError) -> bool:
    """Whether an error of a server must reach the client as it came, since no model can act on it."""
    return error.code in _FOR_CLIENTS


def refused_by_server(error: RpcError, hydrated: HydrationResult) -> GatewayError:
    """The JSON-RPC error with which a server answered a call, as an error that a model is shown."""
    details: dict[str, Any] = {"upstream": hydrated.upstream, "rpcCode": error.code}
    if error.data is not None:
        details["rpcData"] = error.data
    return GatewayError(error.message, code=UPSTREAM_ERROR, details=details)


def not_by_name(tool_id: str) -> GatewayError:
    """What a call of a stripped tool by its own name is answered with: the call to make instead."""
    return GatewayError(
        f"{quoted(tool_id)} cannot be called by its name: it is listed to be found.",
        code=ARGS_INVALID,
        hint=f"Call `{EXECUTE}` with `tool_id` {quoted(tool_id)} and its arguments as `args`; "
        f"`{HYDRATE}` shows which it takes.",
        details={"call": {"name": EXECUTE, "arguments": {"tool_id": tool_id, "args": {}}}},
    )
