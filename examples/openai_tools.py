"""Five tools and the OpenAI Responses API: the model calls, the toolbox runs, the results go back.

It takes the question from the command line, and needs the package `openai` and a key in `OPENAI_API_KEY`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from five_tools import definitions, toolbox
from openai import AsyncOpenAI

from toolcrib_openai import parse_openai_calls, to_openai_results, to_openai_tools


async def answer(question: str, *, model: str = "gpt-5") -> str:
    """What the model says after it has used the tools that it wanted."""
    client, tools = AsyncOpenAI(), to_openai_tools(definitions, strict=True)
    conversation: list[Any] = [{"role": "user", "content": question}]
    declared: Any = tools.tools
    while True:
        response = await client.responses.create(model=model, input=conversation, tools=declared)
        calls = parse_openai_calls(response, tools)
        if not calls:
            return response.output_text
        results = await toolbox.execute(calls.calls)
        conversation += [*response.output, *to_openai_results(calls, results, tools)]


if __name__ == "__main__":
    if not sys.argv[1:] or "OPENAI_API_KEY" not in os.environ:
        sys.exit('usage: OPENAI_API_KEY=… python examples/openai_tools.py "Is it warm in Oslo?"')
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
