from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolcrib_core import JsonValue, Principal, ToolContext, ToolError, ToolErrorCategory
from toolcrib_runtime.calls import ToolCall, ToolResult
from toolcrib_runtime.cancellation import Cancellation
from toolcrib_runtime.errors import StepFailed
from toolcrib_runtime.outputs import ToolOutput
from toolcrib_runtime.policy.ledgers import MemoryLedger
from toolcrib_runtime.policy.rules import Policy
from toolcrib_runtime.runnable import RunnableTool, tool
from toolcrib_runtime.testing import EventRecorder, FakeClock, FakeTool, fake_tool
from toolcrib_runtime.toolbox import Toolbox, create_toolbox

ANY_RISK = Policy(by_risk=None)


def writer(name: str = "bank:pay", /, **options: Any) -> FakeTool:
    return fake_tool(name, **{"effects": "write", **options})


def boxed(*tools: RunnableTool, **options: Any) -> Toolbox:
    return create_toolbox(tools, policy=ANY_RISK, **options)


def call(key: str | None = "k-1", tool: str = "bank:pay", **arguments: Any) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments, idempotency_key=key)


def context(user: str, tenant: str | None = None) -> ToolContext:
    return ToolContext(user=Principal(id=user), tenant=None if tenant is None else Principal(id=tenant))


def category(result: ToolResult) -> ToolErrorCategory | None:
    return None if result.error is None else result.error.category


@pytest.mark.req("RT-7")
async def test_a_call_that_is_repeated_under_its_key_gets_the_first_result():
    pay, events = writer(sequence=[{"receipt": 1}, {"receipt": 2}]), EventRecorder()
    box = boxed(pay)

    first = await box.execute(call(amount=5))
    second = await box.execute(call(amount=5), on_event=events)

    assert (first.value, first.source, first.attempts) == ({"receipt": 1}, "run", 1)
    assert (second.value, second.source, second.attempts) == ({"receipt": 1}, "ledger", 0)
    assert len(pay.calls) == 1
    assert events.kinds() == ["started", "validated", "replayed", "finished"]


@pytest.mark.req("RT-7")
async def test_calls_without_a_key_and_with_another_key_run_every_time():
    pay = writer()
    box = boxed(pay)

    for key in (None, None, "k-1", "k-2"):
        await box.execute(call(key, amount=5))

    assert len(pay.calls) == 4


@pytest.mark.req("RT-7")
async def test_content_blocks_are_given_again_and_nobody_can_change_what_is_remembered():
    picture = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    box = boxed(writer(returns=ToolOutput(value={"list": [1]}, content=(picture,))))

    first = await box.execute(call())
    first.value["list"].append(2)
    second = await box.execute(call())
    second.value["list"].append(3)
    third = await box.execute(call())

    assert third.value == {"list": [1]}
    assert third.content == (picture,)


@pytest.mark.req("RT-7")
async def test_of_many_calls_at_once_with_one_key_one_runs_and_all_get_its_result():
    pay = writer(sequence=list(range(1, 100)))

    results = await boxed(pay).execute([call(amount=5) for _ in range(50)])

    assert {result.value for result in results} == {1}
    assert sorted(result.source for result in results) == ["ledger"] * 49 + ["run"]
    assert len(pay.calls) == 1


@pytest.mark.req("RT-7")
async def test_the_same_key_with_other_arguments_is_a_conflict_that_shows_no_values():
    pay = writer()
    box = boxed(pay)
    await box.execute(call(note="hunter2"))

    result = await box.execute(call(note="hunter3"))

    assert category(result) is ToolErrorCategory.CONFLICT
    assert result.error is not None
    assert result.error.code == "toolbox.idempotency-conflict"
    assert "hunter" not in str(result.error.to_dict())
    assert len(pay.calls) == 1


@pytest.mark.req("RT-7")
async def test_neither_the_order_of_keys_nor_the_form_of_the_arguments_makes_another_call():
    pay = writer()
    box = boxed(pay)

    await box.execute(call(a=1, b={"c": 2, "d": 3}))
    text = ToolCall(tool="bank:pay", arguments='{"b": {"d": 3, "c": 2.0}, "a": 1}', idempotency_key="k-1")
    result = await box.execute(text)

    assert result.source == "ledger"


