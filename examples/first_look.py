"""A first look at toolcrib: define tools, name them, show them to a model, resolve and check a call."""

from __future__ import annotations

import asyncio
import json
import warnings
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from toolcrib_core import (
    RegistryWarning,
    ToolDefinition,
    ToolError,
    ToolLifecycle,
    ToolRisk,
    count_tokens,
    create_registry,
    define_tool,
    is_deprecated,
    make_card,
    none_of,
    render_card,
    serialize_tool_definition,
    validate_arguments,
)
from toolcrib_runtime import create_toolbox, tool


def forecast(city: str, days: Annotated[int, Field(ge=1, le=14)] = 3) -> dict[str, float]:
    """The weather of the next days.

    Args:
        city: Where, as in `Oslo` or `Oslo, Norway`.
        days: How many days to look ahead.
    """
    return {f"{city}, day {day}": 20.0 for day in range(days)}


@dataclass
class CreateIssue:
    """Open an issue in a repository."""

    repository: str
    title: str
    body: str = ""


SEARCH_SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What to look for"}, "limit": {"type": "integer"}},
    "required": ["query"],
    "additionalProperties": False,
}


def main() -> None:
    """Print each step and what it shows."""
    tools = [
        define_tool(
            forecast,
            namespace="weather",
            version="1.0.0",
            lifecycle=ToolLifecycle(deprecated=True, replaced_by="weather:forecast@2.0.0"),
        ),
        define_tool(forecast, namespace="weather", version="2.0.0", risk=ToolRisk(effects="read")),
        define_tool(CreateIssue, namespace="github", risk=ToolRisk(effects="write")),
        ToolDefinition(namespace="web", name="search", description="Search the web.", input_schema=SEARCH_SCHEMA),
    ]
    registry = create_registry(tools, aliases={"weather:outlook": "weather:forecast"})

    heading("Four definitions: from functions, a dataclass and a JSON Schema")
    for each in registry.list():
        print(f"  {each.id}")

    heading("What a model is shown: cards, with their exact price in tokens")
    for each in registry.list():
        card = render_card(make_card(each))
        whole = count_tokens(json.dumps(serialize_tool_definition(each)["inputSchema"]) + each.description)
        print(f"  {count_tokens(card):3} tokens (schema and description: {whole:3})  {card}")

    heading("Finding tools in words, without a model")
    for request in ("will it rain tomorrow", "report a bug", "boil an egg"):
        found = [hit.id for hit in registry.search(request, limit=1, where=none_of(is_deprecated())).hits]
        print(f"  {request!r:24} -> {found[0] if found else 'nothing, and it says so'}")

    heading("Resolving: aliases, the highest version, and a warning where one is due")
    print(f"  weather:outlook        -> {registry.resolve('weather:outlook').id}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RegistryWarning)
        print(f"  weather:forecast@1.0.0 -> {registry.resolve('weather:forecast@1.0.0').id}")
    print(f"  warning: {caught[0].message}")

    heading("Errors are written for the model that reads them")
    for name, arguments in (("weather:forecast", {"citty": "Oslo", "days": 40}), ("weather:forcast", {})):
        try:
            validate_arguments(registry.resolve(name), arguments)
        except ToolError as error:
            print(f"  {error.code}: {error}")

    heading("Running: validated first, bounded, and nothing that has not said what it does runs unasked")
    asyncio.run(run_some())

    heading("Provider-neutral JSON, the same bytes on every machine")
    print(f"  {json.dumps(serialize_tool_definition(registry.resolve('github:create_issue')))}")


async def run_some() -> None:
    """Call tools that answer, hang, and wait for approval."""

    @tool(effects="none")
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @tool(effects="read", timeout=0.05)
    async def hang() -> None:
        """Never answer."""
        await asyncio.Event().wait()

    @tool
    async def wipe() -> None:
        """Say nothing about its effects."""

    toolbox = create_toolbox([add, hang, wipe])
    for name, arguments in (("add", '{"a": 1, "b": 2}'), ("add", '{"a": 1, "b": "2"}'), ("hang", None), ("wipe", None)):
        result = await toolbox.call(name, arguments)
        print(f"  {name:5} {result.outcome}: {result.text}")


def heading(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}")


if __name__ == "__main__":
    main()
