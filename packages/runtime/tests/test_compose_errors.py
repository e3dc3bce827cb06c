"""How composed tools fail: the step is named, and nothing that it said is lost."""

from __future__ import annotations

import pytest
from composed_tools import COMPOSERS, Composer, counting, failing, lazily
from small_toolboxes import box, called

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_runtime import RetryPolicy, RunnableTool, StepFailed, ToolCall, UnknownOutcome, bind, pipe, retry
from toolcrib_runtime.failures import failure_of, unknown_outcome
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_runtime.testing import fake_tool

TRANSIENT = ToolErrorCategory.TRANSIENT
AT_ONCE = RetryPolicy(first_delay=0)

each_composer = pytest.mark.parametrize("compose", COMPOSERS.values(), ids=COMPOSERS)


async def error_of(tool: RunnableTool, **options: object) -> ToolError:
    result = await called(tool, {}, **options)  # type: ignore[arg-type]
    assert result.error is not None
    return result.error


@pytest.mark.req("RT-12")
@each_composer
async def test_code_category_hint_and_details_are_those_of_the_step(compose: Composer) -> None:
    error = await error_of(compose(failing("broken")))

    assert isinstance(error, StepFailed)
    assert (error.code, error.category) == ("tool.test.broken", ToolErrorCategory.CONFLICT)
    assert (error.hint, error.details["part"]) == ("Mend it.", "wheel")


@pytest.mark.req("RT-12")
@each_composer
async def test_the_error_of_the_step_is_the_cause(compose: Composer) -> None:
    error = await error_of(compose(failing("broken")))

    assert isinstance(error.__cause__, ToolError)
    assert error.__cause__.message == "It is broken."


@pytest.mark.req("RT-12")
async def test_the_message_names_the_step_by_number_and_id() -> None:
    broken = failing("broken")

    error = await error_of(pipe(fake_tool("fine", returns={}), broken))

    assert error.message == f"Step 2 of the pipe, `{broken.id}`, failed: It is broken."
    assert error.details["steps"] == [{"number": 2, "tool": broken.id}]


@pytest.mark.req("RT-12")
async def test_an_exception_of_a_step_is_told_as_if_the_step_had_been_called_by_itself() -> None:
    broken = fake_tool("broken", raises=FileNotFoundError("gone"))

    alone, inside = await error_of(broken), await error_of(pipe(fake_tool("fine", returns={}), broken))

    assert (inside.code, inside.category) == (alone.code, alone.category)
    assert inside.message.endswith(alone.message)


@pytest.mark.req("RT-12")
async def test_a_step_within_a_step_is_named_with_the_whole_way_to_it() -> None:
    broken = failing("broken")
    inner = pipe(fake_tool("fine", returns={}), broken)
    middle = bind(inner, {})

    error = await error_of(pipe(middle, fake_tool("never")))

    assert error.message == f"Step 1 of the pipe, `{middle.id}`, failed at `{broken.id}`: It is broken."
    assert error.details["steps"] == [
        {"number": 1, "tool": middle.id},
        {"number": 1, "tool": inner.id},
        {"number": 2, "tool": broken.id},
    ]


@pytest.mark.req("RT-12")
@pytest.mark.fault("I6")
async def test_the_error_of_a_step_fifty_deep_stays_readable() -> None:
    tool = broken = failing("broken", effects="write")
    for _ in range(50):
        tool = pipe(tool, fake_tool("never"))

    error = await error_of(tool)

    assert error.message.endswith(f"failed at `{broken.id}`: It is broken.")
    assert len(str(error.to_dict())) < 6_000


@pytest.mark.req("RT-12")
async def test_a_failure_that_may_pass_may_pass_for_the_whole_if_that_may_run_twice() -> None:
    flaky = failing("flaky", TRANSIENT)

    error = await error_of(pipe(fake_tool("read", returns={}), flaky))

    assert (error.category, error.retryable) == (TRANSIENT, True)


@pytest.mark.req("RT-7", "RT-12")
async def test_nothing_is_to_be_tried_again_when_a_step_before_had_its_effect() -> None:
    write = fake_tool("write", returns={}, effects="write")

    error = await error_of(pipe(write, failing("flaky", TRANSIENT)))

    assert (error.category, error.retryable) == (TRANSIENT, False)
    assert error.details["completed"] == [write.id]
    assert error.hint == f"Mend it. What `{write.id}` did before is not undone."


@pytest.mark.req("RT-12")
async def test_what_was_done_before_at_any_depth_is_told_in_one_sentence() -> None:
    outer, inner = (fake_tool(name, returns={}, effects="write") for name in ("outer", "inner"))

    error = await error_of(pipe(outer, pipe(inner, failing("broken"))))

    assert error.details["completed"] == [outer.id, inner.id]
    assert error.hint == f"Mend it. What `{outer.id}`, `{inner.id}` did before is not undone."


