"""A server that gives away whatever it is given: in results, in errors, on standard error.

It speaks over stdio and gives away its environment; with `--http` it listens, says where, and gives away its headers.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOLS = [
    {"name": name, "description": "Gives things away.", "inputSchema": {"type": "object"}}
    for name in ("environment", "echo", "fail", "refuse", "long")
]


def answer(method: str, params: dict[str, Any], secret: str) -> dict[str, Any]:
    """The `result` or the `error` of a request."""
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


class Listener(BaseHTTPRequestHandler):
    """Answers every request with one message of JSON."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            self._send(202, b"")
            return
        said = answer(message["method"], message.get("params") or {}, self.headers["authorization"])
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    def _send(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def listen() -> None:
    """Answer over HTTP until killed."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    print(server.server_port, flush=True)  # noqa: T201  # whoever started it has to know
    server.serve_forever()


def main() -> None:
    """Answer line by line until standard input ends."""
    secret = os.environ.get("LEAKY_TOKEN", "")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {
                "jsonrpc": "2.0",
                "id": message["id"],
                **answer(message["method"], message.get("params") or {}, secret),
            }
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    listen() if "--http" in sys.argv else main()