@pytest.mark.req("RT-7")
async def test_a_key_belongs_to_one_user_one_tenant_and_one_tool():
    pay, refund = writer(), writer("bank:refund")
    box = boxed(pay, refund)

    for who in (None, context("ann"), context("bob"), context("ann", "acme"), context("ann", "other")):
        await box.execute(call(), context=who)
    await box.execute(call(tool="bank:refund"))

    assert (len(pay.calls), len(refund.calls)) == (5, 1)


@pytest.mark.req("RT-7")
async def test_a_retry_finds_its_key_after_the_tool_was_described_anew_and_got_a_new_version():
    ledger = MemoryLedger()
    old, new = writer(returns="old", version="1.0.0"), writer(returns="new", version="1.1.0", description="Better.")
    await boxed(old, ledger=ledger).execute(call())

    result = await boxed(new, ledger=ledger).execute(call())

    assert (result.value, result.source) == ("old", "ledger")


@pytest.mark.req("RT-7")
async def test_a_failure_that_trying_again_would_not_mend_is_remembered():
    refusal = ToolError("The account is closed.", category=ToolErrorCategory.CONFLICT, details={"odd": {1: object}})
    pay = writer(sequence=[refusal, "paid"])
    box = boxed(pay)

    first = await box.execute(call())
    second = await box.execute(call())

    assert first.error is not None
    assert second.error is not None
    assert (second.source, second.error.code, second.error.message) == ("ledger", first.error.code, refusal.message)
    assert len(pay.calls) == 1


@pytest.mark.req("RT-7")
async def test_a_failure_that_may_pass_is_not_remembered():
    pay = writer(sequence=[ToolError("Busy.", category=ToolErrorCategory.TRANSIENT), "paid"])
    box = boxed(pay)

    first = await box.execute(call())
    second = await box.execute(call())

    assert category(first) is ToolErrorCategory.TRANSIENT
    assert (second.value, second.source) == ("paid", "run")


@pytest.mark.req("RT-7", "RT-12")
@pytest.mark.parametrize("details", [{}, {"sent": False}])
async def test_a_composed_tool_that_failed_half_way_is_not_run_from_its_beginning_again(details):
    half_way = StepFailed("Step 2 failed.", category=ToolErrorCategory.TRANSIENT, details=details)
    pay = writer(sequence=[half_way, "paid"])
    box = boxed(pay)
    await box.execute(call())

    result = await box.execute(call())

    assert category(result) is ToolErrorCategory.UNKNOWN_OUTCOME
    assert len(pay.calls) == 1


@pytest.mark.req("RT-7")
async def test_a_result_that_breaks_its_schema_is_remembered_since_the_effect_has_happened():
    pay = writer(returns="text", output={"type": "integer"})
    box = boxed(pay)

    results = [await box.execute(call()) for _ in range(2)]

    assert [category(each) for each in results] == [ToolErrorCategory.OUTPUT_VALIDATION] * 2
    assert len(pay.calls) == 1


@pytest.mark.req("RT-7")
async def test_a_call_that_was_refused_before_it_started_frees_its_key():
    pay, closed = writer(returns="paid"), [True]

    async def gate(invocation, proceed):
        if closed.pop():
            raise ToolError("Closed today.", category=ToolErrorCategory.PERMISSION)
        closed.append(False)
        return await proceed(invocation)

    box = boxed(pay, middleware=(gate,))
    first = await box.execute(call())
    closed.append(False)

    second = await box.execute(call())

    assert category(first) is ToolErrorCategory.PERMISSION
    assert (second.value, second.source) == ("paid", "run")


class Held:
    """A tool whose calls wait to be let go."""

    def __init__(self, **options: Any) -> None:
        self.started = asyncio.Event()
        self.go = asyncio.Event()
        self.runs = 0

        async def pay(amount: int = 0) -> int:
            """Pay."""
            self.runs += 1
            self.started.set()
            await self.go.wait()
            return self.runs

        self.tool = tool(**{"namespace": "bank", "effects": "write", **options})(pay)


