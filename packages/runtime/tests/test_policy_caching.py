from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from toolcrib_core import InvalidDefinition, Principal, ToolContext, ToolError, ToolErrorCategory, ToolRisk
from toolcrib_runtime.call import perform
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.invocation import CallOptions
from toolcrib_runtime.outputs import ToolOutput
from toolcrib_runtime.pipeline import Entry
from toolcrib_runtime.policy.caching import CachePolicy
from toolcrib_runtime.policy.replays import Kept
from toolcrib_runtime.runnable import tool
from toolcrib_runtime.settings import ToolboxSettings
from toolcrib_runtime.testing import EventRecorder, FakeClock, FakeTool, fake_tool
from toolcrib_runtime.toolbox import Toolbox, create_toolbox


def cached(**options: Any) -> FakeTool:
    return fake_tool("geo:find", **{"cache": CachePolicy(), **options})


def counting() -> FakeTool:
    return cached(sequence=list(range(1, 100)))


async def ask(box: Toolbox, arguments: Any = None, **options: Any) -> ToolResult:
    return await box.call("geo:find", arguments, **options)


@pytest.mark.req("RT-16")
async def test_an_equal_call_is_answered_from_memory():
    find, events = counting(), EventRecorder()
    box = create_toolbox([find])

    first = await ask(box, {"q": "Rome"})
    second = await ask(box, {"q": "Rome"}, on_event=events)

    assert (first.value, first.source) == (1, "run")
    assert (second.value, second.source, second.attempts) == (1, "cache", 0)
    assert events.kinds() == ["started", "validated", "replayed", "finished"]
    assert events.data("replayed") == [{"source": "cache"}]


@pytest.mark.req("RT-16")
async def test_a_tool_that_is_not_declared_deterministic_runs_every_time():
    find = fake_tool("geo:find")
    box = create_toolbox([find])

    await ask(box)
    await ask(box)

    assert len(find.calls) == 2


@pytest.mark.req("RT-16")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, '{ "a": 1.0 }', True),
        ({"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 2}]}}, False),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": 1}, {"a": "1"}, False),
        ({"a": None}, {}, False),
        ({"a": 0}, {"a": False}, False),
    ],
)
async def test_calls_are_equal_when_their_arguments_are_equal_json_however_deep(one, other, same):
    box = create_toolbox([counting()])

    await ask(box, one)
    result = await ask(box, other)

    assert result.source == ("cache" if same else "run")


@pytest.mark.req("RT-16")
async def test_what_one_user_or_tenant_was_given_is_not_given_to_another():
    find = counting()
    box = create_toolbox([find])
    ann, acme, other = Principal(id="ann"), Principal(id="acme"), Principal(id="other")
    contexts = [
        None,
        ToolContext(user=ann),
        ToolContext(user=Principal(id="bob")),
        ToolContext(user=ann, tenant=acme),
        ToolContext(user=ann, tenant=other),
    ]

    values = [(await ask(box, context=each)).value for each in contexts * 2]

    assert values == [1, 2, 3, 4, 5] * 2


@pytest.mark.req("RT-16")
async def test_a_value_is_remembered_for_its_ttl():
    clock = FakeClock()
    box = create_toolbox([cached(sequence=[1, 2], cache=CachePolicy(ttl=60))], clock=clock)

    await ask(box)
    await clock.advance(59)
    before = await ask(box)
    clock.set_wall(0)
    await clock.advance(1)
    after = await ask(box)

    assert (before.value, after.value) == (1, 2)


@pytest.mark.req("RT-16")
async def test_the_values_that_were_not_asked_for_longest_are_forgotten_first():
    find = counting()
    box = create_toolbox([find], cache_entries=2)

    for query in ("a", "b", "a", "c"):
        await ask(box, {"q": query})

    assert (await ask(box, {"q": "a"})).source == "cache"
    assert (await ask(box, {"q": "b"})).source == "run"


@pytest.mark.req("RT-16")
async def test_nobody_can_change_what_is_remembered():
    picture = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    box = create_toolbox([cached(returns=ToolOutput(value={"list": [1]}, content=(picture,)))])

    for _ in range(3):
        result = await ask(box)
        assert result.value == {"list": [1]}
        assert result.content == ({"type": "image", "data": "AA==", "mimeType": "image/png"},)
        result.value["list"].append(2)
        result.content[0]["data"] = "changed"


@pytest.mark.req("RT-16")
async def test_an_error_is_never_remembered():
    failure = ToolError("Gone.", category=ToolErrorCategory.NOT_FOUND)
    box = create_toolbox([cached(sequence=[failure, "found"])])

    first = await ask(box)
    second = await ask(box)

    assert not first.ok
    assert (second.value, second.source) == ("found", "run")


@pytest.mark.req("RT-16")
async def test_a_changed_definition_never_gets_the_values_of_the_old_one():
    old, settings = counting(), ToolboxSettings()
    new = old.replace(definition=old.definition.replace(description="Finds more."))
    call = ToolCall(tool="geo:find")

    results = [await perform(Entry(each, settings), call, CallOptions()) for each in (old, new, old, new)]

    assert old.id == new.id
    assert [(result.value, result.source) for result in results] == [
        (1, "run"),
        (2, "run"),
        (1, "cache"),
        (2, "cache"),
    ]


