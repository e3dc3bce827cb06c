"""Many calls: in parallel or one after the other, to the end or to the first failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias, get_args

from toolcrib_core.wording import either
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.policy.bounds import check_whole

Mode: TypeAlias = Literal["parallel", "sequential"]
OnError: TypeAlias = Literal["collect", "fail_fast"]
RunOne: TypeAlias = Callable[[ToolCall, Cancellation | None], Awaitable[ToolResult]]

MAX_PARALLEL: Final = 256
"""How many calls of one batch are on their way at a time: ten thousand would each hold their stack in memory."""


async def run_batch(
    calls: Sequence[ToolCall],
    run_one: RunOne,
    *,
    cancellation: Cancellation | None,
    mode: Mode,
    on_error: OnError,
    max_parallel: int,
) -> list[ToolResult]:
    """Run the calls; the results stand in the order of the calls.

    With `fail_fast` the first failure takes the others back: those that run are stopped, those that wait never start,
    and all of them have results with the category `cancelled`.
    """
    _refuse_unknown(mode, on_error, max_parallel)
    switch = Cancellation() if on_error == "fail_fast" else cancellation
    results: list[ToolResult | None] = [None] * len(calls)
    indices = iter(range(len(calls)))

    async def work() -> None:
        for index in indices:  # one iterator for all workers: each call is taken once
            result = results[index] = await run_one(calls[index], switch)
            if on_error == "fail_fast" and result.outcome == "error" and switch is not None:
                switch.cancel("another call of the batch failed")

    with _linked(cancellation, switch):
        width = 1 if mode == "sequential" else min(max_parallel, len(calls))
        if width == 1:
            await work()
        else:
            async with asyncio.TaskGroup() as group:
                for _ in range(width):
                    group.create_task(work())
    return [result for result in results if result is not None]


def _refuse_unknown(mode: str, on_error: str, max_parallel: int) -> None:
    if mode not in get_args(Mode):
        raise ValueError(f"`mode` is {either(get_args(Mode))}")
    if on_error not in get_args(OnError):
        raise ValueError(f"`on_error` is {either(get_args(OnError))}")
    check_whole("max_parallel", max_parallel, least=1)


@contextmanager
def _linked(outer: Cancellation | None, inner: Cancellation | None) -> Iterator[None]:
    """Let the batch's own switch follow the caller's, for as long as the batch lasts."""
    if outer is None or inner is None or outer is inner:
        yield
        return
    off = outer.on_cancel(lambda: inner.cancel(outer.reason or ""))
    try:
        yield
    finally:
        off()
