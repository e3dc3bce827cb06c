"""Toolboxes from toolboxes: nothing that protected a tool is lost on the way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from small_toolboxes import ANYTHING, box, error_of

from toolcrib_core import AliasError, CatalogError, DuplicateTool
from toolcrib_runtime import (
    Budget,
    CachePolicy,
    LocalExecutor,
    Policy,
    ToolCall,
    combine_toolboxes,
    create_toolbox,
    deny,
)
from toolcrib_runtime.testing import EventRecorder, fake_tool

pytestmark = pytest.mark.req("RT-2")


async def test_an_extended_toolbox_has_the_new_tool_too_and_the_first_one_does_not() -> None:
    small = box(fake_tool("a:x", returns=1))

    large = small.extend(fake_tool("a:y", returns=2), aliases={"a:z": "a:y"})

    assert (len(small), len(large), "a:y" in small) == (1, 2, False)
    assert [(await large.call(name)).unwrap() for name in ("a:x", "a:y", "a:z")] == [1, 2, 2]


async def test_an_extended_toolbox_spends_the_same_budget() -> None:
    small = box(fake_tool("a:x"), budget=Budget(calls=2))
    large = small.extend(fake_tool("a:y"))

    outcomes = [
        (await each).outcome for each in (small.call("a:x"), large.call("a:y"), large.call("a:x"), small.call("a:x"))
    ]

    assert outcomes == ["success", "success", "error", "error"]


async def test_an_extended_toolbox_shares_queue_and_cache() -> None:
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    cached = fake_tool("a:cached", returns=1, cache=CachePolicy())
    small = box(work, cached, concurrency=1)
    large = small.extend(fake_tool("a:y"))

    await asyncio.gather(*(each.call("work") for each in (small, large, small, large)))
    await small.call("a:cached")

    assert most == 1
    assert (await large.call("a:cached")).source == "cache"


def test_extending_by_another_tool_of_the_same_id_is_refused() -> None:
    first = fake_tool("a:x", returns=1)
    toolbox = box(first)

    with pytest.raises(DuplicateTool):
        toolbox.extend(fake_tool("a:x", returns=2))
    with pytest.raises(DuplicateTool):
        toolbox.extend(fake_tool("a:y", returns=1), fake_tool("a:y", returns=2))
    assert len(toolbox.extend(first)) == 1


def test_extending_by_an_alias_that_is_taken_is_refused() -> None:
    toolbox = create_toolbox([fake_tool("a:x"), fake_tool("a:y")], aliases={"a:z": "a:x"})

    with pytest.raises(AliasError):
        toolbox.extend(aliases={"a:z": "a:y"})


async def test_in_a_combined_toolbox_each_tool_keeps_its_own_rules() -> None:
    heard: dict[str, EventRecorder] = {"strict": EventRecorder(), "loose": EventRecorder()}
    strict = box(fake_tool("a:x"), policy=Policy(rules=(deny("a:*"),), by_risk=None), listeners=(heard["strict"],))
    loose = box(fake_tool("b:x", returns=1), budget=Budget(calls=1), listeners=(heard["loose"],))

    both = combine_toolboxes(strict, loose)
    results = await both.execute([ToolCall("a:x"), ToolCall("b:x"), ToolCall("b:x")], mode="sequential")

    assert [each.outcome for each in results] == ["error", "success", "error"]
    assert [error_of(each)[1] for each in results if not each.ok] == ["permission", "budget"]
    assert {each.tool_id.split("#")[0] for each in heard["strict"].events} == {"a:x"}
    assert {each.tool_id.split("#")[0] for each in heard["loose"].events} == {"b:x"}


@pytest.mark.req("D1-7f")
async def test_a_combined_toolbox_has_every_tool_alias_context_and_timeout() -> None:
    one = create_toolbox([fake_tool("a:x", returns=1)], aliases={"a:alias": "a:x"}, policy=ANYTHING)
    other = create_toolbox([fake_tool("b:y", returns=2)], policy=ANYTHING, timeout=7)

    both = combine_toolboxes(one, other)

    assert [each.definition.name for each in both] == ["x", "y"]
    assert (await both.call("a:alias")).unwrap() == 1
    assert {both._entries[each.id].timeout for each in both} == {60.0, 7}


def test_the_same_id_twice_is_refused_unless_it_is_the_very_same() -> None:
    shared = fake_tool("a:x")
    toolbox = box(shared)

    with pytest.raises(DuplicateTool):
        combine_toolboxes(toolbox, box(fake_tool("a:x")))
    with pytest.raises(DuplicateTool):
        combine_toolboxes(toolbox, box(shared))
    assert len(combine_toolboxes(toolbox, toolbox, toolbox.extend(fake_tool("a:y")))) == 2


def test_an_alias_that_means_two_things_is_refused() -> None:
    one = create_toolbox([fake_tool("a:x")], aliases={"c:z": "a:x"})
    other = create_toolbox([fake_tool("b:x")], aliases={"c:z": "b:x"})

    with pytest.raises(AliasError):
        combine_toolboxes(one, other)


def test_a_toolbox_of_different_settings_cannot_be_extended_since_a_new_tool_would_have_none() -> None:
    both = combine_toolboxes(box(fake_tool("a:x")), box(fake_tool("b:x")))

    with pytest.raises(CatalogError, match="Extend one of the parts"):
        both.extend(fake_tool("c:x"))


async def test_a_toolbox_combined_of_one_kind_of_settings_can_be_extended() -> None:
    first = box(fake_tool("a:x"))

    more = combine_toolboxes(first, first.extend(fake_tool("a:y"))).extend(fake_tool("a:z", returns=3))

    assert (await more.call("a:z")).unwrap() == 3


def test_combining_nothing_is_an_empty_toolbox() -> None:
    assert len(combine_toolboxes()) == 0


async def test_closing_a_toolbox_closes_every_executor_once() -> None:
    class Counting(LocalExecutor):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1
            await super().aclose()

    shared, own = Counting(), Counting()
    tools: list[Any] = [fake_tool("a:x"), fake_tool("a:y"), fake_tool("a:z", executor=own)]

    async with box(*tools, executor=shared) as toolbox:
        assert (await toolbox.call("a:x")).ok

    assert (shared.closed, own.closed) == (1, 1)
