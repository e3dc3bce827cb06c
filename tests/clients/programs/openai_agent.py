"""An agent of the OpenAI Agents SDK with toolcrib as its tools; its model answers through Responses, streamed."""

from __future__ import annotations

import asyncio
import json
import sys

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI


async def main() -> None:
    job = json.loads(sys.argv[1])
    entry = job["entry"]
    set_tracing_disabled(disabled=True)
    kind = MCPServerStreamableHttp if "url" in entry else MCPServerStdio
    model = OpenAIResponsesModel(
        "pretended", openai_client=AsyncOpenAI(base_url=f"{job['model']}/v1", api_key="nothing")
    )
    async with kind(entry, client_session_timeout_seconds=60) as server:
        run = Runner.run_streamed(Agent("agent", model=model, mcp_servers=[server]), "Use the tools of toolcrib.")
        async for _ in run.stream_events():
            pass
        print(run.final_output)


asyncio.run(main())
