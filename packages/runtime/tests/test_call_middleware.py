"""Middleware: around every call, whatever the tool is made of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from small_toolboxes import as_tool, box, called, error_of

from toolcrib_core import JsonValue, ToolError, ToolErrorCategory, define_tool
from toolcrib_runtime import (
    Invocation,
    NotPermitted,
    Proceed,
    RetryPolicy,
    RunnableTool,
    create_tool,
    lazy,
    pipe,
    tool,
)
from toolcrib_runtime.testing import fake_tool

pytestmark = pytest.mark.req("RT-17")


class Numbers(BaseModel):
    x: int = 0


class Seen:
    """Middleware that notes the calls it sees."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def __call__(self, invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        self.calls.append(invocation.tool.name)
        return await proceed(invocation)


@tool(effects="read")
def plain(x: int = 0) -> int:
    """A plain function."""
    return x


@tool(effects="read")
async def waiting(x: int = 0) -> int:
    """An async function."""
    return x


def every_kind() -> list[RunnableTool]:
    definition = define_tool({"type": "object"}, name="lazy_one", description="Lazy.")
    return [
        plain,
        waiting,
        create_tool(Numbers, lambda numbers: numbers.x, name="from_model", description="From a model."),
        create_tool({"type": "object"}, lambda **_: 0, name="from_schema", description="From a schema."),
        lazy(definition, lambda: fake_tool("lazy_one", returns=0)),
        fake_tool("fake", returns=0),
        pipe(fake_tool("one", returns={}), fake_tool("other", returns=0)),
    ]


@pytest.mark.parametrize("made", every_kind(), ids=lambda each: each.name)
async def test_middleware_stands_around_every_tool_however_it_was_made(made: RunnableTool) -> None:
    seen = Seen()

    result = await called(made, {}, middleware=(seen,))

    assert result.unwrap() == 0
    assert seen.calls[0] == made.name
    assert seen.calls.count(made.name) <= 2  # a lazy tool is a step of itself


async def test_it_sees_one_call_however_often_that_is_tried() -> None:
    seen = Seen()
    tried = fake_tool("work", sequence=[ConnectionError(), ConnectionError(), 1], retries=RetryPolicy(first_delay=0))

    result = await called(tried, middleware=(seen,))

    assert (result.attempts, seen.calls) == (3, ["work"])


async def test_the_first_one_is_the_outermost() -> None:
    order = []

    def named(name: str) -> Any:
        async def around(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
            order.append(f"{name} before")
            value = await proceed(invocation)
            order.append(f"{name} after")
            return value

        return around

    await called(fake_tool("work"), middleware=[named("outer"), named("inner")])

    assert order == ["outer before", "inner before", "inner after", "outer after"]


async def test_it_may_answer_itself() -> None:
    asked = fake_tool("work")

    async def answer(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        return {"instead": True}

    result = await called(asked, middleware=(answer,))

    assert (result.unwrap(), asked.calls, result.attempts) == ({"instead": True}, [], 0)


async def test_it_may_refuse_by_raising_an_error_that_says_so() -> None:
    asked = fake_tool("work")

    async def refuse(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        raise NotPermitted("Not on Sundays.")

    result = await called(asked, middleware=(refuse,))

    assert error_of(result) == ("toolbox.not-permitted", "permission")
    assert asked.calls == []


async def test_its_own_failure_is_not_the_tools(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        raise KeyError("secret")

    result = await called(fake_tool("work"), middleware=(fail,))

    assert error_of(result) == ("toolbox.internal-error", "internal")
    assert result.text.startswith("A middleware failed while `default:work")
    assert "secret" not in result.text
    assert result.call_id in result.text
    assert result.call_id in caplog.text


async def test_the_tools_failure_passes_through_it_and_it_may_look() -> None:
    seen = []

    async def look(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        try:
            return await proceed(invocation)
        except ToolError as error:
            seen.append((error.code, error.category))
            raise

    await called(fake_tool("work", raises=ValueError("x")), middleware=(look,))

    assert seen == [("tool.default.work.failed", ToolErrorCategory.INTERNAL)]


@pytest.mark.parametrize("answer", [object(), float("nan"), iter([1])])
async def test_what_it_answers_must_be_json(answer: Any) -> None:
    async def wrong(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        return answer

    assert error_of(await called(fake_tool("work"), middleware=(wrong,))) == (
        "toolbox.unusable-output",
        "output_validation",
    )


async def test_it_cannot_keep_a_hand_on_the_value() -> None:
    kept: list[Any] = []

    async def keep(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        kept.append(await proceed(invocation))
        return kept[0]

    result = await called(fake_tool("work", returns={"a": 1}), middleware=(keep,))
    kept[0]["a"] = 2

    assert result.value == {"a": 1}


async def test_it_sees_validated_arguments_as_a_copy_of_its_own() -> None:
    asked, seen = fake_tool("work"), []

    async def spoil(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        arguments = invocation.arguments
        seen.append(dict(arguments))
        arguments["x"] = "spoilt"
        return await proceed(invocation)

    await called(asked, '{"x": 1}', middleware=(spoil,))

    assert (seen, asked.calls) == ([{"x": 1}], [{"x": 1}])


@pytest.mark.req("RT-5")
async def test_it_is_under_the_deadline_of_the_call() -> None:
    async def wait(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        await asyncio.Event().wait()
        return await proceed(invocation)

    result = await called(as_tool(fake_tool("work")), middleware=(wait,), timeout=0.02)

    assert (error_of(result)[1], result.attempts) == ("timeout", 0)


@pytest.mark.req("RT-6")
@pytest.mark.parametrize("instead", ["a value", "an error"])
async def test_it_cannot_hide_the_callers_cancellation(instead: str) -> None:
    waiting_for = asyncio.Event()

    async def hide(invocation: Invocation, proceed: Proceed, /) -> JsonValue:
        try:
            return await proceed(invocation)
        except asyncio.CancelledError:
            if instead == "an error":
                raise ValueError("hidden") from None
            return "hidden"

    async def work() -> None:
        waiting_for.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(5):
        task = asyncio.create_task(box(work, middleware=(hide,)).call("work"))
        await waiting_for.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
