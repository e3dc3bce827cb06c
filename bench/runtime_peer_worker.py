"""One other tool runtime on the same calls: `runtime_peer_worker.py NAME ROUNDS` prints its ratios as JSON.

It runs in the peer's own environment; every ratio is against a floor measured in the same process. Where a peer offers
several ways in, the cheapest that still validates is taken, with whatever can be made beforehand made beforehand.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from runtime_calls import ANSWER, SAMPLES, Sample, Work, making_ratio, pydantic_schema, times_dearer

_FUNCTIONS = 120


async def openai_agents(sample: Sample) -> Work:
    """The innermost hook: no runner and no guardrails, and one context for all calls."""
    from agents import function_tool
    from agents.tool_context import ToolContext

    tool = function_tool(sample.function)
    context = ToolContext(None, tool_name=tool.name, tool_call_id="call", tool_arguments=sample.text)
    return lambda: tool.on_invoke_tool(context, sample.text)


async def pydantic_ai(sample: Sample) -> Work:
    """What an agent's run does with each call of a model, without the run."""
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import RunUsage

    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    manager = await ToolManager(FunctionToolset([sample.function])).for_run_step(context)
    return lambda: manager.handle_call(ToolCallPart(sample.function.__name__, sample.text))


async def langchain_core(sample: Sample) -> Work:
    """The public way to run a tool; it takes parsed arguments."""
    from langchain_core.tools import tool

    made: Any = tool(sample.function)
    return lambda: made.ainvoke(json.loads(sample.text))


def openai_agents_tool(function: Any) -> object:
    """A tool with its schema."""
    from agents import function_tool

    return function_tool(function).params_json_schema


def pydantic_ai_tool(function: Any) -> object:
    """A tool with its schema."""
    from pydantic_ai import Tool

    return Tool(function).function_schema.json_schema


def langchain_core_tool(function: Any) -> object:
    """A tool with its schema."""
    from langchain_core.tools import tool

    return tool(function).args


PEERS: dict[str, tuple[str, Callable[[Sample], Awaitable[Work]], Callable[[Any], object]]] = {
    "openai-agents": ("openai-agents", openai_agents, openai_agents_tool),
    "pydantic-ai": ("pydantic-ai-slim", pydantic_ai, pydantic_ai_tool),
    "langchain-core": ("langchain-core", langchain_core, langchain_core_tool),
}


async def measured(name: str, rounds: int) -> dict[str, Any]:
    """The version of a peer, what a call costs for each sample, and what a tool costs."""
    distribution, prepare, make = PEERS[name]
    ratios = {}
    for key, sample in SAMPLES.items():
        work = await prepare(sample)
        answer = await work()
        if answer != ANSWER:
            raise SystemExit(f"{name} answered {answer!r}")
        ratios[key] = await times_dearer(work, sample.floor, rounds=rounds)
    tool = making_ratio(make, floor=pydantic_schema, count=_FUNCTIONS, rounds=min(rounds, 3))
    return {"version": importlib.metadata.version(distribution), "calls": ratios, "tool": tool}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(sys.argv[1], int(sys.argv[2])))))
