"""Several tools as one: in a row, side by side, by a condition, or one instead of another."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, Unpack

from toolcrib_core import InvalidDefinition, JsonValue, ToolDefinition, ToolError, ToolErrorCategory
from toolcrib_core.json_values import thaw
from toolcrib_core.wording import quoted
from toolcrib_runtime.compose.building import Naming, compose, need_tools
from toolcrib_runtime.compose.schemas import (
    fed,
    known_to,
    list_of_outputs,
    merged_input,
    refuse_misfit,
    refuse_unfed,
    same_meaning,
)
from toolcrib_runtime.compose.steps import Steps
from toolcrib_runtime.errors import StepFailed
from toolcrib_runtime.failures import unknown_outcome
from toolcrib_runtime.runnable import RunnableTool

Predicate: TypeAlias = Callable[[Mapping[str, Any]], bool | Awaitable[bool]]
"""Looks at the arguments, on the event loop: it must be quick, or async."""

_Running: TypeAlias = asyncio.Task[JsonValue]

# After these another tool may be tried. Not after a refusal, which is not to be got round, and not when the first one
# may have had its effect.
_PASSED_ON: Final = frozenset(
    {
        ToolErrorCategory.TRANSIENT,
        ToolErrorCategory.TIMEOUT,
        ToolErrorCategory.UNAVAILABLE,
        ToolErrorCategory.NOT_FOUND,
        ToolErrorCategory.LIMIT,
        ToolErrorCategory.OUTPUT_VALIDATION,
        ToolErrorCategory.INTERNAL,
    }
)


def pipe(*tools: RunnableTool, **naming: Unpack[Naming]) -> RunnableTool:
    """A tool that gives the value of each tool to the next one.

    An object becomes the next tool's arguments; any other value becomes its one parameter, if it has only one (or only
    one that it needs). What turns out not to fit is a validation error of that step.

    Raises:
        InvalidDefinition: There are fewer than two, or a value can never be what the next tool takes.
    """
    need_tools("pipe", tools, least=2)
    for before, after in itertools.pairwise(tools):
        refuse_misfit(before, after)

    async def work(arguments: dict[str, Any], steps: Steps) -> JsonValue:
        value: JsonValue = arguments
        for number, tool in enumerate(tools, start=1):
            value = await steps.run(number, fed(value, tool))
        return value

    return compose(
        "pipe",
        tools,
        work,
        naming=naming,
        description=f"One after the other: {', then '.join(each.name for each in tools)}.",
        takes=tools[0].definition,
        gives=tools[-1].definition,
        timeout=_timeout(tools, sum),
    )


def parallel(*tools: RunnableTool, **naming: Unpack[Naming]) -> RunnableTool:
    """A tool that runs all of these at once and gives the list of their values, in this order.

    Each gets those of the arguments that it knows. The first failure stops the others and is the failure of the whole;
    none of them is left running. If one that must not run twice was stopped, the outcome of the whole is unknown.

    Raises:
        InvalidDefinition: There are fewer than two, or they mean different things by one parameter.
    """
    need_tools("parallel", tools, least=2)

    async def work(arguments: dict[str, Any], steps: Steps) -> list[JsonValue]:
        running = [
            asyncio.create_task(steps.run(number, known_to(tool, arguments)))
            for number, tool in enumerate(tools, start=1)
        ]
        failed = await _first_failure(running)
        try:
            return [task.result() for task in (running if failed is None else [failed])]
        except StepFailed as failure:
            _refuse_to_know(failure, [*zip(tools, running, strict=True)])
            raise

    shape = ToolDefinition(name="parallel", input_schema=merged_input(tools), output_schema=list_of_outputs(tools))
    return compose(
        "parallel",
        tools,
        work,
        naming=naming,
        description=f"At the same time: {', '.join(each.name for each in tools)}.",
        takes=shape,
        gives=shape,
        timeout=_timeout(tools, max),
    )


def when(
    predicate: Predicate, then: RunnableTool, otherwise: RunnableTool | None = None, **naming: Unpack[Naming]
) -> RunnableTool:
    """A tool that runs one tool if the predicate holds for the arguments, and the other, or none, if it does not.

    With no other tool the arguments come back unchanged. It takes the arguments of `then`.

    Raises:
        InvalidDefinition: The two tools take different arguments.
    """
    tools = (then,) if otherwise is None else (then, otherwise)
    need_tools("when", tools)
    if not same_meaning(then.definition.input_schema, tools[-1].definition.input_schema):
        raise InvalidDefinition(
            f"{quoted(then.id)} and {quoted(tools[-1].id)} take different arguments.",
            hint="Give both the same ones with `map_input(…, input=…)`.",
        )

    async def work(arguments: dict[str, Any], steps: Steps) -> JsonValue:
        held = predicate(thaw(arguments))
        if await held if inspect.isawaitable(held) else held:
            return await steps.run(1, arguments)
        return arguments if otherwise is None else await steps.run(2, arguments)

    return compose(
        "when",
        tools,
        work,
        naming=naming,
        description=f"{then.name} if a condition holds{f', else {otherwise.name}' if otherwise else ''}.",
        takes=then.definition,
        gives=None if otherwise is None else _common_output(tools),
        by=predicate,
        timeout=_timeout(tools, max),
    )


def fallback(*tools: RunnableTool, **naming: Unpack[Naming]) -> RunnableTool:
    """A tool that tries these in turn until one gives a value; it takes the arguments of the first.

    A refusal (wrong arguments, no permission, no approval), a cancellation, a spent budget and an unknown outcome end
    the attempt: they are no reason to try something else. `details["tried"]` lists what failed, in order.

    Raises:
        InvalidDefinition: There are fewer than two, or one needs arguments that the first does not take.
    """
    need_tools("fallback", tools, least=2)
    refuse_unfed(tools[0], tools[1:])

    async def work(arguments: dict[str, Any], steps: Steps) -> JsonValue:
        tried: list[dict[str, str]] = []
        while True:
            tool = tools[len(tried)]
            try:
                return await steps.call(len(tried) + 1, known_to(tool, arguments))
            except ToolError as error:
                tried.append({"tool": tool.id, "code": error.code, "message": error.message})
                if error.category not in _PASSED_ON or len(tried) == len(tools):
                    raise steps.failed(len(tried), error, tried=tried) from error

    return compose(
        "fallback",
        tools,
        work,
        naming=naming,
        description=f"The first that works: {', '.join(each.name for each in tools)}.",
        takes=tools[0].definition,
        gives=_common_output(tools),
        timeout=_timeout(tools, sum),
    )


async def _first_failure(running: Sequence[_Running]) -> _Running | None:
    """Wait for all, or for the first failure; then the others are stopped, and have ended when this returns.

    Not an `asyncio.TaskGroup`: in Python 3.11 and 3.12 that cancels the task it stands in, for good.
    """
    try:
        await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
        return next((task for task in running if _has_failed(task)), None)
    finally:
        await _stop(running)


async def _stop(running: Sequence[_Running]) -> None:
    for task in running:
        task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while not all(task.done() for task in running):
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as again:
            cancelled = again
    for task in running:
        if not task.cancelled():
            task.exception()  # looked at here, since otherwise it is reported that nobody ever did
    if cancelled is not None:
        raise cancelled


def _refuse_to_know(failure: StepFailed, stopped: Sequence[tuple[RunnableTool, _Running]]) -> None:
    """Say that the outcome is unknown, if a step that must not run twice may have had its effect."""
    left_open = [tool for tool, task in stopped if _is_left_open(tool, task)]
    if left_open and failure.category is not ToolErrorCategory.UNKNOWN_OUTCOME:
        raise unknown_outcome(failure, left_open[0].definition) from failure


def _has_failed(task: _Running) -> bool:
    return task.done() and not task.cancelled() and task.exception() is not None


def _is_left_open(tool: RunnableTool, task: _Running) -> bool:
    if task.cancelled():
        return not tool.repeatable
    error = task.exception()
    return isinstance(error, ToolError) and error.category is ToolErrorCategory.UNKNOWN_OUTCOME


def _common_output(tools: Sequence[RunnableTool]) -> ToolDefinition | None:
    """The first of the definitions, if all of them say the same of the value."""
    first = tools[0].definition
    return first if all(same_meaning(each.definition.output_schema, first.output_schema) for each in tools) else None


def _timeout(tools: Sequence[RunnableTool], combined: Callable[[list[float]], float]) -> float | None:
    """The seconds for the whole, where every tool says how many it needs; else the toolbox says it."""
    stated = [tool.timeout for tool in tools if tool.timeout is not None]
    return combined(stated) if len(stated) == len(tools) else None
