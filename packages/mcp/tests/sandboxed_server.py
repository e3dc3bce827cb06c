"""An MCP server over stdio whose tools try what a sandbox is to hold; run it with `-I -S`."""

from __future__ import annotations

import json
import mmap
import os
import resource
import socket
import sys
from pathlib import Path
from typing import Any

LIMIT_NAMES = ("AS", "CPU", "NOFILE", "FSIZE", "NPROC", "CORE")
_ANY = {"type": "object"}


def read(path: str) -> str:
    return Path(path).read_text("utf-8")


def write(path: str) -> str:
    Path(path).write_text("written", "utf-8")
    return "written"


def connect(port: int) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=20):
        return "connected"


def connect_file(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(path)
        return "connected"


def environment() -> str:
    return json.dumps(sorted(os.environ))


def limits() -> str:
    return json.dumps({name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in LIMIT_NAMES})


def reserve(size: int) -> str:
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ):
        return "reserved"


TOOLS = {each.__name__: each for each in (read, write, connect, connect_file, environment, limits, reserve)}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "eat":
        # Not caught: a server that runs out of memory ends.
        return {"content": [{"type": "text", "text": str(len(bytearray(arguments["size"])))}]}
    try:
        text, failed = TOOLS[name](**arguments), False
    except OSError as error:
        text, failed = f"{type(error).__name__}: {error}", True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def answered(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            server = {"name": "sandboxed", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": _ANY} for name in (*TOOLS, "eat")]}
        case "tools/call":
            return called(params["name"], params.get("arguments", {}))
    return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answered(message["method"], message.get("params", {}))
        outcome = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