@pytest.mark.req("RT-7", "RT-6")
async def test_a_call_that_was_stopped_while_it_ran_is_not_run_again_under_its_key():
    held, switch = Held(), Cancellation()
    box = boxed(held.tool)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(box.execute(call(), cancellation=switch))
        await held.started.wait()
        second = group.create_task(box.execute(call()))
        await asyncio.sleep(0)
        switch.cancel()
    third = await box.execute(call())

    assert category(first.result()) is ToolErrorCategory.CANCELLED
    assert [category(each) for each in (second.result(), third)] == [ToolErrorCategory.UNKNOWN_OUTCOME] * 2
    assert third.error is not None
    assert not third.error.retryable
    assert (held.runs, third.attempts) == (1, 0)


@pytest.mark.req("RT-7", "RT-6")
async def test_a_tool_that_may_run_twice_is_run_again_after_it_was_stopped():
    held, switch = Held(idempotent=True), Cancellation()
    box = boxed(held.tool)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(box.execute(call(), cancellation=switch))
        await held.started.wait()
        second = group.create_task(box.execute(call()))
        await asyncio.sleep(0)
        switch.cancel()
        await first
        held.go.set()

    assert (second.result().value, second.result().source) == (2, "run")


@pytest.mark.req("RT-7", "RT-6")
async def test_when_the_first_of_two_is_taken_back_before_it_started_the_second_runs():
    held, switch = Held(concurrency=1), Cancellation()
    box = boxed(held.tool)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(box.execute(call(None)))
        await held.started.wait()
        queued = group.create_task(box.execute(call(), cancellation=switch))
        await asyncio.sleep(0)
        second = group.create_task(box.execute(call()))
        await asyncio.sleep(0)
        switch.cancel()
        held.go.set()

    assert category(queued.result()) is ToolErrorCategory.CANCELLED
    assert (second.result().value, second.result().source) == (2, "run")


@pytest.mark.req("RT-7", "RT-5")
async def test_waiting_for_the_first_call_ends_with_the_deadline_of_the_one_that_waits():
    held, clock = Held(), FakeClock()
    box = boxed(held.tool, clock=clock)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(box.execute(call(), timeout=100))
        await held.started.wait()
        second = group.create_task(box.execute(call(), timeout=1))
        await clock.until_waiting(2)
        await clock.advance(1)
        held.go.set()

    assert (category(second.result()), second.result().attempts) == (ToolErrorCategory.TIMEOUT, 0)
    assert first.result().value == 1


@pytest.mark.req("RT-7", "RT-5")
async def test_a_value_that_is_lost_on_its_way_back_leaves_the_outcome_unknown():
    pay, clock = writer(returns="paid"), FakeClock()

    async def slow(invocation, proceed) -> JsonValue:
        value = await proceed(invocation)
        await invocation.clock.sleep(100)
        return value

    box = boxed(pay, middleware=(slow,), clock=clock, timeout=10)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        first = group.create_task(box.execute(call()))
        await clock.until_waiting(2)
        await clock.advance(10)
    second = await box.execute(call())

    assert not first.result().ok
    assert category(second) is ToolErrorCategory.UNKNOWN_OUTCOME
    assert len(pay.calls) == 1


@pytest.mark.req("RT-7")
def test_one_ledger_serves_one_event_loop_after_another():
    pay = writer(sequence=[1, 2])
    box = boxed(pay)

    values = [asyncio.run(box.execute(call())).value for _ in range(2)]

    assert values == [1, 1]


@pytest.mark.req("RT-7")
@pytest.mark.parametrize("key", ["", "k" * 201, "two\nlines", "\x00", 7])
async def test_a_key_that_is_no_short_printable_text_is_a_validation_error(key):
    pay = writer()

    result = await boxed(pay).execute(call(key))

    assert category(result) is ToolErrorCategory.VALIDATION
    assert pay.calls == []
