"""Promises that other runtimes of tools were seen to break."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from typing import Any

import pytest
from pydantic import BaseModel
from small_toolboxes import ANYTHING, as_tool, box, called, error_of, held_up

from toolcrib_core import ToolContext, ToolError, ToolErrorCategory, ToolLifecycle, ToolRisk, define_tool
from toolcrib_core.context import Principal
from toolcrib_runtime import (
    CachePolicy,
    Cancellation,
    Policy,
    RunnableTool,
    RuntimeToolContext,
    ToolCall,
    Verdict,
    create_tool,
    create_toolbox,
    lazy,
    map_output,
    pipe,
)
from toolcrib_runtime.testing import EventRecorder, fake_tool


class Nothing(BaseModel):
    """No arguments at all."""


async def who(context: RuntimeToolContext) -> object:
    """Tell who asks."""
    return _told(context)


def who_plain(context: RuntimeToolContext) -> object:
    """Tell who asks."""
    return _told(context)


async def who_by_model(_: Nothing, context: RuntimeToolContext) -> object:
    return _told(context)


def _told(context: RuntimeToolContext) -> object:
    context.progress(1)
    assert isinstance(context.cancellation, Cancellation)
    return [context.user and context.user.id, context.values.get("region"), context.deadline is not None]


def every_kind() -> list[RunnableTool]:
    return [
        as_tool(who),
        as_tool(who_plain),
        create_tool(Nothing, who_by_model, name="by_model", effects="read"),
        create_tool({"type": "object"}, who, name="by_schema", description="Tell.", effects="read"),
        lazy(define_tool(who, name="by_loader", risk=ToolRisk(effects="read")), lambda: who),
        map_output(as_tool(who), lambda value: value),
    ]


@pytest.mark.req("RT-4")
@pytest.mark.parametrize("made", every_kind(), ids=lambda each: each.name)
async def test_the_context_and_the_progress_of_every_kind_of_tool_pass_through_the_toolbox(made: RunnableTool) -> None:
    heard = EventRecorder()
    toolbox = box(made, context={"region": "north"}, listeners=(heard,))

    result = await toolbox.call(made.name, {}, context=ToolContext(user=Principal(id="ann")))

    assert result.unwrap() == ["ann", "north", True]
    assert heard.data("progress") == [{"done": 1, "total": None, "message": None}]


async def endless(context: RuntimeToolContext) -> None:
    """Go on for ever."""
    context.emit("running")
    await asyncio.Event().wait()


@pytest.mark.req("RT-6")
@pytest.mark.parametrize(
    "made",
    [
        as_tool(endless),
        lazy(define_tool(endless, name="by_loader", risk=ToolRisk(effects="read")), lambda: endless),
        pipe(fake_tool("first", returns={}), as_tool(endless)),
    ],
    ids=lambda each: each.name,
)
async def test_the_switch_of_the_caller_reaches_every_kind_of_tool(made: RunnableTool) -> None:
    switch = Cancellation()

    def listen(event: Any) -> None:
        if event.kind == "custom":
            switch.cancel()

    async with asyncio.timeout(5):
        result = await box(made).call(made.name, {}, cancellation=switch, on_event=listen)

    assert error_of(result)[1] == "cancelled"


@pytest.mark.req("RT-10")
async def test_every_rule_is_asked_once_for_a_call_also_when_it_is_tried_again() -> None:
    asked: Counter[str] = Counter()

    def rule(name: str) -> Any:
        def count(_: object) -> None:
            asked[name] += 1

        return count

    tool = fake_tool("work", sequence=[ConnectionError(), 1], rules=(rule("tool"),))
    await create_toolbox([tool], policy=Policy(rules=(rule("toolbox"),))).call("work", {})

    assert asked == {"tool": 1, "toolbox": 1}


@pytest.mark.req("RT-3")
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (ConnectionResetError("reset"), ("tool.default.work.connection-lost", "transient", True)),
        (ValueError("x"), ("tool.default.work.failed", "internal", False)),
        (
            ToolError("Full.", code="tool.x.full", category=ToolErrorCategory.CONFLICT, retryable=True),
            ("tool.x.full", "conflict", True),
        ),
    ],
)
async def test_code_category_and_whether_to_try_again_survive_the_toolbox(raised: Exception, said: Any) -> None:
    result = await called(fake_tool("work", raises=raised))

    assert result.error is not None
    assert (result.error.code, result.error.category, result.error.retryable) == said


@pytest.mark.req("RT-10")
@pytest.mark.parametrize("answer", ["ask", Verdict(decision="ask", reason="because")])
async def test_waiting_for_an_approval_is_never_a_success_and_runs_nothing(answer: Any) -> None:
    tool = fake_tool("delete")

    result = await called(tool, policy=Policy(rules=(lambda _: answer,), by_risk=None))

    assert (result.outcome, result.ok, result.value, tool.calls) == ("action_required", False, None, [])
    assert result.action is not None
    assert error_of(result) == ("toolbox.approval-required", "approval_required")
    with pytest.raises(ToolError):
        result.unwrap()


@pytest.mark.req("RT-10")
async def test_a_tool_that_says_nothing_of_its_effects_does_not_count_as_harmless() -> None:
    tool = create_tool(lambda: 1, name="mystery", description="Who knows.")

    assert (await create_toolbox([tool]).call("mystery")).outcome == "action_required"


@pytest.mark.req("RT-5")
async def test_the_timeout_of_a_tool_holds_in_a_toolbox_and_reaches_its_code() -> None:
    stopped = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(True)

    result = await called(as_tool(work, timeout=0.02), timeout=60)

    assert error_of(result)[1] == "timeout"
    assert stopped == [True]


@pytest.mark.req("RT-5")
async def test_a_plain_function_may_have_a_timeout() -> None:
    with held_up() as go:

        def slow() -> None:
            go.wait(10)

        late = await called(as_tool(slow, timeout=0.02))
        go.set()
        quick = await called(as_tool(slow, timeout=60))

    assert (error_of(late)[1], quick.ok) == ("timeout", True)


@pytest.mark.req("RT-5")
async def test_a_timeout_is_told_in_one_plain_sentence() -> None:
    result = await called(as_tool(endless, timeout=0.02))

    assert result.text == "The call did not end within its time. Ask for less at once, or allow more time."


@pytest.mark.req("RT-16")
async def test_arguments_that_differ_only_deep_inside_are_different_to_the_cache() -> None:
    async def show(f: dict[str, dict[str, int]]) -> object:
        return f

    toolbox = box(as_tool(show, cache=CachePolicy()))

    results = [await toolbox.call("show", {"f": {"a": {"b": each}}}) for each in (1, 2, 1)]

    assert [each.unwrap() for each in results] == [{"a": {"b": 1}}, {"a": {"b": 2}}, {"a": {"b": 1}}]
    assert [each.source for each in results] == ["run", "run", "cache"]


@pytest.mark.req("RT-2")
async def test_a_tool_runs_by_its_full_id_by_an_alias_and_by_its_bare_name() -> None:
    tool = fake_tool("work", returns=1, version="1.0.0")
    toolbox = create_toolbox([tool], aliases={"do": "default:work"}, policy=ANYTHING)

    results = [await toolbox.call(name, {"x": 1}) for name in (tool.id, "do", "work", "default:work", "work@^1")]

    assert [(each.unwrap(), each.tool_id) for each in results] == [(1, "default:work@1.0.0")] * 5
    assert tool.calls == [{"x": 1}] * 5


@pytest.mark.req("RT-2")
async def test_a_bare_name_means_the_highest_version_and_not_the_last_registered() -> None:
    tools = [fake_tool("work", returns=each, version=each) for each in ("2.0.0", "10.0.0", "1.0.0")]

    assert (await create_toolbox(tools).call("work")).unwrap() == "10.0.0"


@pytest.mark.req("RT-2")
@pytest.mark.parametrize("name", ["delete-user", "user", "createUser", "CREATE-USER", "create_user", "x/create-user"])
async def test_a_name_that_only_resembles_a_tool_runs_nothing(name: str) -> None:
    tool = fake_tool("create-user")

    result = await box(tool).call(name)

    assert (result.outcome, tool.calls) == ("error", [])


@pytest.mark.req("RT-2")
def test_risk_tags_and_lifecycle_of_tools_are_there_to_be_queried() -> None:
    risky = fake_tool("a:x", risk=ToolRisk(effects="write", system_access=True), tags=["disk"])
    old = fake_tool("a:y", lifecycle=ToolLifecycle(deprecated=True))
    registry = create_toolbox([risky, old, fake_tool("a:z")]).registry

    assert registry.query(select="name", risk={"effects": "write", "system_access": True}) == ("x",)
    assert registry.query(select="name", tags_any=["disk"]) == ("x",)
    assert registry.query(select="name", deprecated=True) == ("y",)


@pytest.mark.req("RT-8")
async def test_the_concurrency_of_a_toolbox_is_for_all_its_tools_together() -> None:
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    tools = [as_tool(work, name=each) for each in ("one", "two", "three")]
    results = await box(*tools, concurrency=1).execute([ToolCall(each.name) for each in tools] * 3)

    assert all(each.ok for each in results)
    assert most == 1


@pytest.mark.req("RT-2")
def test_a_toolbox_has_no_way_to_change_it() -> None:
    toolbox = create_toolbox([fake_tool("a:x")])

    assert not {"register", "unregister", "add", "remove", "update"} & set(dir(toolbox))
    assert not hasattr(toolbox.registry, "register")


@pytest.mark.req("RT-8")
async def test_five_thousand_calls_leave_nothing_behind() -> None:
    async def work(x: int) -> int:
        await asyncio.sleep(0)
        return x

    def plain(x: int) -> int:
        return x

    switch, loop = Cancellation(), asyncio.get_running_loop()
    toolbox = box(as_tool(work, timeout=1_000), as_tool(plain), fake_tool("fails", raises=ValueError))

    async def run(number: int) -> None:
        for each in range(number):
            await toolbox.call("work", {"x": each}, cancellation=switch)
            if each % 10 == 0:
                await toolbox.call("plain", {"x": each})
                await toolbox.call("fails", {})

    def objects() -> int:
        gc.collect()
        return len(gc.get_objects())

    toolbox._entries[toolbox.resolve("fails").id].tool.calls.clear()
    await run(500)
    before, threads = objects(), threading.active_count()
    await run(5_000)
    toolbox._entries[toolbox.resolve("fails").id].tool.calls.clear()

    assert objects() - before < 500
    assert threading.active_count() <= threads + 1
    assert switch._listeners == {}
    assert sum(not each.cancelled() for each in loop._scheduled) < 5


@pytest.mark.req("RT-8")
async def test_a_call_costs_as_much_after_thousands_as_at_first() -> None:
    switch = Cancellation()
    toolbox = box(fake_tool("work", returns=1), listeners=(lambda _: None,))

    async def seconds(number: int) -> float:
        begin = time.process_time()
        for _ in range(number):
            await toolbox.call("work", cancellation=switch)
        return time.process_time() - begin

    await seconds(200)
    early = min([await seconds(300) for _ in range(3)])
    await seconds(3_000)
    late = min([await seconds(300) for _ in range(3)])

    assert late < 3 * early
