"""A program on FastMCP: a line of JSON for each call, and a line with what came; it approves what it is asked."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from approving import approve
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


async def elicit(_message: str, _kind: Any, params: Any, _context: Any) -> ElicitResult[Any]:
    return ElicitResult(action="accept", content=approve(params.requested_schema))


async def main() -> None:
    entry = json.loads(sys.argv[1])["entry"]
    if "url" in entry:
        transport = StreamableHttpTransport(entry["url"], headers=entry["headers"])
    else:
        transport = StdioTransport(entry["command"], entry["args"], env=entry["env"])
    async with Client(transport, elicitation_handler=elicit) as client:
        print(json.dumps([tool.name for tool in await client.list_tools()]), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, arguments = json.loads(line)
            result = await client.call_tool(name, arguments, raise_on_error=False)
            print(json.dumps("\n".join(part.text for part in result.content)), flush=True)


asyncio.run(main())
