"""How a tool that is made of others runs them: as steps of its own call, at any depth, naming the one that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from toolcrib_core import InvalidArguments, JsonValue, ToolDefinition, ToolError, ToolErrorCategory
from toolcrib_core.wording import MAX_SHOWN, kind_of, listed, quoted
from toolcrib_runtime.binding import Binding, whole
from toolcrib_runtime.context import RuntimeToolContext
from toolcrib_runtime.errors import StepFailed
from toolcrib_runtime.executors import LocalExecutor
from toolcrib_runtime.policy.retries import RetryPolicy
from toolcrib_runtime.runnable import RunnableTool, make_runnable

MAX_NESTING: Final = 100
"""How deep composed tools may lie in one another; a tool that is a step of itself is stopped here."""

Doing: TypeAlias = Callable[[dict[str, Any], RuntimeToolContext], Coroutine[Any, Any, object]]

# One level takes about twenty of the thousand frames that the interpreter allows, and more with middleware. Every task
# starts with an empty stack.
_LEVELS_PER_STACK: Final = 8
_level: ContextVar[int] = ContextVar("toolcrib_nesting_level", default=0)

# The steps are tried again, each by its own policy. If the whole were too, three tries of three would be nine, and
# twenty-seven one level further up.
_ONCE: Final = RetryPolicy(attempts=1)

# Seconds: more than a step has to end after it was cancelled, so that none is left behind.
_GRACE: Final = 30.0


def make_composed(
    definition: ToolDefinition, work: Doing, *, steps: Sequence[RunnableTool] = (), timeout: float | None = None
) -> RunnableTool:
    """A tool whose work is to call other tools, through the context that it gets."""

    async def handler(arguments: dict[str, Any], context: RuntimeToolContext) -> object:
        # Set in the context of this one call, which the executor made.
        level = _level.get() + 1
        _level.set(level)
        if level > MAX_NESTING:
            raise _nested_too_deep()
        running = work(arguments, context)
        return await (running if level % _LEVELS_PER_STACK else _on_a_new_stack(running))

    # On the caller's loop, wherever the steps run: from another process it could not call them.
    here = LocalExecutor(grace=_GRACE)
    made = make_runnable(definition, Binding(handler, ("context",), whole), retries=_ONCE, executor=here)
    return made.replace(steps=tuple(steps), timeout=timeout)


class Steps:
    """The steps of one call of a composed tool; they are numbered from 1."""

    def __init__(
        self, verb: str, tools: Sequence[RunnableTool], context: RuntimeToolContext, *, repeatable: bool
    ) -> None:
        self._verb = verb
        self._tools = tools
        self._context = context
        self._repeatable = repeatable
        self._completed: list[str] = []

    async def run(self, number: int, arguments: object) -> JsonValue:
        """Run a step.

        Raises:
            StepFailed: It failed; what it failed with is the cause.
        """
        try:
            return await self.call(number, arguments)
        except ToolError as error:
            raise self.failed(number, error) from error

    async def call(self, number: int, arguments: object) -> JsonValue:
        """Run a step, and let its own error pass.

        Raises:
            InvalidArguments: What it is to be called with is not an object.
            ToolError: It failed.
        """
        tool = self._tools[number - 1]
        if not isinstance(arguments, Mapping):
            # Not left to the call: that would read a text as JSON, and take null for no arguments.
            raise InvalidArguments(
                f"The arguments of {quoted(tool.id)} must be an object, not {kind_of(arguments)}.",
                hint="What comes before it must give an object: `map_output` and `map_input` can make one.",
            )
        value = await self._context.call(tool, arguments)
        self._completed.append(tool.id)
        return value

    def failed(self, number: int, error: ToolError, **more: object) -> StepFailed:
        """The error of a step as that of the whole, with the steps that lead to it in `details["steps"]`.

        What may pass for the step may pass for the whole only if the whole may run twice.
        """
        tool = self._tools[number - 1]
        inner, completed = _told(error, "steps"), [*self._completed, *_told(error, "completed")]
        details = {**error.details, **({"completed": completed} if completed else {}), **more}
        # How often the step was tried is not how often the whole was.
        tries = {"attempts": details.pop("attempts")} if "attempts" in details else {}
        details["steps"] = [{"number": number, "tool": tool.id, **tries}, *inner[1 - MAX_SHOWN :]]
        where = f" at {quoted(inner[-1]['tool'])}" if inner else ""
        return StepFailed(
            f"Step {number} of the {self._verb}, {quoted(tool.id)}, failed{where}: {_root(error).message}",
            code=error.code,
            category=error.category,
            hint=self._hint(_root(error).hint, error.category, completed),
            retryable=error.retryable and self._repeatable,
            details=details,
        )

    def _hint(self, hint: str | None, category: ToolErrorCategory, completed: list[str]) -> str | None:
        if self._repeatable or not completed or category is ToolErrorCategory.UNKNOWN_OUTCOME:
            return hint
        done = f"What {listed(completed)} did before is not undone."
        return f"{hint} {done}" if hint else done


def passed_on(error: ToolError) -> StepFailed:
    """The error of the one step of a tool that is only a way to it: nothing is added."""
    return StepFailed(
        error.message,
        code=error.code,
        category=error.category,
        hint=error.hint,
        retryable=error.retryable,
        details=error.details,
    )


async def _on_a_new_stack(running: Coroutine[Any, Any, object]) -> object:
    task = asyncio.create_task(running)
    try:
        return await task
    finally:
        task.cancel()


def _told(error: ToolError, what: str) -> list[Any]:
    """What the steps of a step have told about themselves."""
    told: Any = error.details.get(what) if isinstance(error, StepFailed) else None
    return told or []


def _root(error: ToolError) -> ToolError:
    while isinstance(error, StepFailed) and isinstance(error.__cause__, ToolError) and error.__cause__ is not error:
        error = error.__cause__
    return error


def _nested_too_deep() -> StepFailed:
    return StepFailed(
        f"Composed tools lie in one another more than {MAX_NESTING} deep.",
        category=ToolErrorCategory.LIMIT,
        hint="Look whether a tool is a step of itself.",
    )