@pytest.mark.req("RT-12")
async def test_what_was_done_before_is_told_also_where_the_step_has_no_hint() -> None:
    write = fake_tool("write", returns={}, effects="write")

    error = await error_of(pipe(write, fake_tool("broken", raises=ValueError)))

    assert error.hint == f"What `{write.id}` did before is not undone."


@pytest.mark.req("RT-7", "RT-12")
async def test_a_definite_failure_of_a_step_leaves_nothing_open() -> None:
    write = fake_tool("write", raises=ConnectionRefusedError("nobody there"), effects="write")

    for composed in (bind(write, {}), lazily(write)):
        error = await error_of(composed)
        assert (error.category, type(error)) == (TRANSIENT, StepFailed)


@pytest.mark.req("RT-7", "RT-12")
async def test_the_unknown_outcome_of_a_step_is_that_of_the_whole_and_is_said_once() -> None:
    write = fake_tool("write", raises=ConnectionResetError("lost"), effects="write")
    alone = await error_of(write)

    for composed in (bind(bind(write, {}), {}), lazily(write)):
        error = await error_of(composed)
        assert (error.category, error.retryable) == (ToolErrorCategory.UNKNOWN_OUTCOME, False)
        assert (error.hint, error.message.count("Nobody knows")) == (alone.hint, 1)


@pytest.mark.req("RT-7", "RT-12")
async def test_a_composed_call_whose_step_has_an_unknown_outcome_is_not_run_again_under_its_key() -> None:
    write = fake_tool("write", sequence=[ConnectionResetError("lost"), "done"], effects="write")
    composed = bind(write, {})
    toolbox = box(composed)
    call = ToolCall(tool=composed.id, idempotency_key="once")

    results = [await toolbox.execute(call), await toolbox.execute(call)]

    assert [each.error and each.error.category for each in results] == [ToolErrorCategory.UNKNOWN_OUTCOME] * 2
    assert len(write.calls) == 1


@pytest.mark.req("RT-7")
def test_a_failed_step_leaves_the_outcome_open_only_if_its_own_is_unknown() -> None:
    definition = counting("add").definition

    for category in ToolErrorCategory:
        failure = failure_of(StepFailed("It failed.", category=category), definition, Scrubber())
        assert failure.leaves_open == (category is ToolErrorCategory.UNKNOWN_OUTCOME)


@pytest.mark.req("RT-7")
def test_an_outcome_that_is_unknown_already_is_not_wrapped_once_more() -> None:
    unknown = UnknownOutcome("Nobody knows.")

    assert unknown_outcome(unknown, counting("add").definition) is unknown


@pytest.mark.req("RT-7", "RT-12")
async def test_a_step_is_tried_again_by_its_own_policy_and_the_whole_is_not() -> None:
    flaky = failing("flaky", TRANSIENT)
    deep = pipe(pipe(bind(flaky, {}), fake_tool("never")), fake_tool("never"))

    error = await error_of(deep, retries=AT_ONCE)

    assert len(flaky.calls) == 3  # type: ignore[attr-defined]
    assert error.details["steps"][-1] == {"number": 1, "tool": flaky.id, "attempts": 3}  # type: ignore[index]


@pytest.mark.req("RT-7", "RT-12")
async def test_retry_goes_by_its_own_policy_and_not_also_by_that_of_the_toolbox() -> None:
    flaky = failing("flaky", TRANSIENT)

    await error_of(retry(flaky, RetryPolicy(attempts=5, first_delay=0)), retries=AT_ONCE)

    assert len(flaky.calls) == 5  # type: ignore[attr-defined]


@pytest.mark.req("RT-7", "RT-12")
@pytest.mark.parametrize(
    "category",
    [
        ToolErrorCategory.VALIDATION,
        ToolErrorCategory.PERMISSION,
        ToolErrorCategory.CONFLICT,
        ToolErrorCategory.INTERNAL,
    ],
)
async def test_retry_does_not_repeat_what_will_not_pass(category: ToolErrorCategory) -> None:
    broken = failing("broken", category)

    await error_of(retry(broken, AT_ONCE))

    assert len(broken.calls) == 1  # type: ignore[attr-defined]


@pytest.mark.req("RT-12")
async def test_retry_of_a_composition_repeats_the_whole_of_it() -> None:
    first = fake_tool("first", returns={})
    flaky = fake_tool("flaky", sequence=[ToolError("Not yet.", category=TRANSIENT), "done"])

    result = await called(retry(pipe(first, flaky), AT_ONCE), {})

    assert (result.value, len(first.calls)) == ("done", 2)
