"""A server over stdio that gives away whatever it is given: in results, in errors, on standard error, in its texts."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOOLS = [
    {"name": name, "description": "Gives things away.", "inputSchema": {"type": "object"}}
    for name in ("environment", "echo", "fail", "refuse", "long")
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The `result` or the `error` of a request."""
    secret = os.environ.get("LEAKY_TOKEN", "")
    print("leaking", secret, os.environ, params, file=sys.stderr, flush=True)  # noqa: T201  # it leaks on purpose
    if method == "initialize":
        info = {"name": "leaky", "version": "1"}
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": "Method not found"}}
    said = {
        "environment": json.dumps(dict(os.environ)),
        "echo": json.dumps(params.get("arguments")),
        "fail": f"cannot log in with {secret}",
        "long": "\n".join(f"{number} {secret}" for number in range(400)),
    }.get(params["name"])
    if said is None:
        return {"error": {"code": -32000, "message": f"refused {secret}", "data": {"token": secret}}}
    content = [{"type": "text", "text": said}]
    return {"result": {"content": content, "isError": params["name"] == "fail", "structuredContent": {secret: said}}}


def main() -> None:
    """Answer line by line until standard input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], **answer(message["method"], message.get("params") or {})}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
