"""An MCP server over stdio that puts the secret of its environment, `API_TOKEN`, into everything that it says."""

from __future__ import annotations

import base64
import json
import os
import sys
from typing import Any

SECRET = os.environ["API_TOKEN"]
SAYS = f"Uses {SECRET}."
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}}
RESOURCE = {"uri": "note://one", "name": "one", "description": SAYS}
ANSWERS: dict[str, dict[str, Any]] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": "leaky", "version": "1", "title": SAYS},
        "instructions": SAYS,
    },
    "tools/list": {
        "tools": [
            {
                "name": "look",
                "description": SAYS,
                "inputSchema": {"type": "object", "properties": {"at": {"type": "string", "default": SECRET}}},
                "annotations": {"readOnlyHint": True},
                "_meta": {"note": SAYS},
            }
        ]
    },
    "resources/list": {"resources": [RESOURCE]},
    "resources/templates/list": {
        "resourceTemplates": [{"uriTemplate": "note://{name}", "name": "any", "description": SAYS}]
    },
    "prompts/list": {"prompts": [{"name": "ask", "description": SAYS}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": SAYS}}]},
    "completion/complete": {"completion": {"values": [SECRET]}},
    "tools/call": {"content": [{"type": "text", "text": SAYS}]},
    "resources/read": {
        "contents": [
            {"uri": "note://one", "text": SAYS},
            {"uri": "note://one", "blob": base64.b64encode(SAYS.encode()).decode()},
        ]
    },
}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    request = json.loads(line)
    method, params = request.get("method", ""), request.get("params", {})
    if "id" not in request:
        continue
    if method in {"resources/read", "prompts/get", "completion/complete", "tools/call"}:
        send({"method": "notifications/message", "params": {"level": "error", "data": SAYS}})
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            progress = {"progressToken": token, "progress": 1, "message": SAYS}
            send({"method": "notifications/progress", "params": progress})
    if method in ANSWERS and params.get("uri") != "note://none":
        send({"id": request["id"], "result": ANSWERS[method]})
        if method == "completion/complete":
            send({"method": "notifications/message", "params": {"level": "error", "data": f"Afterwards: {SAYS}"}})
    else:
        send({"id": request["id"], "error": {"code": -32002, "message": SAYS, "data": {"why": SAYS}}})
