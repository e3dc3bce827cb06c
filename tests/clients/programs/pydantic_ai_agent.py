"""An agent of pydantic-ai with toolcrib as its tools; its model answers through Chat Completions."""

from __future__ import annotations

import asyncio
import json
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset, StdioTransport, StreamableHttpTransport
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main() -> None:
    job = json.loads(sys.argv[1])
    entry = job["entry"]
    if "url" in entry:
        transport = StreamableHttpTransport(entry["url"], headers=entry["headers"])
    else:
        transport = StdioTransport(entry["command"], entry["args"], env=entry["env"])
    provider = OpenAIProvider(base_url=f"{job['model']}/v1", api_key="nothing")
    toolset = MCPToolset(transport, init_timeout=60, read_timeout=60, tool_error_behavior="retry", max_retries=5)
    agent = Agent(OpenAIChatModel("pretended", provider=provider), toolsets=[toolset])
    async with agent:
        print((await agent.run("Use the tools of toolcrib.")).output)


asyncio.run(main())
