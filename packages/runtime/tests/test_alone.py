"""A tool that is run outside any toolbox: checked, and with nothing else around it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import pytest
from small_toolboxes import as_tool

from toolcrib_core import InvalidArguments, ToolError
from toolcrib_runtime import (
    CachePolicy,
    DeadlineExceeded,
    RetryPolicy,
    RuntimeToolContext,
    ToolFailed,
    ToolOutput,
    UnusableOutput,
    create_tool,
)
from toolcrib_runtime.testing import fake_tool

pytestmark = pytest.mark.req("RT-1")


async def double(x: int) -> int:
    return 2 * x


def double_plain(x: int) -> int:
    return 2 * x


async def double_in_context(x: int, context: RuntimeToolContext) -> int:
    return 2 * x * context.attempt


every_kind = pytest.mark.parametrize("function", [double, double_plain, double_in_context])


@every_kind
@pytest.mark.parametrize("given", [{"x": 2}, '{"x": 2}', b'{"x": 2}', {"x": 2.0}])
async def test_a_tool_alone_gives_its_value(function: Any, given: Any) -> None:
    assert await as_tool(function).run(given) == 4


@every_kind
async def test_bad_arguments_raise_and_run_nothing(function: Any) -> None:
    with pytest.raises(InvalidArguments):
        await as_tool(function).run({"x": "two"})


@pytest.mark.fault("I1")
@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("raised", [ValueError("x"), SystemExit(1), asyncio.CancelledError()])
async def test_a_failure_is_raised_as_an_error_of_the_tool(raised: BaseException, *, blocking: bool) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise raised

    with pytest.raises(ToolFailed) as failed:
        await as_tool(fail, blocking=blocking).run()

    assert failed.value.code.startswith("tool.default.fail.")


@pytest.mark.parametrize("blocking", [True, False])
async def test_what_is_not_json_is_refused(*, blocking: bool) -> None:
    async def give() -> object:
        return object()

    with pytest.raises(UnusableOutput):
        await as_tool(give, blocking=blocking).run()


@pytest.mark.parametrize("blocking", [True, False])
async def test_of_an_output_with_content_the_value_is_given(*, blocking: bool) -> None:
    async def draw() -> object:
        return ToolOutput(value=1, content=({"type": "text", "text": "x"},))

    assert await as_tool(draw, blocking=blocking).run() == 1


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_handler_that_does_not_take_what_its_schema_allows_has_failed(*, blocking: bool) -> None:
    schema = {"type": "object", "properties": {}}
    tool = create_tool(schema, double, name="double", description="Double.", blocking=blocking)

    with pytest.raises(ToolFailed):
        await tool.run({})


@pytest.mark.parametrize("blocking", [True, False])
async def test_rules_retries_and_caches_of_the_tool_are_left_out(*, blocking: bool) -> None:
    runs = []

    async def work() -> int:
        runs.append(True)
        if len(runs) == 1:
            raise ConnectionError
        return len(runs)

    options: Any = {"rules": (lambda _: "deny",), "retries": RetryPolicy(first_delay=0), "cache": CachePolicy()}
    tool = as_tool(work, blocking=blocking, concurrency=1, **options)

    with pytest.raises(ToolError) as failed:
        await tool.run()
    assert [await tool.run(), await tool.run()] == [2, 3]
    assert failed.value.category == "transient"


async def test_a_tool_of_any_risk_runs_since_nobody_was_asked_to_judge() -> None:
    assert await fake_tool("delete", returns=1, effects="write").run({}) == 1


@pytest.mark.req("RT-5")
async def test_the_timeout_of_the_tool_holds() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlineExceeded):
        await as_tool(work, timeout=0.02).run()


@pytest.mark.req("RT-6")
@every_kind
async def test_the_callers_cancellation_passes(function: Any) -> None:
    running, ended = asyncio.Event(), []

    async def work() -> None:
        try:
            running.set()
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(as_tool(work).run())
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended == [True]
    assert await as_tool(function).run({"x": 1}) == 2


@pytest.mark.fault("I2")
async def test_a_tool_alone_that_keeps_the_loop_busy_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def busy() -> None:
        time.sleep(0.12)  # noqa: ASYNC251  # the fault that is tested

    with caplog.at_level(logging.WARNING, logger="toolcrib.runtime"):
        await as_tool(busy).run()

    assert "blocked_loop" in caplog.text


def test_a_tool_alone_works_on_one_loop_after_the_other() -> None:
    assert [asyncio.run(as_tool(each).run({"x": 1})) for each in (double, double_plain) * 2] == [2, 2, 2, 2]
