"""A toolbox in a script: one tool is enough, no event loop is needed, and it shows what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from small_toolboxes import as_tool, box

from toolcrib_core import InvalidDefinition, ToolContext, ToolDefinition
from toolcrib_runtime import LocalExecutor, ProcessExecutor, ToolResult, call_sync, create_toolbox
from toolcrib_runtime.testing import fake_tool

pytestmark = pytest.mark.req("RT-2")


def twice(x: int) -> int:
    return 2 * x


async def slow(x: int) -> int:
    await asyncio.sleep(0)
    return x


def test_a_script_calls_a_tool_without_an_event_loop() -> None:
    result = call_sync(box(twice), "twice", {"x": 4})

    assert isinstance(result, ToolResult)
    assert result.unwrap() == 8


def test_a_failure_is_a_result_here_too() -> None:
    result = call_sync(box(twice), "twice", {"x": "four"})

    assert not result.ok
    assert result.error is not None
    assert result.error.code == "toolbox.invalid-arguments"


def test_the_options_of_a_call_are_taken() -> None:
    async def who(context: ToolContext) -> str | None:
        return context.run_id

    assert call_sync(box(who), "who", context=ToolContext(run_id="r1")).unwrap() == "r1"


@pytest.mark.parametrize("executor", [LocalExecutor, ProcessExecutor])
def test_a_script_calls_the_same_toolbox_again_and_again(executor: type[LocalExecutor | ProcessExecutor]) -> None:
    from process_tools import double

    toolbox = create_toolbox([double, as_tool(slow)], executor=executor(), concurrency=1)

    values = [call_sync(toolbox, name, {"x": number}).unwrap() for number in (1, 2) for name in ("double", "slow")]

    assert values == [2, 1, 4, 2]
    asyncio.run(toolbox.aclose())


async def test_within_an_event_loop_the_error_says_what_to_write_instead() -> None:
    toolbox = box(twice)

    with pytest.raises(RuntimeError, match=r"`await toolbox\.call\(…\)`"):
        call_sync(toolbox, "twice", {"x": 4})

    assert (await toolbox.call("twice", {"x": 4})).unwrap() == 8


def test_one_tool_makes_a_toolbox() -> None:
    made = as_tool(twice)

    assert create_toolbox(made).tools == create_toolbox([made]).tools == (made,)


@pytest.mark.parametrize("given", [twice, 7, None])
def test_one_thing_that_is_no_tool_gets_a_sentence(given: object) -> None:
    with pytest.raises(InvalidDefinition, match="is not a tool"):
        create_toolbox(given)  # type: ignore[arg-type]  # the point of the test


@pytest.mark.parametrize("form", [lambda definition: definition, lambda definition: [definition]])
def test_a_definition_without_a_function_is_told_what_it_lacks(form: Callable[[ToolDefinition], Any]) -> None:
    with pytest.raises(InvalidDefinition, match=r"`default:twice` has no function to run.*create_tool\(definition, "):
        create_toolbox(form(as_tool(twice).definition))


def test_a_tool_that_is_in_no_toolbox_is_not_called() -> None:
    with pytest.raises(TypeError, match=r"type `RunnableTool`: write `call_sync\(create_toolbox\(tool\)"):
        call_sync(as_tool(twice), "twice", {"x": 4})  # type: ignore[arg-type]  # the point of the test


def test_a_toolbox_shows_its_tools() -> None:
    assert repr(create_toolbox()) == "<Toolbox without tools>"
    assert repr(box(twice)) == "<Toolbox of 1 tool: default:twice>"
    assert repr(box(twice, slow)) == "<Toolbox of 2 tools: default:slow, default:twice>"


def test_a_toolbox_shows_ten_of_many_tools() -> None:
    shown = repr(create_toolbox([fake_tool(f"many:{'x' * 60}{number:04}") for number in range(2_000)]))

    assert shown.startswith("<Toolbox of 2,000 tools: many:x")
    assert shown.endswith(" and 1,990 more>")
    assert len(shown) < 1_000
