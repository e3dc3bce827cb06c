"""One call, from its arrival to its result."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib_core import JsonValue, ToolError, ToolErrorCategory
from toolcrib_runtime.arguments import take_arguments
from toolcrib_runtime.calls import Outcome, ToolCall, ToolResult, new_call_id
from toolcrib_runtime.errors import ApprovalRequired, CallCancelled
from toolcrib_runtime.failures import drop_unusable_details, internal_failure, unknown_outcome
from toolcrib_runtime.invocation import NO_OPTIONS, CallOptions, Invocation, Proceed
from toolcrib_runtime.pipeline import Entry
from toolcrib_runtime.policy.rules import PolicyRequest, run_after_hooks
from toolcrib_runtime.settings import MAX_STEPS

if TYPE_CHECKING:
    from toolcrib_runtime.runnable import RunnableTool


def perform(entry: Entry, call: ToolCall, options: CallOptions = NO_OPTIONS) -> Coroutine[Any, Any, ToolResult]:
    """Run one call of a tool; the result says how it ended.

    Raises:
        asyncio.CancelledError: The caller's own task was cancelled; the tool was stopped.
    """
    return _run(_arrive(entry, call, options, None), entry)


async def run_step(parent: Invocation, tool: RunnableTool, arguments: Mapping[str, JsonValue]) -> JsonValue:
    """Run a tool as a step of another call: under its deadline, its rules and its middleware.

    Raises:
        ToolError: The step failed.
    """
    entry = parent.settings.steps.get(tool)
    if entry is None:
        if len(parent.settings.steps) >= MAX_STEPS:
            parent.settings.steps.clear()
        entry = parent.settings.steps[tool] = Entry(tool, parent.settings)
    call = ToolCall(tool=tool.id, arguments=arguments)
    result = await _run(_arrive(entry, call, parent.options, parent), entry)
    if result.blocks is not None:
        parent.step_output = result
    return result.unwrap()


def refused(call: ToolCall, error: ToolError) -> ToolResult:
    """The result of a call that led to no tool."""
    return ToolResult(call.id or new_call_id(), call.tool, "error", error=error)


def _arrive(entry: Entry, call: ToolCall, options: CallOptions, parent: Invocation | None) -> Invocation:
    invocation = Invocation(call=call, tool=entry.tool, settings=entry.settings, options=options)
    if entry.timeout is not None:
        invocation.deadline = invocation.started + entry.timeout
    if parent is not None:
        invocation.parent = parent
        invocation.deadline = _earlier(invocation.deadline, parent.deadline)
    elif options is not NO_OPTIONS:
        if options.timeout is not None:
            invocation.deadline = invocation.started + options.timeout
        if options.context is not None:
            invocation.deadline = _earlier(invocation.deadline, options.context.deadline)
    return invocation


def _earlier(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)


def _run(invocation: Invocation, entry: Entry) -> Coroutine[Any, Any, ToolResult]:
    # Nobody can have installed an SDK without having loaded it, and to look costs next to nothing.
    if "opentelemetry.sdk" in sys.modules:
        from toolcrib_runtime.telemetry import traced

        return traced(_run_untraced(invocation, entry), invocation)
    return _run_untraced(invocation, entry)


async def _run_untraced(invocation: Invocation, entry: Entry) -> ToolResult:
    heard = invocation.is_heard
    if heard:
        invocation.emit("started")
    value: JsonValue = None
    error: ToolError | None = None
    try:
        if invocation.options is not NO_OPTIONS:
            invocation.scope.check()
        _take_arguments(invocation)
        if heard:
            invocation.emit("validated")
        work: Any = _way(invocation, entry)(invocation)
        try:
            waits_for = work.send(None)
        except StopIteration as done:
            # It never waited: there was nothing to stop, and no timer to set.
            value = done.value
        else:
            value = await invocation.scope.resume(work, waits_for)
    except ToolError as failure:
        error = _final(failure, invocation)
    except asyncio.CancelledError:
        _tell_end(invocation, "error", CallCancelled("The caller was cancelled."))
        raise
    except Exception as failure:  # noqa: BLE001  # one of the two edges where everything becomes a result
        where = "the runtime"
        error = internal_failure(failure, invocation.definition, call_id=invocation.call_id, where=where)
    result = _result(invocation, value, error)
    policy = invocation.settings.policy
    if policy.after:
        await run_after_hooks(policy, PolicyRequest(invocation), result)
    return result


def _way(invocation: Invocation, entry: Entry) -> Proceed:
    if invocation.parent is not None:
        return entry.way_of_step
    if invocation.options.run is None and invocation.call.idempotency_key is None:
        return entry.way
    return entry.whole_way


def _take_arguments(invocation: Invocation) -> None:
    """Validate the arguments; nothing of the tool has run before."""
    taken = take_arguments(invocation.tool, invocation.call.arguments, repair=invocation.settings.repair)
    if taken.repair is not None:
        invocation.emit("repaired", repairs=[each.to_dict() for each in taken.repair.repairs])
    invocation.take_arguments(taken)


def _final(error: ToolError, invocation: Invocation) -> ToolError:
    drop_unusable_details(error)
    if not invocation.in_flight or invocation.tool.repeatable or error.category is ToolErrorCategory.CANCELLED:
        return error
    return unknown_outcome(error, invocation.definition)


def _result(invocation: Invocation, value: JsonValue, error: ToolError | None) -> ToolResult:
    clock = invocation.clock
    pending = error.pending if isinstance(error, ApprovalRequired) else None
    outcome: Outcome = "success" if error is None else "error" if pending is None else "action_required"
    _tell_end(invocation, outcome, error)
    duration = clock.monotonic() - invocation.started
    return ToolResult(
        invocation.call_id,
        invocation.tool.definition.id,
        outcome,
        value,
        error,
        pending,
        invocation.attempts,
        invocation.source,
        clock.wall() - duration,
        duration,
        invocation.queued,
        None if error is not None else invocation.blocks,
        invocation.snapshot or None,
    )


def _tell_end(invocation: Invocation, outcome: Outcome, error: ToolError | None) -> None:
    invocation.ended = True
    if invocation.is_heard:
        invocation.emit(
            "finished",
            outcome=outcome,
            category=None if error is None else error.category.value,
            code=None if error is None else error.code,
            attempts=invocation.attempts,
            source=invocation.source,
            seconds=invocation.clock.monotonic() - invocation.started,
        )