class Held:
    """A cached tool whose calls wait to be let go."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.go = asyncio.Event()
        self.outcomes: list[object] = []
        self.runs = 0

        @tool(namespace="geo", effects="read", cache=CachePolicy(), retries=None)
        async def find() -> object:
            """Find."""
            self.runs += 1
            self.started.set()
            await self.go.wait()
            outcome = self.outcomes.pop(0) if self.outcomes else self.runs
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        self.tool = find


@pytest.mark.req("RT-16")
async def test_equal_calls_at_the_same_time_share_one_run():
    held = Held()
    box = create_toolbox([held.tool])

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(box)) for _ in range(20)]
        await held.started.wait()
        held.go.set()

    assert held.runs == 1
    assert [task.result().value for task in tasks] == [1] * 20
    assert [task.result().source for task in tasks] == ["run"] + ["cache"] * 19


@pytest.mark.req("RT-16")
async def test_when_the_shared_run_fails_each_of_the_others_runs_for_itself():
    held = Held()
    held.outcomes = [ToolError("Gone.", category=ToolErrorCategory.NOT_FOUND)]
    box = create_toolbox([held.tool])

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(box)) for _ in range(3)]
        await held.started.wait()
        held.go.set()

    assert [task.result().outcome for task in tasks] == ["error", "success", "success"]
    assert held.runs == 3
    assert (await ask(box)).source == "cache"


@pytest.mark.req("RT-16", "RT-6")
async def test_a_shared_run_that_is_taken_back_takes_no_other_call_with_it():
    held, switch = Held(), Cancellation()
    box = create_toolbox([held.tool])

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(ask(box, cancellation=switch))
        await held.started.wait()
        second = group.create_task(ask(box))
        await asyncio.sleep(0)
        held.go.clear()
        switch.cancel()
        await first
        held.go.set()

    assert first.result().error is not None
    assert (second.result().value, held.runs) == (2, 2)


@pytest.mark.req("RT-16", "RT-6")
async def test_a_call_that_stops_waiting_for_a_shared_run_leaves_it_running():
    held, switch = Held(), Cancellation()
    box = create_toolbox([held.tool])

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(ask(box))
        await held.started.wait()
        second = group.create_task(ask(box, cancellation=switch))
        third = group.create_task(ask(box))
        await asyncio.sleep(0)
        switch.cancel()
        await second
        held.go.set()

    assert second.result().error is not None
    assert (second.result().error.category, second.result().attempts) == (ToolErrorCategory.CANCELLED, 0)
    assert [task.result().value for task in (first, third)] == [1, 1]


@pytest.mark.req("RT-16")
async def test_a_call_on_the_loop_of_another_thread_runs_for_itself():
    held = Held()
    box = create_toolbox([held.tool])
    elsewhere: list[ToolResult] = []

    async def run_elsewhere() -> None:
        held.go = asyncio.Event()
        held.go.set()
        elsewhere.append(await ask(box))

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        here = group.create_task(ask(box))
        await held.started.wait()
        go = held.go
        thread = threading.Thread(target=lambda: asyncio.run(run_elsewhere()))
        thread.start()
        await asyncio.to_thread(thread.join, 5)
        go.set()

    assert elsewhere[0].source == "run"
    assert here.result().ok


@pytest.mark.req("RT-16")
def test_values_are_remembered_from_one_event_loop_to_the_next():
    box = create_toolbox([counting()])

    sources = [asyncio.run(ask(box)).source for _ in range(2)]

    assert sources == ["run", "cache"]


@pytest.mark.req("RT-16")
@pytest.mark.parametrize("risk", [ToolRisk(), ToolRisk(effects="write"), ToolRisk(effects="read", destructive=True)])
def test_a_tool_that_may_write_cannot_be_declared_deterministic(risk):
    with pytest.raises(InvalidDefinition, match="cannot be cached") as refused:
        cached(risk=risk)

    assert 'effects="read"' in (refused.value.hint or "")


@pytest.mark.req("RT-16")
@pytest.mark.parametrize("ttl", [-1, float("nan"), float("inf")])
def test_a_ttl_is_a_number_of_seconds(ttl):
    with pytest.raises(ValueError, match="ttl"):
        CachePolicy(ttl=ttl)


def test_things_are_kept_within_a_number_of_bytes():
    kept: Kept[str] = Kept(max_entries=10, max_bytes=10)
    for key in ("a", "b", "c"):
        kept.put(key, key, size=4, until=1)
    kept.put("c", "C", size=6, until=1)

    assert [kept.get(key, now=0) for key in ("a", "b", "c")] == [None, "b", "C"]


def test_there_is_nothing_to_drop_in_an_empty_store():
    kept: Kept[str] = Kept(max_entries=1)
    kept.put("a", "a", size=1, until=1)

    assert (kept.drop_oldest(), kept.drop_oldest(), len(kept)) == (True, False, 0)


@pytest.mark.req("RT-16")
async def test_what_a_value_depends_on_beside_the_arguments_keeps_it_apart():
    season = ["summer"]
    find = cached(
        sequence=list(range(1, 100)), cache=CachePolicy(depends_on=lambda arguments: f"{arguments['q']} {season[0]}")
    )
    box = create_toolbox([find])

    summer = [(await ask(box, {"q": "Rome"})).value for _ in range(2)]
    season[0] = "winter"
    winter = (await ask(box, {"q": "Rome"})).value

    assert (summer, winter) == ([1, 1], 2)
