"""Tools in worker processes: what goes in, what comes out, and what happens when a tool misbehaves."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import process_tools as tools
import pytest
import pytest_asyncio
from process_children import alive, needs_proc, open_descriptors, until, zombies

from toolcrib_core import Principal, ToolContext
from toolcrib_runtime import (
    Policy,
    ProcessExecutor,
    RunnableTool,
    Toolbox,
    WorkerLost,
    create_search_tool,
    create_tool,
    create_toolbox,
    lazy,
    pipe,
)
from toolcrib_runtime.testing import EventRecorder

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.req("RT-19")]

_TOOLS = (
    *(each for each in vars(tools).values() if isinstance(each, RunnableTool)),
    *(create_tool(each, effects="none") for each in (tools.next_day, tools.bare, tools.bare_with_context)),
    create_tool(tools.Shelf.label, effects="none"),
)
_VALUES = {"currency": "EUR", "connection": object()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def executor() -> AsyncIterator[ProcessExecutor]:
    """Shared, because a tool that misbehaves may cost its own worker and nothing else."""
    os.environ["PROCESS_TOOLS_SAY"] = "hello"
    before = _open_descriptors()
    made = ProcessExecutor(workers=2)
    yield made
    await made.aclose()
    del os.environ["PROCESS_TOOLS_SAY"]
    assert _open_descriptors() == before
    assert not _zombies()


@pytest.fixture(scope="module")
def box(executor: ProcessExecutor) -> Toolbox:
    return create_toolbox(_TOOLS, executor=executor, context=_VALUES, retries=None)


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("double", {"x": 21}, 42),
        ("add_slowly", {"x": 1, "y": 2}, 3),
        ("returns_a_coroutine", {"x": 4}, 5),
        ("count_to", {"limit": 3}, [0, 1, 2]),
        ("count_async", {"limit": 3}, [0, 1, 2]),
        ("next_day", {"day": "2024-02-28"}, "2024-02-29"),
        ("book_trip", {"day": "2024-02-28", "nights": 2}, "28 February, 2"),
        ("bare", {"x": 1}, 2),
        ("label", {"text": "box"}, "BOX"),
    ],
)
async def test_every_kind_of_function_runs_in_a_worker(
    box: Toolbox, name: str, arguments: dict[str, object], value: object
) -> None:
    result = await box.call(name, arguments)

    assert result.unwrap() == value


async def test_tools_run_in_another_process_which_is_used_again(box: Toolbox) -> None:
    first, second = [(await box.call("whoami")).unwrap() for _ in range(2)]

    assert first == second != os.getpid()


async def test_two_calls_run_at_the_same_time_in_two_processes(box: Toolbox) -> None:
    one, other = await asyncio.gather(box.call("whoami"), box.call("whoami"))

    assert one.unwrap() != other.unwrap()


async def test_the_content_blocks_of_a_tool_come_with_its_value(box: Toolbox) -> None:
    result = await box.call("picture")

    assert result.value == {"kind": "picture"}
    assert result.content == ({"type": "text", "text": "a cat"},)


@pytest.mark.req("RT-4", "RT-15")
async def test_the_context_travels_and_what_the_tool_tells_comes_back_in_order(box: Toolbox) -> None:
    heard = EventRecorder()
    asked = ToolContext(run_id="r1", user=Principal(id="ada", roles=frozenset({"b", "a"}), attributes={"k": "v"}))

    result = await box.call("tell_all", {}, context=asked, on_event=heard)

    assert result.unwrap() == {
        "run": "r1",
        "user": ["ada", ["a", "b"], {"k": "v"}],
        "tenant": False,
        "call": ["tell_all", None, 1],
        "values": {"currency": "EUR"},
        "remaining": True,
        "deadline": True,
    }
    assert heard.kinds() == "started validated attempt progress log chunk custom finished".split()
    assert heard.data("progress") == [{"done": 1, "total": 2, "message": "half"}]


async def test_a_call_without_a_context_of_its_own_has_no_user_and_no_deadline(box: Toolbox) -> None:
    value = (await box.call("tell_all", {}, timeout=None)).unwrap()

    assert isinstance(value, dict)
    assert (value["run"], value["user"]) == (None, None)


async def test_a_function_that_only_takes_json_gets_its_context_too(box: Toolbox) -> None:
    result = await box.call("bare_with_context", {"x": 3}, context=ToolContext(run_id="r2"))

    assert result.unwrap() == "3 in r2"


async def test_chunks_are_told_as_they_come(box: Toolbox) -> None:
    heard = EventRecorder()

    await box.call("count_to", {"limit": 3}, on_event=heard)

    assert heard.data("chunk") == [{"chunk": 0}, {"chunk": 1}, {"chunk": 2}]


async def test_a_tool_in_a_worker_cannot_call_others_and_is_told_what_to_do(box: Toolbox) -> None:
    result = await box.call("calls_another")

    assert result.error is not None
    assert "cannot call other tools" in result.error.message
    assert "LocalExecutor" in str(result.error.hint)


async def test_an_event_that_is_not_json_is_the_tools_own_fault(box: Toolbox) -> None:
    result = await box.call("tells_nonsense")

    assert result.error is not None
    assert result.error.code == "toolbox.unusable-output"


async def test_a_thread_that_talks_after_its_call_disturbs_no_other(box: Toolbox) -> None:
    await box.call("tells_afterwards")

    values = [(await box.call("double", {"x": each})).unwrap() for each in range(100)]

    assert values == [2 * each for each in range(100)]


async def test_what_a_tool_prints_does_not_disturb_the_answer(box: Toolbox) -> None:
    result = await box.call("prints")

    assert result.unwrap() == ""


async def test_imports_find_the_same_path_directory_environment_and_options(box: Toolbox) -> None:
    result = await box.call("imports_alike")

    assert result.unwrap() == {
        "path": list(map(str, sys.path)),
        "cwd": str(Path.cwd()),
        "variable": "hello",
        "argv": sys.argv,
        "bytecode": sys.dont_write_bytecode,
    }


async def test_a_megabyte_comes_back_whole(box: Toolbox) -> None:
    result = await box.call("gives_much", {"size": 1_000_000})

    assert result.unwrap() == "x" * 1_000_000


async def test_composed_and_lazy_tools_run_here_and_their_steps_in_workers(executor: ProcessExecutor) -> None:
    composed = pipe(tools.double, tools.double, name="quadruple")
    loaded = lazy(tools.whoami.definition.replace(name="late"), lambda: tools.whoami)
    both = create_toolbox([composed, loaded], executor=executor)

    quadruple, late = await both.call("quadruple", {"x": 3}), await both.call("late")

    assert quadruple.unwrap() == 12
    assert late.unwrap() != os.getpid()


@pytest.mark.req("RT-14")
async def test_the_tool_that_searches_a_toolbox_runs_beside_it(box: Toolbox) -> None:
    searchable = box.extend(create_search_tool(box))

    result = await searchable.call("search_tools", {"query": "double a number", "limit": 1})

    assert "double" in result.text


@pytest.mark.req("RT-5")
@pytest.mark.fault("D1")
@pytest.mark.parametrize("name", ["hangs", "blocks_the_loop", "ignores_cancellation"])
async def test_a_tool_that_does_not_end_is_killed_when_its_time_is_over(box: Toolbox, name: str) -> None:
    (await box.call("double", {"x": 1})).unwrap()
    begun = time.monotonic()

    result = await box.call(name, {}, timeout=0.2)

    assert result.error is not None
    assert result.error.category == "timeout"
    assert time.monotonic() - begun < 5
    assert (await box.call("double", {"x": 4})).unwrap() == 8


@pytest.mark.req("RT-6")
async def test_a_call_that_is_taken_back_kills_its_process_and_the_next_one_works(box: Toolbox, tmp_path: Path) -> None:
    mark = tmp_path / "running"
    call = asyncio.create_task(box.call("ignores_signals", {"mark": str(mark)}))
    await until(mark.exists)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert (await box.call("double", {"x": 4})).unwrap() == 8


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({"kind": "exit"}, "tried-to-exit", "SystemExit: 3"),
        ({"kind": "interrupt"}, "tried-to-exit", "KeyboardInterrupt"),
        ({"kind": "value"}, "failed", "ValueError: that is no number"),
        ({"kind": "key"}, "failed", "KeyError: 'name'"),
        ({"kind": "reset"}, "connection-lost", "ConnectionResetError: [Errno 104] Connection reset by peer"),
        ({"kind": "house"}, "connection-lost", "HouseError: the house hung up"),
        ({"kind": "cancelled"}, "failed", "CancelledError"),
        ({"kind": "unshowable"}, "failed", "Unshowable"),
        ({"kind": "surrogate"}, "failed", "ValueError: ?"),
        ({"kind": "unicode"}, "failed", "UnicodeDecodeError: 'utf-8' codec"),
        ({"kind": "group"}, "failed", "ExceptionGroup: several"),
    ],
)
async def test_what_a_tool_raises_is_judged_as_if_it_had_been_raised_here(
    box: Toolbox, arguments: dict[str, object], code: str, said: str
) -> None:
    result = await box.call("fails", arguments)

    assert result.error is not None
    assert result.error.code == f"tool.default.fails.{code}"
    assert f"failed: {said}" in result.error.message


async def test_a_coroutine_that_exits_does_not_end_the_worker(box: Toolbox) -> None:
    result = await box.call("exits_on_a_loop")

    assert result.error is not None
    assert result.error.code == "tool.default.exits_on_a_loop.tried-to-exit"


@pytest.mark.parametrize("kind", ["fetch", "itself"])
async def test_an_error_of_a_guard_keeps_its_code_and_what_json_can_carry_of_its_details(
    box: Toolbox, kind: str
) -> None:
    result = await box.call("fails", {"kind": kind})

    assert result.error is not None
    assert result.error.code == "toolbox.fetch-failed"
    assert result.error.details.get("host") == {"fetch": "example.org", "itself": None}[kind]


@pytest.mark.req("RT-7")
async def test_a_lost_answer_leaves_the_outcome_open_as_it_does_here(executor: ProcessExecutor) -> None:
    trusting = create_toolbox([tools.books_and_loses_the_line], executor=executor, policy=Policy(by_risk=None))

    result = await trusting.call("books_and_loses_the_line")

    assert result.error is not None
    assert result.error.category == "unknown_outcome"


@pytest.mark.parametrize(
    ("name", "code"), [("gives_an_object", "toolbox.unusable-output"), ("gives_too_much", "toolbox.output-too-large")]
)
async def test_a_value_that_cannot_travel_is_refused_and_the_worker_lives_on(
    box: Toolbox, name: str, code: str
) -> None:
    before = (await box.call("whoami")).unwrap()

    result = await box.call(name)

    assert result.error is not None
    assert result.error.code == code
    assert (await box.call("whoami")).unwrap() == before


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("dies", {"status": 0}, "ended with exit status 0."),
        ("dies", {"status": 127}, "ended with exit status 127."),
        ("crashes", {}, "was ended by the signal SIGSEGV."),
        ("writes_into_the_pipes", {}, "wrote something into the pipe that belongs to the runtime."),
        ("closes_everything", {}, "closed the pipe to its parent."),
    ],
)
async def test_a_process_that_is_lost_costs_one_call_and_says_how_it_ended(
    box: Toolbox, name: str, arguments: dict[str, object], said: str
) -> None:
    result = await box.call(name, arguments)

    assert isinstance(result.error, WorkerLost)
    assert result.error.message == f"The process that ran `{box.resolve(name).id}` {said}"
    assert (await box.call("double", {"x": 4})).unwrap() == 8


async def test_the_error_of_a_lost_process_has_the_last_words_of_that_call_only(box: Toolbox) -> None:
    for _ in range(2):
        await box.call("prints")

    result = await box.call("dies", {"status": 9})

    assert result.error is not None
    assert result.error.details == {"stderr": "last words\n", "status": 9}


async def test_a_tool_that_forks_answers_once(box: Toolbox) -> None:
    heard = EventRecorder()

    result = await box.call("forks", {}, on_event=heard)

    assert result.unwrap() == "parent"
    assert heard.data("log") == []
    assert (await box.call("double", {"x": 4})).unwrap() == 8


@needs_proc
@pytest.mark.fault("D2")
@pytest.mark.parametrize("name", ["leaves_a_child", "leaves_a_daemon"])
async def test_processes_that_a_call_leaves_running_are_killed_and_told(
    box: Toolbox, name: str, tmp_path: Path
) -> None:
    heard, family = EventRecorder(), tmp_path.name

    result = await box.call(name, {"family": family}, on_event=heard)

    assert result.ok
    assert [each["message"] for each in heard.data("log")] == ["The tool left processes running; they were killed."]
    await until(lambda: not alive(family))
    assert (await box.call("double", {"x": 4})).unwrap() == 8


async def test_a_child_that_has_ended_is_collected_without_a_word(box: Toolbox) -> None:
    heard, before = EventRecorder(), (await box.call("whoami")).unwrap()

    await box.call("leaves_a_zombie", {}, on_event=heard)

    assert heard.data("log") == []
    assert (await box.call("whoami")).unwrap() == before


@needs_proc
async def test_the_children_of_a_call_that_is_stopped_die_with_it(box: Toolbox, tmp_path: Path) -> None:
    family = tmp_path.name
    call = asyncio.create_task(box.call("starts_a_child_and_hangs", {"family": family}))
    await until(lambda: bool(alive(family)))

    call.cancel()
    await asyncio.wait([call])

    await until(lambda: not alive(family))


def _open_descriptors() -> int:
    return open_descriptors() if Path("/proc").exists() else 0


def _zombies() -> set[int]:
    return zombies() if Path("/proc").exists() else set()
