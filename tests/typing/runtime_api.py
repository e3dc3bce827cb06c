"""Calls of the runtime that users write and that must keep type-checking: read by mypy, never run."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from toolcrib_core import JsonValue, SearchResult, ToolContext
from toolcrib_runtime import (
    Approvals,
    Budget,
    CachePolicy,
    Cancellation,
    Invocation,
    LocalExecutor,
    LoopLimits,
    PendingApproval,
    Policy,
    PolicyRequest,
    Proceed,
    ProcessExecutor,
    RetryPolicy,
    Run,
    RunnableTool,
    RuntimeToolContext,
    Spent,
    Toolbox,
    ToolCall,
    ToolEvent,
    ToolResult,
    bind,
    combine_toolboxes,
    create_search_tool,
    create_tool,
    create_toolbox,
    deny,
    fallback,
    lazy,
    map_input,
    map_output,
    parallel,
    pipe,
    retry,
    tap,
    tool,
    when,
)


class Transfer(BaseModel):
    """Move money."""

    cents: int


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(effects="read", timeout=5, retries=RetryPolicy(attempts=2), cache=CachePolicy(ttl=60), concurrency=4)
async def forecast(city: str, context: RuntimeToolContext) -> str:
    """The weather."""
    context.progress(1, total=2, message="asking")
    assert_type(context.remaining, float | None)
    return city


def making_tools() -> None:
    assert_type(add, RunnableTool)
    assert_type(forecast, RunnableTool)
    assert_type(create_tool(Transfer, lambda order: order, effects="write", idempotent=True), RunnableTool)
    assert_type(create_tool({"type": "object"}, lambda: None, name="nothing"), RunnableTool)


async def running_tools(box: Toolbox, call: ToolCall) -> None:
    assert_type(await forecast.run({"city": "Oslo"}), JsonValue)
    assert_type(await box.execute(call), ToolResult)
    assert_type(await box.execute([call, call], mode="sequential", on_error="fail_fast"), list[ToolResult])
    assert_type(await box.call("add", '{"a": 1, "b": 2}', timeout=1, cancellation=Cancellation()), ToolResult)
    result = await box.call("add", context=ToolContext(run_id="r1"), run=Run(budget=Budget(calls=3)))
    assert_type(result.unwrap(), JsonValue)
    assert_type(result.action, PendingApproval | None)
    assert_type(box.spent, Spent)
    assert_type(box.search("rain"), SearchResult)
    if result.action is not None:
        assert_type(box.grant(result.action, by="ann"), str)


def setting_up() -> None:
    def rule(request: PolicyRequest) -> str | None:
        return None if request.arguments.get("cents") else "deny"

    async def middleware(invocation: Invocation, proceed: Proceed) -> JsonValue:
        return await proceed(invocation)

    def listener(event: ToolEvent) -> None:
        assert_type(event.call_id, str)

    box = create_toolbox(
        [add, forecast],
        aliases={"sum": "default:add"},
        policy=Policy(rules=(deny("fs:*"),), version="2"),
        approvals=Approvals(secret=b"sixteen bytes or more"),
        budget=Budget(calls=10, seconds=60, cost=1.5, output_tokens=10_000),
        loops=LoopLimits(repeats=5),
        middleware=(middleware,),
        listeners=(listener,),
        executor=LocalExecutor(threads=4),
        concurrency=8,
    )
    assert_type(box, Toolbox)
    assert_type(box.extend(create_search_tool(box)), Toolbox)
    assert_type(combine_toolboxes(box, create_toolbox(executor=ProcessExecutor(workers=2))), Toolbox)
    Policy(rules=(rule,))  # type: ignore[arg-type]  # any text: only `allow`, `ask` and `deny` are answers


def composing(definition: Any) -> None:
    for made in (
        pipe(add, forecast, name="both"),
        parallel(add, forecast),
        bind(add, {"a": 1}),
        tap(add, print),
        when(lambda arguments: bool(arguments), add),
        fallback(add, forecast),
        retry(forecast, RetryPolicy(attempts=5)),
        map_input(add, lambda arguments: {**arguments, "a": 1}),
        map_output(add, str, output=str),
        lazy(definition, lambda: add),
    ):
        assert_type(made, RunnableTool)
