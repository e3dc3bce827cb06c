"""A shop as an MCP server over stdio: one order, many orders, and a deletion that has to be approved."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

ORDERS: Final = 400
"""How many orders there are: as JSON about 16,000 tokens, several times what a result may have to come whole."""

_NUMBER: Final = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


def _order(number: int) -> Json:
    city = ("Lisbon", "Osaka", "Quito", "Turin")[number % 4]
    return {"number": number, "customer": f"customer-{number * 37 % 101}", "city": city, "cents": number * 1250}


def _list_orders(_: Mapping[str, Any]) -> str:
    return json.dumps([_order(number) for number in range(1, ORDERS + 1)])


def _show_order(arguments: Mapping[str, Any]) -> str:
    return json.dumps(_order(arguments["number"]))


def _delete_order(arguments: Mapping[str, Any]) -> str:
    return f"Order {arguments['number']} was deleted from the shop."


_TOOLS: Final[tuple[tuple[Callable[[Mapping[str, Any]], str], str, Json, Json], ...]] = (
    (_list_orders, "List all orders of the shop.", {"type": "object"}, {"readOnlyHint": True}),
    (_show_order, "Show one order of the shop by its number.", _NUMBER, {"readOnlyHint": True}),
    (_delete_order, "Delete an order of the shop for ever.", _NUMBER, {"destructiveHint": True}),
)
_FUNCTIONS: Final = {function.__name__[1:]: function for function, *_ in _TOOLS}
_LISTED: Final = [
    {"name": function.__name__[1:], "description": about, "inputSchema": schema, "annotations": hints}
    for function, about, schema, hints in _TOOLS
]


def _answer(method: str, params: Json) -> Json | None:
    if method == "initialize":
        about = {"name": "orders", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/call":
        text = _FUNCTIONS[params["name"]](params.get("arguments") or {})
        return {"content": [{"type": "text", "text": text}]}
    return {"tools/list": {"tools": _LISTED}, "ping": {}}.get(method)


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = _answer(request["method"], request.get("params") or {})
            body = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **body}), flush=True)
