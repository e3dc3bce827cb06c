"""A server of the official SDK that tells how long the key is that it was started with."""

from __future__ import annotations

import os

from mcp.server import MCPServer

server = MCPServer("vault")


@server.tool()
def key_length() -> int:
    """Tell how long the key is."""
    return len(os.environ["K"])


if __name__ == "__main__":
    server.run()
