"""A function becomes a tool, and is called as a model calls it: by name, with JSON.

It prints:
    weather:forecast@1.0.0 — The weather of the next days.
    success: 2 days of sun in Oslo
    error: `weather:forecast` got an argument it does not know: `day`. Did you mean `days`? Allowed: `city`, `days`.
"""

from __future__ import annotations

import asyncio

from toolcrib_core import make_card, render_card
from toolcrib_runtime import create_toolbox, tool


@tool(namespace="weather", version="1.0.0", effects="read")
async def forecast(city: str, days: int = 3) -> str:
    """The weather of the next days."""
    return f"{days} days of sun in {city}"


async def main() -> None:
    """Call the tool twice, once with a misspelt argument."""
    toolbox = create_toolbox([forecast])
    print(render_card(make_card(forecast.definition)))
    for arguments in ('{"city": "Oslo", "days": 2}', '{"city": "Oslo", "day": 2}'):
        result = await toolbox.call("weather:forecast", arguments)
        print(f"{result.outcome}: {result.error.message if result.error else result.value}")


if __name__ == "__main__":
    asyncio.run(main())
