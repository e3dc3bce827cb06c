"""A small server of the official SDK over stdio, in both eras: what the tests of the command line put behind it.

`--tools` names its tools. `echo` gives its `nonce` back, `pid` tells its process, `hang` never answers, `pause` takes
a moment. Every other tool answers with its own name.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from typing import Any

import mcp.types as t
from mcp.server import NotificationOptions, Server
from mcp.server.stdio import stdio_server

NONCE = {"type": "object", "properties": {"nonce": {"type": "string"}}}


def make_server(names: list[str]) -> Server[Any]:
    """The server with these tools."""

    async def list_tools(context: Any, params: Any) -> t.ListToolsResult:
        return t.ListToolsResult(
            tools=[t.Tool(name=name, description=f"Does {name}.", input_schema=NONCE) for name in names]
        )

    async def call_tool(context: Any, params: t.CallToolRequestParams) -> t.CallToolResult:
        arguments = params.arguments or {}
        if params.name == "hang":
            await asyncio.Event().wait()
        if params.name == "pause":
            await asyncio.sleep(0.3)
        text = {"echo": arguments.get("nonce", ""), "pid": str(os.getpid())}.get(params.name, params.name)
        return t.CallToolResult(content=[t.TextContent(type="text", text=text)])

    return Server("echo", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    """Serve until standard input is closed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tools", nargs="+", default=["echo"])
    server = make_server(parser.parse_args().tools)
    async with stdio_server() as (reading, writing):
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        await server.run(reading, writing, options)


if __name__ == "__main__":
    asyncio.run(main())
