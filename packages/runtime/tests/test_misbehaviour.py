"""Tools that do what they should not: every call ends with one structured error, and the next one works."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from small_toolboxes import as_tool, box, called, error_of, held_up

from toolcrib_core import ToolError
from toolcrib_runtime import Cancellation, LocalExecutor, ToolCall, ToolResult, create_tool
from toolcrib_runtime.executors import on_loop
from toolcrib_runtime.testing import EventRecorder, fake_tool

_TOKEN = "ghp_" + "a1B2" * 9


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("and I will not say why")


class Unprintable(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("nor will I")


async def next_call_works() -> None:
    assert (await called(fake_tool("next", returns=1))).unwrap() == 1


def is_fit_to_read(result: ToolResult) -> bool:
    text = orjson.dumps(result.to_dict()).decode()
    return not any(each in text for each in ("Traceback", "/srv", "secret/", _TOKEN))


_RAISED: list[Callable[[], BaseException]] = [
    lambda: ValueError("no"),
    lambda: SystemExit(3),
    lambda: KeyboardInterrupt(),
    lambda: GeneratorExit(),
    lambda: BaseExceptionGroup("several", [KeyboardInterrupt(), ValueError("x")]),
    lambda: ExceptionGroup("several", [ValueError("x"), TypeError("y")]),
    lambda: Unspeakable(),
    lambda: Unprintable("said"),
    lambda: StopIteration(1),
    lambda: StopAsyncIteration(),
    lambda: MemoryError(),
    lambda: RecursionError("too deep"),
    lambda: ValueError(f"token {_TOKEN} in /srv/ann/secret/app.py line 3"),
    lambda: ValueError("x" * 1_000_000),
    lambda: ValueError("two\nlines \x1b[31m and \u202e tricks"),
]


@pytest.mark.fault("I1")
@pytest.mark.parametrize("kind", ["async", "plain", "inline", "in a loop in a thread", "after a wait"])
@pytest.mark.parametrize("make", _RAISED)
async def test_whatever_a_tool_raises_is_one_structured_error_and_the_next_call_works(
    make: Callable[[], BaseException], kind: str
) -> None:
    def work() -> None:
        raise make()

    async def work_async() -> None:
        if kind == "after a wait":
            await asyncio.sleep(0)
        raise make()

    is_plain = kind in {"plain", "inline"}
    blocking = kind in {"plain", "in a loop in a thread"}
    result = await called(as_tool(work if is_plain else work_async, name="work", blocking=blocking))

    code, category = error_of(result)
    assert code in {"tool.default.work.failed", "tool.default.work.tried-to-exit"}
    assert (category, result.attempts, result.error.retryable) == ("internal", 1, False)
    assert len(result.text) < 1_000
    assert result.text.isprintable()
    assert is_fit_to_read(result)
    await next_call_works()


@pytest.mark.fault("I1")
@pytest.mark.parametrize("raised", [SystemExit(0), KeyboardInterrupt()])
async def test_a_tool_that_tries_to_end_the_process_is_said_to_have_tried(raised: BaseException) -> None:
    assert error_of(await called(fake_tool("quit", raises=raised))) == ("tool.default.quit.tried-to-exit", "internal")


@pytest.mark.fault("I1")
async def test_details_that_are_not_json_do_not_get_into_a_result() -> None:
    details = {"good": 1, "bad": object(), "infinite": float("inf"), 5: "key"}
    result = await called(fake_tool("work", raises=ToolError("no", code="tool.x.y.z", details=details)))

    assert error_of(result)[0] == "tool.x.y.z"
    assert orjson.loads(orjson.dumps(result.to_dict()))["error"]["details"] == {"good": 1}


@pytest.mark.fault("I2")
@pytest.mark.parametrize("is_plain", [True, False])
async def test_a_tool_that_keeps_the_loop_busy_is_named(*, is_plain: bool) -> None:
    heard = EventRecorder()

    def work() -> str:
        time.sleep(0.12)  # the fault that is tested
        return "done"

    async def work_async() -> str:
        return work()

    tool = as_tool(work if is_plain else work_async, name="busy", blocking=False)
    result = await called(tool, listeners=(heard,))

    assert result.unwrap() == "done"
    (event,) = [each for each in heard.events if each.kind == "blocked_loop"]
    assert (event.tool_id, event.call_id) == (tool.id, result.call_id)
    assert event.data["seconds"] >= 0.1


@pytest.mark.fault("I2")
async def test_where_nobody_listens_a_tool_that_keeps_the_loop_busy_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    result = await called(as_tool(lambda: time.sleep(0.12), name="busy", blocking=False))

    assert f"call {result.call_id} of {result.tool_id}: blocked_loop" in caplog.text


@pytest.mark.fault("I1")
async def test_an_executor_that_fails_itself_is_not_the_tools_failure(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(LocalExecutor):
        async def run(self, work: object, /) -> object:
            raise KeyError("inside")

    result = await called(fake_tool("work"), executor=Broken())

    assert error_of(result) == ("toolbox.internal-error", "internal")
    assert result.text.startswith("The runtime failed while `default:work")
    assert (result.call_id in caplog.text, "inside" in result.text) == (True, False)


@pytest.mark.fault("I2")
async def test_a_tool_that_waits_without_keeping_the_loop_busy_is_not_named() -> None:
    heard = EventRecorder()

    async def work() -> None:
        await asyncio.sleep(0.12)

    await called(work, listeners=(heard,))

    assert "blocked_loop" not in heard.kinds()


@pytest.mark.fault("I2")
async def test_other_calls_proceed_while_a_tool_that_is_declared_blocking_blocks() -> None:
    with held_up() as go:

        async def work() -> str:
            go.wait(10)
            return "done"

        toolbox = box(as_tool(work, blocking=True), fake_tool("other", returns=1))
        async with asyncio.timeout(10):
            blocked = asyncio.create_task(toolbox.call("work"))
            others = await toolbox.execute([ToolCall("other")] * 20)
            assert not blocked.done()
            go.set()

            assert (await blocked).unwrap() == "done"

    assert all(each.ok for each in others)


async def swallow_all(ended: list[str]) -> None:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("swallowed")


async def swallow_base(ended: list[str]) -> None:
    for _ in range(3):  # its cancellation, its closing, and in the end that of the test
        try:
            await asyncio.Event().wait()
        except BaseException:  # noqa: BLE001  # the fault that is tested
            ended.append("swallowed")


async def swallow_in_finally(ended: list[str]) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("swallowed")
        await asyncio.Event().wait()


@pytest.mark.fault("I3")
@pytest.mark.req("RT-5", "RT-6")
@pytest.mark.parametrize("swallow", [swallow_all, swallow_base, swallow_in_finally])
@pytest.mark.parametrize("how", ["timeout", "switch"])
async def test_a_tool_that_ignores_its_cancellation_is_given_up_after_the_grace(swallow: Any, how: str) -> None:
    heard, ended, switch = EventRecorder(), [], Cancellation()
    before = asyncio.all_tasks()

    async def work() -> None:
        if how == "switch":
            asyncio.get_running_loop().call_soon(switch.cancel)
        await swallow(ended)

    toolbox = box(work, executor=LocalExecutor(grace=0.05), listeners=(heard,))
    async with asyncio.timeout(5):
        timeout = 0.02 if how == "timeout" else 60
        result = await toolbox.call("work", timeout=timeout, cancellation=switch)

    assert error_of(result)[1] == {"timeout": "timeout", "switch": "cancelled"}[how]
    assert ended[0] == "swallowed"
    assert heard.kinds()[-2:] == ["abandoned", "finished"]
    assert asyncio.all_tasks() == before
    await next_call_works()
    while on_loop._unclosable:
        on_loop._unclosable.pop().close()


@pytest.mark.fault("I3")
async def test_a_tool_that_ends_within_the_grace_is_not_abandoned() -> None:
    heard, cleaned = EventRecorder(), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    result = await called(as_tool(work, timeout=0.02), executor=LocalExecutor(grace=5), listeners=(heard,))

    assert error_of(result)[1] == "timeout"
    assert (cleaned, "abandoned" in heard.kinds()) == ([True], False)


@pytest.mark.fault("I3")
@pytest.mark.parametrize("answer", ["a value", "an error"])
async def test_a_tool_that_answers_its_cancellation_with_something_else_was_stopped_all_the_same(answer: str) -> None:
    async def work() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if answer == "an error":
                raise ValueError("rather this") from None
        return "rather this"

    result = await called(as_tool(work, timeout=0.02))

    assert error_of(result) == ("toolbox.deadline-exceeded", "timeout")


@pytest.mark.fault("I3")
async def test_a_caller_that_is_cancelled_while_a_tool_ignores_it_hears_of_it_at_the_deadline() -> None:
    running = asyncio.Event()

    async def work() -> None:
        running.set()
        await swallow_all([])

    toolbox = box(as_tool(work, timeout=0.1), executor=LocalExecutor(grace=0.02))
    async with asyncio.timeout(5):
        task = asyncio.create_task(toolbox.call("work"))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.fault("I3")
async def test_plain_functions_that_hang_are_counted_and_bounded() -> None:
    executor = LocalExecutor(threads=2, max_abandoned=3)

    with held_up() as go:

        def hang() -> None:
            go.wait(10)

        toolbox = box(as_tool(hang, timeout=0.5, effects="write"), fake_tool("other", returns=1), executor=executor)
        hung = [await toolbox.call("hang") for _ in range(3)]
        counted = executor.abandoned
        refused = await toolbox.call("hang")

        assert (await toolbox.call("other")).ok

    assert {error_of(each)[1] for each in hung} == {"unknown_outcome"}
    assert counted == 3
    assert error_of(refused) == ("toolbox.workers-exhausted", "unavailable")


async def test_a_tool_that_starts_a_task_of_its_own_and_leaves_it_does_not_change_its_result() -> None:
    started: list[asyncio.Task[None]] = []

    async def leave() -> None:
        await asyncio.sleep(0)

    async def work() -> int:
        started.append(asyncio.create_task(leave()))
        return 1

    assert (await called(work)).unwrap() == 1
    await asyncio.gather(*started)


async def test_a_handler_that_does_not_take_what_an_argument_free_schema_says_has_failed() -> None:
    async def needs(x: int) -> int:
        return x

    for blocking in (True, False):
        tool = create_tool({"type": "object"}, needs, name="needs", description="x", effects="read", blocking=blocking)
        assert error_of(await called(tool, {})) == ("tool.default.needs.failed", "internal")


def test_a_plain_function_that_hangs_does_not_keep_the_process_from_ending() -> None:
    script = """
import asyncio, threading
from toolcrib_runtime import create_toolbox, tool

@tool(effects="read", timeout=0.05)
def hang() -> None:
    "Hang."
    threading.Event().wait()

print(asyncio.run(create_toolbox([hang]).call("hang")).error.category)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=30, check=True, text=True)

    assert ended.stdout == "timeout\n"
    assert "abandoned" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_threads_of_a_toolbox_that_is_closed_end() -> None:
    workers: list[threading.Thread] = []

    def work() -> None:
        workers.append(threading.current_thread())

    async def run() -> None:
        async with box(work) as toolbox:
            await toolbox.execute([ToolCall("work")] * 5)

    asyncio.run(run())
    for each in workers:
        each.join(timeout=5)

    assert not any(each.is_alive() for each in workers)
