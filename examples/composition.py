"""Tools made of tools: each is a tool of its own, with a schema, the merged risk of its parts, and errors by step.

It prints:
    weather_mail needs ['city'], effects: write
    sent to the team: Oslo: 21 degrees
    sent to the team: Bergen: nobody knows
    tool.weather.station.no-station: Step 1 of the pipe, `weather:station@1.0.0`, failed: There is no station in Bergen.
"""

from __future__ import annotations

import asyncio

from toolcrib_core import create_tool_error
from toolcrib_runtime import bind, create_toolbox, fallback, pipe, tool


@tool(namespace="weather", version="1.0.0", effects="read")
async def station(city: str) -> str:
    """The temperature at a weather station."""
    if city != "Oslo":
        code = "tool.weather.station.no-station"
        raise create_tool_error(code, f"There is no station in {city}.", category="not_found")
    return f"{city}: 21 degrees"


@tool(namespace="weather", version="1.0.0", effects="none")
async def shrug(city: str) -> str:
    """What is said where nothing is known."""
    return f"{city}: nobody knows"


@tool(namespace="mail", version="1.0.0", effects="write")
async def send(text: str, to: str) -> str:
    """Send a mail."""
    return f"sent to {to}: {text}"


async def main() -> None:
    """Compose two tools of three, and call them."""
    to_team = bind(send, {"to": "the team"})
    mail = pipe(fallback(station, shrug), to_team, name="weather_mail")
    strict = pipe(station, to_team, name="strict_mail")
    toolbox = create_toolbox([mail, strict])
    needs = list(mail.definition.input_schema["properties"])
    print(f"{mail.definition.name} needs {needs}, effects: {mail.definition.risk.effects}")
    for city in ("Oslo", "Bergen"):
        print((await toolbox.call("weather:weather_mail", {"city": city})).value)
    failed = await toolbox.call("weather:strict_mail", {"city": "Bergen"})
    if failed.error is not None:
        print(f"{failed.error.code}: {failed.error.message}")


if __name__ == "__main__":
    asyncio.run(main())
