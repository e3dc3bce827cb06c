"""A small MCP server over stdio: `who` says which server it is; its definition comes from the arguments or a file.

`python plain_server.py NAME [SOURCE]`: SOURCE is a file with the description of `who`, read at each `tools/list`.
`who` answers with NAME, its process id and the nonce it was given; with `until` it answers when that file is there.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

NAME = sys.argv[1]
SOURCE = Path(sys.argv[2]) if len(sys.argv) > 2 else None


def tools() -> list[dict[str, Any]]:
    says = f"Say that this is {NAME}." if SOURCE is None else SOURCE.read_text("utf-8")
    return [{"name": "who", "description": says, "inputSchema": {"type": "object"}}]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": NAME, "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": tools()}
    if method == "tools/call":
        arguments = params.get("arguments", {})
        while "until" in arguments and not Path(arguments["until"]).exists():
            time.sleep(0.005)
        said = {"name": NAME, "pid": os.getpid(), "nonce": arguments.get("nonce")}
        return {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}
    if method in {"resources/subscribe", "resources/unsubscribe"}:
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    found = answer(message["method"], message.get("params", {}))
    outcome = {"error": {"code": -32601, "message": "Method not found"}} if found is None else {"result": found}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}) + "\n")
    sys.stdout.flush()
