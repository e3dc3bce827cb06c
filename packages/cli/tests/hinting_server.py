"""A server in plain JSON lines, which writes down that it was started; its tools have the annotations it is given."""

from __future__ import annotations

import json
import sys
from pathlib import Path

with Path(sys.argv[1]).open("a", encoding="utf-8") as starts:
    starts.write("x")
tools = [
    {"name": name, "description": name, "inputSchema": {"type": "object"}, "annotations": hints}
    for name, hints in json.loads(sys.argv[2]).items()
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
    }
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] in results:
        answer["result"] = results[asked["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
