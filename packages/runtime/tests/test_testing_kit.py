from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

import toolcrib_runtime.testing
from toolcrib_core import ToolError, ToolErrorCategory, ToolRisk
from toolcrib_runtime.calls import ToolCall
from toolcrib_runtime.runnable import is_runnable_tool
from toolcrib_runtime.testing import CallRecorder, EventRecorder, FakeClock, fake_tool
from toolcrib_runtime.toolbox import create_toolbox


@pytest.mark.req("RT-18")
async def test_a_fake_clock_stands_still_until_it_is_moved():
    clock = FakeClock(start=5, wall=100)

    before = (clock.monotonic(), clock.wall())
    await clock.advance(2.5)

    assert before == (5, 100)
    assert (clock.monotonic(), clock.wall()) == (7.5, 102.5)


@pytest.mark.req("RT-18")
async def test_the_time_of_day_can_be_set_without_time_passing():
    clock = FakeClock(start=5, wall=100)

    clock.set_wall(1_000)

    assert (clock.monotonic(), clock.wall()) == (5, 1_000)


@pytest.mark.req("RT-18")
async def test_timers_fire_in_order_and_each_at_its_own_time():
    clock, fired = FakeClock(start=0), []
    for name, when in (("late", 3.0), ("early", 1.0), ("early too", 1.0), ("never", 9.0)):
        clock.call_at(when, lambda name=name: fired.append((name, clock.monotonic())))

    await clock.advance(5)

    assert fired == [("early", 1.0), ("early too", 1.0), ("late", 3.0)]
    assert (clock.monotonic(), clock.waiting) == (5, 1)


@pytest.mark.req("RT-18")
async def test_a_timer_that_is_cancelled_never_fires():
    clock, fired = FakeClock(), []
    timer = clock.call_at(clock.monotonic() + 1, lambda: fired.append(1))

    timer.cancel()
    await clock.advance(2)

    assert (fired, clock.waiting) == ([], 0)


@pytest.mark.req("RT-18")
async def test_a_timer_for_a_time_that_is_past_fires_soon():
    clock, fired = FakeClock(), asyncio.Event()

    clock.call_at(clock.monotonic() - 1, fired.set)

    async with asyncio.timeout(5):
        await fired.wait()


@pytest.mark.req("RT-18")
async def test_sleepers_run_before_time_goes_on_and_may_sleep_again():
    clock, woken = FakeClock(start=0), []

    async def sleep_thrice() -> None:
        for _ in range(3):
            await clock.sleep(1)
            woken.append(clock.monotonic())

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(sleep_thrice())
        await clock.advance(10)

    assert woken == [1, 2, 3]


@pytest.mark.req("RT-18")
async def test_a_sleeper_can_be_cancelled_and_leaves_no_timer():
    clock = FakeClock()
    sleeping = asyncio.create_task(clock.sleep(5))
    soon = asyncio.create_task(clock.sleep(0))
    async with asyncio.timeout(5):
        await clock.until_waiting()

    sleeping.cancel()
    soon.cancel()
    await asyncio.wait({sleeping, soon})

    assert sleeping.cancelled()
    assert clock.waiting == 0


@pytest.mark.req("RT-18")
async def test_a_sleeper_that_is_cancelled_as_its_time_comes_stays_cancelled():
    clock = FakeClock()
    sleeping = asyncio.create_task(clock.sleep(5))
    async with asyncio.timeout(5):
        await clock.until_waiting()
    clock.call_at(clock.monotonic() + 5, lambda: None)

    sleeping.cancel()
    clock._timers[0].callback()
    await asyncio.wait({sleeping})

    assert sleeping.cancelled()


@pytest.mark.req("RT-18")
async def test_time_does_not_go_back():
    with pytest.raises(ValueError, match="back"):
        await FakeClock().advance(-1)


@pytest.mark.req("RT-18", "RT-5")
@pytest.mark.fault("I7")
async def test_a_deadline_comes_when_the_fake_clock_says_so_and_not_when_somebody_sets_the_time():
    clock, started = FakeClock(), asyncio.Event()

    async def wait(invocation, proceed):
        started.set()
        await asyncio.get_running_loop().create_future()

    box = create_toolbox([fake_tool("x")], clock=clock, timeout=3_600, middleware=(wait,))

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        running = group.create_task(box.call("x"))
        await started.wait()
        await clock.until_waiting()
        clock.set_wall(clock.wall() + 1_000_000)
        await clock.advance(3_599)
        still_running = not running.done()
        await clock.advance(1)

    assert still_running
    assert running.result().error is not None
    assert running.result().error.category is ToolErrorCategory.TIMEOUT


@pytest.mark.req("RT-18")
async def test_a_fake_tool_is_a_tool_that_answers_as_told_and_remembers_its_calls():
    read = fake_tool("fs:read", returns={"text": "hi"})

    result = await create_toolbox([read]).call("fs:read", {"path": "a", "self": 1})

    assert is_runnable_tool(read)
    assert (read.definition.namespace, read.definition.name) == ("fs", "read")
    assert result.value == {"text": "hi"}
    assert read.calls == [{"path": "a", "self": 1}]


