"""A server in plain JSON lines, whose tools have the annotations it is given, and answer."""

from __future__ import annotations

import json
import sys

tools = [
    {"name": name, "description": name, "inputSchema": {"type": "object"}, "annotations": hints}
    for name, hints in json.loads(sys.argv[1]).items()
]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    results = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        },
        "tools/list": {"tools": tools},
        "ping": {},
        "tools/call": {"content": [{"type": "text", "text": "done"}]},
    }
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] in results:
        answer["result"] = results[asked["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
