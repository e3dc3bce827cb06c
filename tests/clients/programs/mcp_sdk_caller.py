"""A program on the MCP SDK: a line of JSON for each call, and a line with what came; it approves what it is asked."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import mcp.types as t
from approving import approve
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


async def elicit(_: Any, params: Any) -> t.ElicitResult:
    return t.ElicitResult(action="accept", content=approve(params.requested_schema))


async def main() -> None:
    entry = json.loads(sys.argv[1])["entry"]
    if "url" in entry:
        server = streamable_http_client(entry["url"], http_client=create_mcp_http_client(headers=entry["headers"]))
    else:
        server = StdioServerParameters(command=entry["command"], args=entry["args"], env=entry["env"])
    async with Client(server, elicitation_callback=elicit) as client:
        listed = await client.list_tools()
        print(json.dumps([tool.name for tool in listed.tools]), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, arguments = json.loads(line)
            result = await client.call_tool(name, arguments)
            print(json.dumps("\n".join(part.text for part in result.content)), flush=True)


asyncio.run(main())