@pytest.mark.req("RT-18")
async def test_a_fake_tool_goes_through_its_sequence_and_stays_at_the_end():
    failing = ToolError("No.", category=ToolErrorCategory.CONFLICT)
    box = create_toolbox([fake_tool("x", sequence=[1, failing, LookupError, "last"])])

    results = [await box.call("x") for _ in range(5)]

    assert [each.value for each in results] == [1, None, None, "last", "last"]
    assert results[1].error == failing


@pytest.mark.req("RT-18")
async def test_a_fake_tool_can_always_raise_or_give_nothing():
    box = create_toolbox([fake_tool("bad", raises=ValueError("no")), fake_tool("empty")])

    bad, empty = [await box.call(name) for name in ("bad", "empty")]

    assert [bad.outcome, empty.outcome, empty.value] == ["error", "success", None]


@pytest.mark.req("RT-18")
async def test_a_fake_tool_takes_a_schema_and_every_option_of_a_tool():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tool = fake_tool("x", schema=schema, effects="write", timeout=3, tags=["new"])

    result = await create_toolbox([tool.replace(timeout=4)]).call("x", {})

    assert (tool.timeout, tool.definition.risk.effects, tool.definition.tags) == (3, "write", ("new",))
    assert result.error is not None
    assert result.error.category is ToolErrorCategory.VALIDATION
    assert tool.calls == []


@pytest.mark.req("RT-18")
@pytest.mark.parametrize("wrong", [{"returns": 1, "raises": ValueError}, {"sequence": []}])
def test_a_fake_tool_needs_one_plan(wrong):
    with pytest.raises(TypeError, match="sequence"):
        fake_tool("x", **wrong)


@pytest.mark.req("RT-18", "RT-15")
async def test_events_are_recorded_in_order_and_by_call():
    events = EventRecorder()
    box = create_toolbox([fake_tool("x"), fake_tool("y")], listeners=(events,))

    first, second = await box.execute([ToolCall(tool="x", id="1"), ToolCall(tool="y", id="2")], mode="sequential")

    assert events.kinds(first.call_id) == ["started", "validated", "attempt", "finished"]
    assert {event.tool_id.split("#")[0].split(":")[-1] for event in events.of(second.call_id)} == {"y"}
    assert len(events.kinds()) == 8
    assert events.data("attempt") == [{"number": 1}, {"number": 1}]
    events.clear()
    assert events.events == []


@pytest.mark.req("RT-18")
async def test_a_transcript_is_the_same_for_every_run_that_does_the_same():
    async def transcript() -> str:
        boom = fake_tool("boom", raises=ToolError("No.", category=ToolErrorCategory.CONFLICT))
        recorder = CallRecorder(create_toolbox([fake_tool("x", returns=["`1`", 1]), boom]))
        await recorder.call("x", {"a": 1})
        await recorder.call("x")
        await recorder.execute(ToolCall(tool="boom", arguments='{"b": 2}'))
        await recorder.execute([ToolCall(tool="gone"), ToolCall(tool="x", arguments=b"{", id="1")])
        return recorder.to_json()

    first, second = await transcript(), await transcript()

    assert first == second
    assert first.endswith("\n")


@pytest.mark.req("RT-18")
async def test_a_transcript_holds_calls_and_results_without_times_and_ids_of_their_own():
    recorder = CallRecorder(create_toolbox([fake_tool("x", returns=5, version="1.0.0")]))

    result = await recorder.call("x", {"a": 1})

    assert recorder.transcript == [
        {
            "call": {"id": "call-1", "tool": "x", "arguments": {"a": 1}},
            "result": {
                "callId": "call-1",
                "toolId": result.tool_id,
                "outcome": "success",
                "value": 5,
                "content": [{"type": "text", "text": "5"}],
                "attempts": 1,
                "source": "run",
                "inputDigest": result.input_digest,
                "outputDigest": result.output_digest,
            },
        }
    ]


@pytest.mark.req("RT-18")
async def test_a_transcript_numbers_approvals_and_the_ids_that_messages_quote():
    async def broken(invocation, proceed):
        raise RuntimeError("a bug")

    recorder = CallRecorder(create_toolbox([fake_tool("ask", risk=ToolRisk())]))
    failing = CallRecorder(create_toolbox([fake_tool("x")], middleware=(broken,)))

    await recorder.call("ask")
    result = await failing.call("x")

    [asked], [failed] = recorder.transcript, failing.transcript
    assert asked["result"]["action"]["id"] == "approval-1"
    assert "expiresAt" not in asked["result"]["action"]
    assert result.call_id not in str(failed)
    assert "`call-1`" in failed["result"]["error"]["hint"]


@pytest.mark.req("RT-18")
def test_arguments_that_are_no_json_are_recorded_as_text():
    recorder = CallRecorder(create_toolbox([]))

    async def run() -> None:
        for arguments in ("{", b"\xff", {"a": object}):
            await recorder.call("x", arguments)

    asyncio.run(run())

    recorded = [entry["call"]["arguments"] for entry in recorder.transcript]
    assert recorded == ["{", "\ufffd", {"a": "<class 'object'>"}]


@pytest.mark.req("RT-18")
def test_the_kit_needs_no_test_runner():
    folder = Path(toolcrib_runtime.testing.__file__).parent

    imported = {
        name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [])
        + ([each.name for each in node.names] if isinstance(node, ast.Import) else [])
    }

    assert not {name for name in imported if name and name.split(".")[0] in {"pytest", "unittest", "hypothesis"}}
