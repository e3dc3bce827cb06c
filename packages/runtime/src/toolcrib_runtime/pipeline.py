"""The way of a call through the stages that apply to its tool, and no others."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolcrib_core import JsonValue, ToolError
from toolcrib_runtime.cancellation import too_late
from toolcrib_runtime.errors import ToolFailed
from toolcrib_runtime.executors.protocol import HandlerRaised
from toolcrib_runtime.failures import failure_of, internal_failure, raise_failure
from toolcrib_runtime.invocation import Invocation, Middleware, Proceed
from toolcrib_runtime.outputs import ToolOutput, checked_value, json_value
from toolcrib_runtime.policy.budgets import BudgetStage, Spent
from toolcrib_runtime.policy.caching import CacheStage
from toolcrib_runtime.policy.concurrency import ConcurrencyStage
from toolcrib_runtime.policy.idempotency import IdempotencyStage
from toolcrib_runtime.policy.loops import LoopStage
from toolcrib_runtime.policy.retries import RetryStage
from toolcrib_runtime.policy.rules import PolicyStage, fixed_verdict

if TYPE_CHECKING:
    from toolcrib_runtime.runnable import RunnableTool
    from toolcrib_runtime.settings import ToolboxSettings


class Stages:
    """The stages of one toolbox: what is spent, queued and remembered is kept here, for all its tools together."""

    def __init__(self, settings: ToolboxSettings) -> None:
        self._settings = settings
        self._loops = LoopStage(settings.loops)
        self._budget = BudgetStage(settings.budget)
        self._policy = PolicyStage(settings.policy, settings.approvals)
        self._idempotency = IdempotencyStage(settings.ledger)
        self._cache = CacheStage(max_entries=settings.cache_entries)
        self._retry = RetryStage()
        self._concurrency = ConcurrencyStage(
            toolbox_limit=settings.concurrency, key_limit=settings.key_concurrency, key=settings.concurrency_key
        )

    @property
    def spent(self) -> Spent:
        """What the calls of the toolbox have spent of its budget."""
        return self._budget.spent

    def way(self, tool: RunnableTool, *, whole: bool) -> Proceed:
        """The stages that a call of this tool goes through, outermost first, down to the tool's own code.

        Those that only look at the run or the idempotency key of a call are left out unless it is the `whole` way.
        """
        settings = self._settings
        verdict = fixed_verdict(settings.policy, tool)
        stages: list[Middleware | None] = [
            self._loops if whole or settings.loops else None,
            self._budget if whole or settings.budget else None,
            # Before the rules: a call that is repeated under its key has been allowed, and has used its approval up.
            self._idempotency if whole else None,
            None if verdict is not None and verdict.decision == "allow" else self._policy,
            self._cache if tool.cache is not None else None,
            *map(_Guarded, settings.middleware),
            self._concurrency if self._concurrency.concerns(tool) else None,
            self._retry if tool.repeatable and (tool.retries or settings.retries) else None,
        ]
        return _chained(stages)

    def way_of_step(self, tool: RunnableTool) -> Proceed:
        """The stages for a tool that runs as a step of another, whose call went the whole way."""
        settings = self._settings
        verdict = fixed_verdict(settings.policy, tool)
        stages: list[Middleware | None] = [
            None if verdict is not None and verdict.decision == "allow" else self._policy,
            self._cache if tool.cache is not None else None,
            *map(_Guarded, settings.middleware),
            self._concurrency if tool.concurrency else None,
            self._retry if tool.repeatable and (tool.retries or settings.retries) else None,
        ]
        return _chained(stages)


class Entry:
    """A tool in a toolbox, ready to be called."""

    def __init__(self, tool: RunnableTool, settings: ToolboxSettings) -> None:
        self.tool = tool
        self.settings = settings
        self.timeout = settings.timeout if tool.timeout is None else tool.timeout

    @cached_property
    def way(self) -> Proceed:
        """The way of a call that says nothing but its arguments."""
        return self.settings.stages.way(self.tool, whole=False)

    @cached_property
    def whole_way(self) -> Proceed:
        """The way of a call that belongs to a run, or has an idempotency key."""
        return self.settings.stages.way(self.tool, whole=True)

    @cached_property
    def way_of_step(self) -> Proceed:
        """The way of a call that is a step of another."""
        return self.settings.stages.way_of_step(self.tool)


async def attempt(invocation: Invocation) -> JsonValue:
    """Run the tool's own code once, and check what it gives."""
    tool = invocation.tool
    invocation.attempts += 1
    invocation.in_flight = True
    if invocation.is_heard:
        invocation.emit("attempt", number=invocation.attempts)
    executor = tool.executor or invocation.settings.executor
    try:
        value = await executor.run(invocation)
    except HandlerRaised as failure:
        raise_failure(_failed(invocation, failure.raised), failure.raised)
    except ToolError as error:
        raise_failure(_failed(invocation, error), error)
    except asyncio.CancelledError as cancelled:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _failed(invocation, _unasked_cancellation()) from cancelled
    invocation.in_flight = False
    if tool.repeatable and invocation.deadline is not None and invocation.clock.monotonic() >= invocation.deadline:
        # It kept the loop busy, so that nothing could stop it. A value that must not be made twice is not thrown away.
        raise too_late()
    return _checked_output(invocation, value)


def _failed(invocation: Invocation, raised: BaseException) -> ToolError:
    failure = failure_of(raised, invocation.definition, invocation.settings.scrubber)
    invocation.in_flight = failure.leaves_open
    return failure.error


def _unasked_cancellation() -> ToolFailed:
    return ToolFailed("The tool raised `CancelledError` although nobody cancelled it.")


def _checked_output(invocation: Invocation, value: object) -> JsonValue:
    tool, limits = invocation.tool, invocation.settings.output_limits
    if isinstance(value, ToolOutput):
        blocks: Any = json_value(list(value.content), tool=tool.id, limits=limits)
        invocation.blocks = tuple(blocks)
        value = value.value
    elif invocation.step_output is not None and value is invocation.step_output.value:
        # What a step gave, handed on untouched, keeps its content.
        invocation.blocks = invocation.step_output.blocks
    return checked_value(tool, value, limits=limits)


class _Guarded:
    """A middleware of the application: what it answers must be JSON, and its failure is not the tool's."""

    def __init__(self, middleware: Middleware) -> None:
        self._middleware = middleware

    async def __call__(self, invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        try:
            value = await self._middleware(invocation, proceed)
        except (ToolError, asyncio.CancelledError):
            raise
        except Exception as failure:
            where = "a middleware"
            raise internal_failure(failure, invocation.definition, call_id=invocation.call_id, where=where) from failure
        return json_value(value, tool=invocation.definition.id, limits=invocation.settings.output_limits)


def _chained(stages: list[Middleware | None]) -> Proceed:
    proceed: Proceed = attempt
    for stage in reversed(stages):
        if stage is not None:
            proceed = _before(stage, proceed)
    return proceed


def _before(stage: Middleware, proceed: Proceed) -> Proceed:
    return lambda invocation: stage(invocation, proceed)
