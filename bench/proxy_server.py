"""The server behind every proxy of the bench: one tool on the SDK's own low-level server, stdio or `--http PORT`."""

from __future__ import annotations

import sys
from typing import Any

import anyio
import uvicorn
from mcp import types
from mcp.server import NotificationOptions, Server
from mcp.server.stdio import stdio_server

ECHO = types.Tool(
    name="echo",
    description="Gives back what it is given.",
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 4096}, "count": {"type": "integer", "minimum": 0}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """The one tool."""
    return types.ListToolsResult(tools=[ECHO])


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """The text that came."""
    text = str((params.arguments or {}).get("text"))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def serve_stdio(server: Server[Any]) -> None:
    """Until the client leaves."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options(NotificationOptions()))


def main() -> None:
    """Serve as the arguments say."""
    server: Server[Any] = Server("echo", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    if len(sys.argv) > 1 and sys.argv[1] == "--http":
        uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[2]), log_level="error")
    else:
        anyio.run(serve_stdio, server)


if __name__ == "__main__":
    main()
