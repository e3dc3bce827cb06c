"""An agent of LangChain with toolcrib as its tools; its model answers through Chat Completions."""

from __future__ import annotations

import asyncio
import json
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI


async def main() -> None:
    job = json.loads(sys.argv[1])
    entry = job["entry"]
    entry["transport"] = "streamable_http" if "url" in entry else "stdio"
    del entry["type"]
    model = ChatOpenAI(model="pretended", base_url=f"{job['model']}/v1", api_key="nothing", streaming=True)
    async with MultiServerMCPClient({"toolcrib": entry}).session("toolcrib") as session:
        agent = create_agent(model, await load_mcp_tools(session))
        done = await agent.ainvoke({"messages": [("user", "Use the tools of toolcrib.")]})
        print(done["messages"][-1].content)


asyncio.run(main())
