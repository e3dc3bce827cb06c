"""What the tests of the spine share: toolboxes in which everything may run, once, and a worker thread to hold up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Unpack

from toolcrib_runtime import Policy, RunnableTool, Toolbox, ToolResult, create_tool, create_toolbox
from toolcrib_runtime.binding import Handler
from toolcrib_runtime.settings import ToolboxOptions

ANYTHING = Policy(by_risk=None)


def box(*tools: RunnableTool | Handler, **options: Unpack[ToolboxOptions]) -> Toolbox:
    """A toolbox without policy and retries; a bare function becomes a tool that may be run twice."""
    options.setdefault("policy", ANYTHING)
    options.setdefault("retries", None)
    return create_toolbox([as_tool(each) for each in tools], **options)


def as_tool(given: RunnableTool | Handler, **options: Any) -> RunnableTool:
    """The tool itself, or one of a function that has no effects and needs no docstring."""
    if isinstance(given, RunnableTool):
        return given
    described = {"description": "A tool for tests.", "effects": "read"}
    return create_tool(given, **{**described, **options})


async def called(
    given: RunnableTool | Handler, arguments: Any = None, /, **options: Unpack[ToolboxOptions]
) -> ToolResult:
    """The result of one call of one tool."""
    made = as_tool(given)
    return await box(made, **options).call(made.name, arguments)


def error_of(result: ToolResult) -> tuple[str, str]:
    """Code and category of what went wrong."""
    assert result.error is not None
    return result.error.code, result.error.category.value


@contextmanager
def held_up() -> Iterator[threading.Event]:
    """An event for a plain function to wait on; it is set in the end, so that no thread is left hanging."""
    event = threading.Event()
    try:
        yield event
    finally:
        event.set()


@asynccontextmanager
async def background(coroutine: Any) -> AsyncIterator[asyncio.Task[Any]]:
    """A task that has ended when the block has."""
    task = asyncio.create_task(coroutine)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_set(event: threading.Event) -> None:
    """Wait for a thread without keeping the loop from its work."""
    await asyncio.to_thread(event.wait, 10)
    assert event.is_set()
