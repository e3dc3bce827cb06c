"""What the tests of composition share: every way to compose, and parts that show what happens to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from toolcrib_core import JsonValue, ToolDefinition, ToolError, ToolErrorCategory
from toolcrib_runtime import (
    RunnableTool,
    bind,
    create_tool,
    fallback,
    lazy,
    map_input,
    map_output,
    parallel,
    pipe,
    retry,
    tap,
    when,
)
from toolcrib_runtime.testing import fake_tool

Composer = Callable[[RunnableTool], RunnableTool]

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def _always(arguments: object) -> bool:
    return True


def _nothing(value: object) -> None:
    return None


def _same(value: Any) -> Any:
    return value


def lazily(tool: RunnableTool) -> RunnableTool:
    """The tool, loaded by its first call."""
    return lazy(tool.definition, lambda: tool)


COMPOSERS: dict[str, Composer] = {
    "pipe": lambda tool: pipe(tool, tool),
    "parallel": lambda tool: parallel(tool, tool),
    "when": lambda tool: when(_always, tool, tool),
    "fallback": lambda tool: fallback(tool, tool),
    "bind": lambda tool: bind(tool, {}),
    "tap": lambda tool: tap(tool, _nothing),
    "map_input": lambda tool: map_input(tool, _same),
    "map_output": lambda tool: map_output(tool, _same),
    "lazy": lazily,
}
"""Every way to make a tool of one; `retry`, which does not take every tool, is not among them."""

REPEATABLE_COMPOSERS: dict[str, Composer] = {**COMPOSERS, "retry": retry}


def failing(name: str, category: ToolErrorCategory = ToolErrorCategory.CONFLICT, **options: Any) -> RunnableTool:
    """A tool that fails with an error that says a good deal."""
    error = ToolError(
        "It is broken.",
        code="tool.test.broken",
        category=category,
        hint="Mend it.",
        details={"part": "wheel"},
    )
    return fake_tool(name, raises=error, **options)


def counting(name: str, **options: Any) -> RunnableTool:
    """A tool that adds one to a number."""

    async def add(n: int) -> JsonValue:
        return {"n": n + 1}

    described = {"description": "Add one.", "effects": "read", "output": NUMBER}
    return create_tool(add, **{**described, "name": name, **options})


class Hanging:
    """A tool that never ends by itself, and says when it was started and how it was stopped."""

    def __init__(self, name: str = "hang", **options: Any) -> None:
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()
        described = {"name": name, "description": "Hang.", "effects": "read"}
        self.tool = create_tool(self._hang, **{**described, **options})

    async def _hang(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()


def defined(name: str = "late", **options: Any) -> ToolDefinition:
    """A definition to load a tool for."""
    return counting(name, **options).definition


def other_tasks() -> set[asyncio.Task[Any]]:
    """Every task on the loop but the test itself."""
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
