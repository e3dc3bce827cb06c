"""Noticing loops: the same call repeated, and calls that take turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.errors import LoopDetected
from toolcrib_runtime.policy.loops import MAX_WINDOW, LoopLimits, Trail
from toolcrib_runtime.policy.runs import Run
from toolcrib_runtime.testing import EventRecorder, fake_tool
from toolcrib_runtime.toolbox import Toolbox, create_toolbox


def first_refusal(names: Iterable[str], limits: LoopLimits) -> tuple[int, LoopDetected] | None:
    """The number of the first call in the row that is refused, from 1."""
    trail = Trail()
    for number, name in enumerate(names, 1):
        refusal = trail.add((name, ""), limits)
        if refusal is not None:
            return number, refusal
    return None


async def calls_of(box: Toolbox, *arguments: Mapping[str, object] | str, run: Run | None = None) -> list[ToolResult]:
    return [await box.call("t:get", each, run=run) for each in arguments]


def refusals(results: list[ToolResult]) -> list[int]:
    return [number for number, each in enumerate(results, 1) if isinstance(each.error, LoopDetected)]


@pytest.mark.req("RT-9")
async def test_the_same_call_is_refused_when_it_comes_once_too_often() -> None:
    tool = fake_tool("t:get")
    box = create_toolbox([tool], loops=LoopLimits(repeats=3))

    results = await calls_of(box, *[{"city": "Paris"}] * 5)

    assert refusals(results) == [3, 4, 5]
    assert len(tool.calls) == 2


@pytest.mark.req("RT-9")
async def test_a_refusal_tells_the_model_what_it_did_and_that_it_must_change_something() -> None:
    box = create_toolbox([fake_tool("t:get")], loops=LoopLimits(repeats=2))

    error = (await calls_of(box, {"city": "Paris"}, {"city": "Paris"}))[1].error

    assert error is not None
    assert error.to_dict() == {
        "code": "toolbox.loop-detected",
        "category": "budget",
        "message": "The same call came 2 times, and was not run again.",
        "hint": "Change the arguments, use another tool, or answer with what is known.",
        "retryable": False,
        "details": {"pattern": "repeat", "times": 2},
    }


@pytest.mark.req("RT-9")
async def test_calls_with_other_arguments_never_count_as_the_same_however_deep_the_difference() -> None:
    box = create_toolbox([fake_tool("t:get")], loops=LoopLimits(repeats=2))

    results = await calls_of(
        box,
        {"query": {"where": [{"id": 1}, {"id": 2}]}},
        {"query": {"where": [{"id": 1}, {"id": 3}]}},
        {"query": {"where": [{"id": 2}, {"id": 1}]}},
        {"query": {"where": [{"id": "1"}, {"id": 2}]}},
        {"query": {"where": [{"id": True}, {"id": 2}]}},
        {"query": {"where": [{"id": 1}, {"id": 2}], "also": None}},
    )

    assert refusals(results) == []


@pytest.mark.req("RT-9")
async def test_the_same_arguments_in_another_order_or_as_text_are_the_same_call() -> None:
    box = create_toolbox([fake_tool("t:get")], loops=LoopLimits(repeats=3))

    results = await calls_of(
        box, {"a": 1, "b": {"c": 2, "d": 3}}, '{"b": {"d":3, "c":2}, "a":1}', {"b": {"d": 3, "c": 2}, "a": 1}
    )

    assert refusals(results) == [3]


@pytest.mark.req("RT-9")
async def test_other_tools_with_the_same_arguments_are_other_calls() -> None:
    tools = [fake_tool(f"t:get{number}") for number in range(5)]
    box = create_toolbox(tools, loops=LoopLimits(repeats=2))

    results = [await box.call(each.id, {"city": "Paris"}) for each in tools]

    assert refusals(results) == []


@pytest.mark.req("RT-9")
def test_repetitions_count_only_within_the_window() -> None:
    limits = LoopLimits(repeats=3, window=5)

    assert first_refusal("AxyzA" + "uvwA", limits) is None
    assert first_refusal("AxAyA", limits) is not None


@pytest.mark.req("RT-9")
def test_two_calls_that_take_turns_are_refused_at_the_limit() -> None:
    refused = first_refusal("AB" * 20, LoopLimits(repeats=50, alternations=6))

    assert refused is not None
    number, error = refused
    assert number == 6
    assert error.message == "The same 2 calls have taken turns for 6 calls, and this one was not run again."
    assert error.details == {"pattern": "alternation", "period": 2, "calls": 6}


@pytest.mark.req("RT-9")
def test_three_calls_that_take_turns_have_as_many_rounds_as_two() -> None:
    refused = first_refusal("ABC" * 20, LoopLimits(repeats=50, alternations=6))

    assert refused is not None
    assert (refused[0], refused[1].details["period"]) == (9, 3)


@pytest.mark.parametrize("row", ["AAB" * 20, "ABB" * 20])
def test_a_round_of_three_may_hold_the_same_call_twice(row: str) -> None:
    refused = first_refusal(row, LoopLimits(repeats=50, alternations=6))

    assert refused is not None
    assert refused[0] == 9


@pytest.mark.req("RT-9")
def test_turns_that_began_after_other_calls_are_noticed_as_soon() -> None:
    refused = first_refusal("PQRPSTAABAB" + "AB" * 9, LoopLimits(repeats=50, alternations=8))

    assert refused is not None
    assert refused[0] == len("PQRPSTA") + 8


@pytest.mark.req("RT-9")
def test_a_different_call_in_between_ends_the_turns() -> None:
    limits = LoopLimits(repeats=50, alternations=6, window=100)

    assert first_refusal("ABABx" * 9, limits) is None


def test_one_call_alone_is_a_repetition_and_no_taking_of_turns() -> None:
    assert first_refusal("A" * 30, LoopLimits(repeats=50, alternations=4)) is None


@pytest.mark.req("RT-9")
def test_a_refused_call_is_remembered_so_that_going_on_is_refused_too() -> None:
    trail, limits = Trail(), LoopLimits(repeats=50, alternations=6)

    refused = [trail.add((name, ""), limits) is not None for name in "AB" * 5]

    assert refused == [False] * 5 + [True] * 5


@pytest.mark.req("RT-9")
@given(st.lists(st.sampled_from("ABC"), max_size=60), st.integers(2, 6), st.integers(6, 20))
def test_a_repetition_is_refused_exactly_when_a_count_over_the_window_says_so(
    names: list[str], repeats: int, window: int
) -> None:
    trail, limits = Trail(), LoopLimits(repeats=repeats, alternations=1_000, window=window)

    refused = [trail.add((name, ""), limits) is not None for name in names]

    recent = [names[max(0, end - window) : end] for end in range(1, len(names) + 1)]
    assert refused == [each.count(each[-1]) >= repeats for each in recent]


@pytest.mark.req("RT-9")
def test_the_trail_keeps_no_more_than_its_window() -> None:
    trail, limits = Trail(), LoopLimits(window=20)

    for number in range(10_000):
        trail.add((f"tool{number}", ""), limits)

    assert (len(trail._last), len(trail._times)) == (20, 20)


@pytest.mark.req("RT-9")
async def test_every_run_has_a_trail_of_its_own_and_calls_without_one_share_the_toolboxs() -> None:
    box = create_toolbox([fake_tool("t:get")], loops=LoopLimits(repeats=2))
    one, other = Run(), Run()

    results = [await box.call("t:get", run=run) for run in (None, one, other, one, None)]

    assert refusals(results) == [4, 5]


@pytest.mark.req("RT-9")
async def test_the_limits_of_the_run_go_before_those_of_the_toolbox() -> None:
    strict, open_box = LoopLimits(repeats=2), create_toolbox([fake_tool("t:get")])
    box = create_toolbox([fake_tool("t:get")], loops=strict)

    assert refusals(await calls_of(box, {}, {}, {}, run=Run(loops=LoopLimits(repeats=3)))) == [3]
    assert refusals(await calls_of(open_box, {}, {}, run=Run(loops=strict))) == [2]


@pytest.mark.req("RT-9")
async def test_without_limits_nothing_is_a_loop() -> None:
    box = create_toolbox([fake_tool("t:get")])

    assert refusals(await calls_of(box, *[{}] * 50, run=Run())) == []


@pytest.mark.req("RT-9", "RT-15")
async def test_a_loop_is_told_by_the_end_of_the_call_alone() -> None:
    recorder = EventRecorder()
    box = create_toolbox([fake_tool("t:get")], loops=LoopLimits(repeats=2), listeners=(recorder,))

    await box.execute([ToolCall(tool="t:get", id="one"), ToolCall(tool="t:get", id="two")], mode="sequential")

    assert recorder.kinds("two") == ["started", "validated", "finished"]


def test_the_limits_refuse_numbers_that_make_no_sense_and_name_them() -> None:
    wrong: list[tuple[str, Any]] = [
        ("repeats", 1),
        ("alternations", 3),
        ("window", 9),
        ("window", 2.5),
        ("repeats", True),
    ]

    for name, value in wrong:
        with pytest.raises(ValueError, match=rf"^`{name}` must be a whole number, \d+ or more$"):
            LoopLimits(**{name: value})
    with pytest.raises(ValueError, match=r"^`window` must be 10000 or less$"):
        LoopLimits(window=MAX_WINDOW + 1)
