"""Five tools and the Anthropic Messages API: the model calls, the toolbox runs, the results go back.

It takes the question from the command line, and needs the package `anthropic` and a key in `ANTHROPIC_API_KEY`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from anthropic import AsyncAnthropic
from five_tools import definitions, toolbox

from toolcrib_anthropic import parse_anthropic_calls, to_anthropic_results, to_anthropic_tools


async def answer(question: str, *, model: str = "claude-sonnet-4-5") -> str:
    """What the model says after it has used the tools that it wanted."""
    client, tools = AsyncAnthropic(), to_anthropic_tools(definitions, strict=True, cache="5m")
    conversation: list[Any] = [{"role": "user", "content": question}]
    declared: Any = tools.tools
    while True:
        message = await client.messages.create(model=model, max_tokens=1024, messages=conversation, tools=declared)
        calls = parse_anthropic_calls(message, tools)
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        results = await toolbox.execute(calls.calls)
        conversation += [{"role": "assistant", "content": message.content}, to_anthropic_results(calls, results)]


if __name__ == "__main__":
    if not sys.argv[1:] or os.environ.keys().isdisjoint({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}):
        sys.exit('usage: ANTHROPIC_API_KEY=… python examples/anthropic_tools.py "Is it warm in Oslo?"')
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
