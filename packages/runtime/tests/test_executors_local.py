"""Where the code of a tool runs: plain functions beside the loop, async ones on it, generators chunk by chunk."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from small_toolboxes import as_tool, box, called, error_of, held_up, until_set

from toolcrib_runtime import LocalExecutor, RuntimeToolContext, ToolCall
from toolcrib_runtime.executors import local
from toolcrib_runtime.testing import EventRecorder

pytestmark = pytest.mark.req("RT-1")

_who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


def thread_name() -> str:
    return threading.current_thread().name


async def thread_name_async() -> str:
    return threading.current_thread().name


async def test_a_plain_function_does_not_keep_the_loop_from_its_work() -> None:
    started = threading.Event()

    with held_up() as go:

        def wait() -> str:
            started.set()
            go.wait(10)
            return "done"

        async with asyncio.timeout(10):
            call = asyncio.create_task(called(wait))
            await until_set(started)
            others = [await asyncio.sleep(0, each) for each in range(3)]
            assert not call.done()
            go.set()
            result = await call

    assert (result.unwrap(), others) == ("done", [0, 1, 2])


async def test_plain_functions_run_in_worker_threads_and_async_ones_on_the_loop() -> None:
    here = threading.current_thread().name

    assert (await called(thread_name)).unwrap() == "toolcrib-worker"
    assert (await called(thread_name_async)).unwrap() == here


async def test_a_plain_function_that_is_declared_not_blocking_runs_on_the_loop() -> None:
    here = threading.current_thread().name

    assert (await called(as_tool(thread_name, blocking=False))).unwrap() == here


async def test_an_async_function_that_is_declared_blocking_runs_in_a_thread_on_a_loop_of_its_own() -> None:
    loops = [asyncio.get_running_loop()]

    async def wait() -> str:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert (await called(as_tool(wait, blocking=True))).unwrap() == "toolcrib-worker"
    assert loops[0] is not loops[1]


async def test_several_plain_functions_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=10)

    def meet() -> int:
        return together.wait()

    results = await box(meet).execute([ToolCall("meet")] * 3)

    assert sorted(each.unwrap() for each in results) == [0, 1, 2]


async def test_an_executor_runs_no_more_plain_functions_at_a_time_than_it_may() -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def count() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.005)
        with lock:
            running -= 1

    results = await box(count, executor=LocalExecutor(threads=3)).execute([ToolCall("count")] * 30)

    assert all(each.ok for each in results)
    assert most == 3


def count_to(number: int) -> Iterator[int]:
    yield from range(number)


async def count_to_async(number: int) -> AsyncIterator[int]:
    for each in range(number):
        await asyncio.sleep(0)
        yield each


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("function", [count_to, count_to_async])
async def test_a_generator_tells_its_chunks_and_gives_them_all(function: object, *, blocking: bool) -> None:
    heard = EventRecorder()
    tool = as_tool(function, name="count", blocking=blocking, output=False)

    result = await called(tool, {"number": 3}, listeners=(heard,))

    assert result.unwrap() == [0, 1, 2]
    assert [each["chunk"] for each in heard.data("chunk")] == [0, 1, 2]
    assert heard.kinds()[-1] == "finished"


async def test_a_chunk_is_told_before_the_next_one_is_made() -> None:
    order = []

    async def count() -> AsyncIterator[int]:
        for each in range(2):
            order.append(f"made {each}")
            yield each

    def listen(event: object) -> None:
        if event.kind == "chunk":
            order.append(f"told {event.data['chunk']}")

    await called(as_tool(count, output=False), listeners=(listen,))

    assert order == ["made 0", "told 0", "made 1", "told 1"]


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_generator_that_fails_halfway_is_a_failure_of_the_tool(*, blocking: bool) -> None:
    def count() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    heard = EventRecorder()
    result = await called(as_tool(count, blocking=blocking, output=False), listeners=(heard,))

    assert error_of(result) == ("tool.default.count.failed", "internal")
    assert heard.data("chunk") == [{"chunk": 1}]


@pytest.mark.parametrize("function", [count_to, count_to_async])
async def test_a_generator_without_end_is_stopped(function: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_CHUNKS", 10)

    result = await called(as_tool(function, name="count", output=False), {"number": 10**9})

    assert error_of(result) == ("toolbox.output-too-large", "limit")


async def test_an_async_generator_that_is_stopped_runs_its_finally_blocks() -> None:
    ended = []

    async def count() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    result = await called(as_tool(count, output=False, timeout=0.02))

    assert error_of(result) == ("toolbox.deadline-exceeded", "timeout")
    assert ended == [True]


@pytest.mark.req("RT-5")
async def test_a_plain_generator_is_stopped_at_its_next_chunk() -> None:
    ended = threading.Event()
    executor = LocalExecutor()

    def count() -> Iterator[int]:
        try:
            while True:
                threading.Event().wait(0.005)
                yield 1
        finally:
            ended.set()

    result = await called(as_tool(count, output=False, timeout=0.5), executor=executor)
    await until_set(ended)

    assert error_of(result) == ("toolbox.deadline-exceeded", "timeout")


@pytest.mark.parametrize("blocking", [True, False])
async def test_context_variables_of_the_caller_reach_the_tool_and_those_of_the_tool_stay_in_it(
    *, blocking: bool
) -> None:
    def greet() -> str:
        before = _who.get()
        _who.set("tool")
        return before

    _who.set("caller")
    result = await called(as_tool(greet, blocking=blocking))

    assert (result.unwrap(), _who.get()) == ("caller", "caller")


async def test_what_an_async_tool_sets_stays_in_its_call_over_every_wait() -> None:
    async def greet() -> str:
        _who.set("tool")
        await asyncio.sleep(0)
        return _who.get()

    _who.set("caller")
    result = await called(greet)

    assert (result.unwrap(), _who.get()) == ("tool", "caller")


async def test_calls_of_one_tool_at_the_same_time_do_not_see_each_others_context() -> None:
    async def mine(name: str, context: RuntimeToolContext) -> bool:
        _who.set(name)
        await asyncio.sleep(0)
        return _who.get() == name and context.tool_call.arguments == {"name": name}

    results = await box(mine).execute([ToolCall("mine", {"name": str(each)}) for each in range(20)])

    assert all(each.unwrap() is True for each in results)
