"""Bounds for an agent that nobody watches: a budget for the run, an end to loops, and a deadline for each call.

It prints:
    search: 1 hit for tea
    search: 1 hit for tea
    search: The same call came 3 times, and was not run again.
    hang: The call did not end within its time.
    search: 1 hit for coffee
    search: The budget of this run does not allow the call: 4 of 4 calls are spent.
"""

from __future__ import annotations

import asyncio

from toolcrib_runtime import Budget, LoopLimits, Run, create_toolbox, tool


@tool(effects="read")
async def search(query: str) -> str:
    """Search the web."""
    return f"1 hit for {query}"


@tool(effects="read", timeout=0.05)
async def hang() -> None:
    """Never answer."""
    await asyncio.Event().wait()


async def main() -> None:
    """Play a model that does not know when to stop."""
    toolbox = create_toolbox([search, hang], loops=LoopLimits(repeats=3))
    run = Run(budget=Budget(calls=4, seconds=60))
    asked = [("search", {"query": "tea"})] * 3 + [
        ("hang", {}),
        ("search", {"query": "coffee"}),
        ("search", {"query": "cocoa"}),
    ]
    for name, arguments in asked:
        result = await toolbox.call(name, arguments, run=run)
        print(f"{name}: {result.error.message if result.error else result.value}")


if __name__ == "__main__":
    asyncio.run(main())
