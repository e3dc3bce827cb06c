"""Five tools and the Gemini API: the model calls, the toolbox runs, the results go back.

It takes the question from the command line, and needs the package `google-genai` and a key in `GEMINI_API_KEY`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from five_tools import definitions, toolbox
from google import genai

from toolcrib_gemini import parse_gemini_calls, to_gemini_choice, to_gemini_results, to_gemini_tools


async def answer(question: str, *, model: str = "gemini-2.5-flash") -> str:
    """What the model says after it has used the functions that it wanted."""
    client, tools = genai.Client(), to_gemini_tools(definitions)
    config: Any = {"tools": tools.tools, "tool_config": to_gemini_choice("validated", tools)}
    conversation: list[Any] = [{"role": "user", "parts": [{"text": question}]}]
    while True:
        response = await client.aio.models.generate_content(model=model, contents=conversation, config=config)
        calls = parse_gemini_calls(response, tools)
        if not calls:
            return response.text or ""
        results = await toolbox.execute(calls.calls)
        conversation += [(response.candidates or [])[0].content, to_gemini_results(calls, results)]


if __name__ == "__main__":
    if not sys.argv[1:] or os.environ.keys().isdisjoint({"GEMINI_API_KEY", "GOOGLE_API_KEY"}):
        sys.exit('usage: GEMINI_API_KEY=… python examples/gemini_tools.py "Is it warm in Oslo?"')
    print(asyncio.run(answer(" ".join(sys.argv[1:]))))
