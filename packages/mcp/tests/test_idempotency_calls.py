"""Idempotency keys: the same call under the same key reaches its server once, whatever happens to the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from approval_cases import call_of, opened_desk
from sqlalchemy import update

from toolcrib_core import ArgumentError, ToolError, ToolRisk
from toolcrib_mcp.approvals import StateKey
from toolcrib_mcp.errors import (
    AuthRequired,
    GatewayError,
    RateLimited,
    ResultTooLarge,
    UpstreamMalformed,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from toolcrib_mcp.idempotency import META_KEY, META_REPLAYED, IdempotentCalls
from toolcrib_mcp.idempotency import calls as calls_module
from toolcrib_mcp.outward import outward, outward_code
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.call import GuardedCall
from toolcrib_runtime import MemoryLedger
from toolcrib_runtime.errors import ApprovalRequired, IdempotencyConflict, UnknownOutcome
from toolcrib_store import SqlLedger, Store
from toolcrib_store.tables import CALLS

KEY = "3f9a-1"
CANARY = "canary-51c0-result"
RESULT: dict[str, Any] = {
    "content": [{"type": "text", "text": "done"}],
    "structuredContent": {"big": 12345678901234567890123},
    "_meta": {"io.example/x": 1},
}
READS = ToolRisk(effects="read")


class Effects:
    """A server, as far as it is seen from here: what it did, and how it answers."""

    def __init__(self, *answers: dict[str, Any] | BaseException) -> None:
        self.count = 0
        self._answers = list(answers) or [RESULT]

    async def __call__(self) -> dict[str, Any]:
        self.count += 1
        answer = self._answers[min(self.count, len(self._answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return dict(answer)


class Held(Effects):
    """One that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> dict[str, Any]:
        result = await super().__call__()
        self.begun.set()
        await self.go.wait()
        return result


def keyed(arguments: Any = None, *, key: Any = KEY, **options: Any) -> GuardedCall:
    return call_of({"disk": "sda"} if arguments is None else arguments, meta={META_KEY: key}, **options)


@pytest.fixture
def key() -> StateKey:
    return StateKey()


@pytest.fixture(params=["memory", "database"])
def calls(request: pytest.FixtureRequest, tmp_path: Path, key: StateKey) -> Iterator[IdempotentCalls]:
    if request.param == "memory":
        yield IdempotentCalls(MemoryLedger(), key)
        return
    with opened_desk(tmp_path) as desk:
        ledger = SqlLedger(desk.store)
        yield IdempotentCalls(ledger, key)
        ledger.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened_desk(tmp_path) as desk:
        yield desk.store


def files_with_canary(directory: Path) -> list[str]:
    return [each.name for each in directory.rglob("*") if each.is_file() and CANARY.encode() in each.read_bytes()]


async def ended(calls: IdempotentCalls, call: GuardedCall, effects: Effects) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await calls.run(call, effects)
    return caught.value


async def test_without_a_key_every_call_is_made(calls: IdempotentCalls) -> None:
    effects = Effects()

    for _ in range(2):
        assert await calls.run(call_of(), effects) == RESULT

    assert effects.count == 2


async def test_the_same_call_under_its_key_is_made_once_and_answered_the_same(calls: IdempotentCalls) -> None:
    effects = Effects()

    first = await calls.run(keyed(), effects)
    again = await calls.run(keyed(), effects)

    assert effects.count == 1
    assert first == RESULT
    assert again == {**RESULT, "_meta": {"io.example/x": 1, META_REPLAYED: True}}


async def test_that_the_tool_failed_is_answered_the_same_too(calls: IdempotentCalls) -> None:
    effects = Effects({"content": [], "isError": True, "_meta": None})

    await calls.run(keyed(), effects)
    again = await calls.run(keyed(), effects)

    assert (effects.count, again["isError"], again["_meta"]) == (1, True, {META_REPLAYED: True})


async def test_other_arguments_under_the_key_are_refused(calls: IdempotentCalls) -> None:
    effects = Effects()
    await calls.run(keyed(), effects)

    error = await ended(calls, keyed({"disk": "sdb"}), effects)

    assert isinstance(error, IdempotencyConflict)
    assert outward_code(error) == "ARGS_INVALID"
    assert effects.count == 1


@pytest.mark.req("GW-8.5")
@pytest.mark.parametrize("other", [{"principal": "bob"}, {"tool": {"name": "format"}}, {"key": "another"}])
async def test_a_key_belongs_to_one_principal_and_one_tool(calls: IdempotentCalls, other: dict[str, Any]) -> None:
    effects = Effects()
    await calls.run(keyed(principal="ann"), effects)

    result = await calls.run(keyed(**{"principal": "ann", **other}), effects)

    assert effects.count == 2
    assert META_REPLAYED not in result["_meta"]


@pytest.mark.req("CT-28", "GW-8.5")
async def test_tools_whose_ids_differ_in_their_hash_alone_have_keys_of_their_own(calls: IdempotentCalls) -> None:
    effects = Effects()
    one, other = (keyed(tool={"name": each}) for each in ("box.wipe", "wipe"))
    await calls.run(one, effects)

    await calls.run(other, effects)

    assert {each.tool.definition.name for each in (one, other)} == {"wipe"}
    assert effects.count == 2


async def test_an_edit_of_the_description_makes_no_other_call(calls: IdempotentCalls) -> None:
    effects = Effects()
    for text in ("one", "two"):
        await calls.run(keyed(tool={"name": "wipe", "description": text}), effects)

    assert effects.count == 1


@pytest.mark.parametrize("key_given", ["", "x" * 201, "a\nb", 7, True, {}, []])
async def test_a_key_that_is_none_is_refused_before_anything_runs(calls: IdempotentCalls, key_given: object) -> None:
    effects = Effects()

    assert isinstance(await ended(calls, keyed(key=key_given), effects), ArgumentError)
    assert effects.count == 0


async def test_calls_that_come_while_the_first_runs_wait_for_its_result(calls: IdempotentCalls) -> None:
    held = Held()
    running = [asyncio.create_task(calls.run(keyed(), held)) for _ in range(50)]
    async with asyncio.timeout(60):
        await held.begun.wait()
        held.go.set()
        results = await asyncio.gather(*running)

    assert held.count == 1
    assert sum(META_REPLAYED in each["_meta"] for each in results) == 49


@pytest.mark.parametrize("risk", [None, READS])
async def test_who_cannot_wait_longer_is_told_to_ask_again(key: StateKey, risk: ToolRisk | None) -> None:
    ledger = MemoryLedger()
    patient, hasty = IdempotentCalls(ledger, key), IdempotentCalls(ledger, key, patience=0.0)
    held = Held()
    running = asyncio.create_task(patient.run(keyed(risk=risk), held))
    await held.begun.wait()

    error = await ended(hasty, keyed(risk=risk), held)
    held.go.set()
    await running

    told = outward(error)
    assert (told["error"], told["retryable"], told["details"]) == ("OUTCOME_UNKNOWN", True, {"reason": "running"})
    assert (await patient.run(keyed(risk=risk), held))["_meta"][META_REPLAYED] is True
    assert held.count == 1


LOST = [
    UnknownOutcome("nobody knows"),
    UpstreamTimeout("too slow"),
    UpstreamUnavailable("gone", details={"sent": True}),
    ZeroDivisionError(),
]


@pytest.mark.fault("F2")
@pytest.mark.parametrize("lost", LOST, ids=lambda each: type(each).__name__)
async def test_a_call_whose_answer_was_lost_is_never_run_again(calls: IdempotentCalls, lost: BaseException) -> None:
    effects = Effects(lost, RESULT)
    with pytest.raises(type(lost)):
        await calls.run(keyed(), effects)

    for _ in range(3):
        error = await ended(calls, keyed(), effects)
        assert outward(error)["error"] == "OUTCOME_UNKNOWN"
        assert error.retryable is False

    assert effects.count == 1


@pytest.mark.parametrize("risk", [READS, ToolRisk(effects="write", idempotent=True)])
async def test_a_tool_that_may_be_run_twice_is_run_again(calls: IdempotentCalls, risk: ToolRisk) -> None:
    effects = Effects(UpstreamTimeout("too slow"), RESULT)
    await ended(calls, keyed(risk=risk), effects)

    assert await calls.run(keyed(risk=risk), effects) == RESULT


OPEN: list[ToolError | RpcError] = [
    UpstreamUnavailable("not started", details={"sent": False}),
    UpstreamTimeout("did not start", details={"sent": False}),
    RateLimited("later"),
    AuthRequired("a key is needed", retryable=True),
    RpcError(-32042, "visit this page", {"elicitations": []}),
]


@pytest.mark.parametrize("error", OPEN, ids=lambda each: type(each).__name__)
async def test_a_call_that_was_surely_not_made_can_be_made_under_its_key(
    calls: IdempotentCalls, error: ToolError | RpcError
) -> None:
    effects = Effects(error, RESULT)
    with pytest.raises(type(error)):
        await calls.run(keyed(), effects)

    assert META_REPLAYED not in (await calls.run(keyed(), effects))["_meta"]


ANSWERED: list[ToolError | RpcError] = [
    GatewayError("no such issue", code="UPSTREAM_ERROR", details={"rpcCode": -32000}),
    ResultTooLarge("too large"),
    UpstreamMalformed("no JSON"),
    RpcError(-32602, "Invalid params", {"why": [1]}),
]


@pytest.mark.parametrize("error", ANSWERED, ids=lambda each: type(each).__name__)
async def test_what_the_server_answered_is_answered_again_also_if_it_was_an_error(
    calls: IdempotentCalls, error: ToolError | RpcError
) -> None:
    effects = Effects(error, RESULT)
    ends: list[Any] = []
    for _ in range(2):
        with pytest.raises((ToolError, RpcError)) as caught:
            await calls.run(keyed(), effects)
        ends.append(caught.value)

    first, again = ends
    assert effects.count == 1
    if isinstance(error, RpcError):
        assert (again.code, again.message, again.data) == (error.code, error.message, error.data)
    else:
        assert outward(first) == outward(again)


async def test_a_server_that_asks_is_answered_under_the_same_key(calls: IdempotentCalls) -> None:
    effects = Effects({"resultType": "input_required", "requestState": "s"}, RESULT)

    await calls.run(keyed(), effects)
    result = await calls.run(keyed(requestState="s", inputResponses={}), effects)
    again = await calls.run(keyed(), effects)

    assert (effects.count, result, META_REPLAYED in again["_meta"]) == (2, RESULT, True)


@pytest.mark.fault("F16")
async def test_a_call_that_its_client_gave_up_is_not_run_again(calls: IdempotentCalls) -> None:
    held = Held()
    running = asyncio.create_task(calls.run(keyed(), held))
    await held.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert isinstance(await ended(calls, keyed(), held), UnknownOutcome)
    assert held.count == 1


# What is to be done before


async def test_what_is_to_be_done_first_is_done_for_a_call_that_is_made_and_for_no_other(
    calls: IdempotentCalls,
) -> None:
    effects, asked = Effects(), Effects()

    async def first() -> None:
        await asked()

    for _ in range(2):
        await calls.run(keyed(), effects, first=first)
    await calls.run(call_of(), effects, first=first)

    assert (effects.count, asked.count) == (2, 2)


@pytest.mark.parametrize("make", [keyed, call_of])
async def test_a_question_before_a_call_leaves_its_key_free(calls: IdempotentCalls, make: Any) -> None:
    effects = Effects()

    async def first() -> dict[str, Any]:
        return {"resultType": "input_required"}

    assert await calls.run(make(), effects, first=first) == {"resultType": "input_required"}
    assert effects.count == 0
    assert META_REPLAYED not in (await calls.run(make(), effects))["_meta"]


@pytest.mark.parametrize("end", [ApprovalRequired("somebody must"), asyncio.CancelledError(), ZeroDivisionError()])
async def test_whatever_ends_a_call_before_it_is_made_leaves_its_key_free(
    calls: IdempotentCalls, end: BaseException
) -> None:
    effects = Effects()

    async def first() -> None:
        raise end

    with pytest.raises(type(end)):
        await calls.run(keyed(), effects, first=first)

    assert effects.count == 0
    await calls.run(keyed(), effects)
    assert effects.count == 1


# What is kept


@pytest.mark.req("GW-8.6")
@pytest.mark.fault("F18")
async def test_what_is_kept_of_results_can_be_read_in_no_file(store: Store, key: StateKey, tmp_path: Path) -> None:
    ledger = SqlLedger(store)
    calls = IdempotentCalls(ledger, key)
    await calls.run(keyed(), Effects({"content": [{"type": "text", "text": CANARY}]}))
    ledger.close()

    assert files_with_canary(tmp_path) == []


async def test_a_large_result_is_remembered_as_done_without_what_it_said(key: StateKey) -> None:
    calls = IdempotentCalls(MemoryLedger(), key, max_kept=1_000)
    effects = Effects({"content": [{"type": "text", "text": "x" * 2_000}]})

    await calls.run(keyed(), effects)
    error = await ended(calls, keyed(), effects)

    told = outward(error)
    assert (told["error"], told["retryable"]) == ("RESULT_TOO_LARGE", False)
    assert "the work is done" in told["hint"]
    assert effects.count == 1


async def test_results_survive_a_restart_and_a_call_that_was_under_way_is_unknown(tmp_path: Path) -> None:
    effects, held = Effects(), Held()
    with opened_desk(tmp_path) as before:
        ledger = SqlLedger(before.store)
        calls = IdempotentCalls(ledger, before.key)
        await calls.run(keyed(), effects)
        running = asyncio.create_task(calls.run(keyed(key="2"), held))
        await held.begun.wait()
        # As if the process were killed: nobody records an end, and nobody renews the lease.
        ledger.close()
        before.clock.turn(60)
        with opened_desk(tmp_path, clock=before.clock) as after:
            again = SqlLedger(after.store)
            calls = IdempotentCalls(again, after.key)
            assert (await calls.run(keyed(), effects))["_meta"][META_REPLAYED] is True
            assert isinstance(await ended(calls, keyed(key="2"), held), UnknownOutcome)
            again.close()
        held.go.set()
        await running

    assert (effects.count, held.count) == (1, 1)


async def test_a_result_sealed_under_another_key_is_told_as_unreadable_and_not_run_again() -> None:
    ledger, effects = MemoryLedger(), Effects()
    await IdempotentCalls(ledger, StateKey()).run(keyed(), effects)

    error = await ended(IdempotentCalls(ledger, StateKey()), keyed(), effects)

    assert isinstance(error, UnknownOutcome)
    assert "can no longer be read" in error.message
    assert effects.count == 1


async def test_a_result_that_was_moved_to_another_call_is_not_given_out(store: Store, key: StateKey) -> None:
    ledger = SqlLedger(store)
    calls = IdempotentCalls(ledger, key)
    await calls.run(keyed(key="1"), Effects())
    with store.reading() as connection:
        (record,) = connection.execute(CALLS.select()).mappings()
    await calls.run(keyed(key="2"), Effects())
    with store.writing() as connection:
        connection.execute(update(CALLS).where(CALLS.c.key != record["key"]).values(record=record["record"]))

    await ended(calls, keyed(key="2"), Effects())
    ledger.close()


class Failing(MemoryLedger):
    """A ledger whose disk is full when a call ends."""

    async def finish(self, key: str, record: bytes) -> None:
        raise OSError("no space left")


class Slow(MemoryLedger):
    """A ledger that never comes to an end."""

    async def finish(self, key: str, record: bytes) -> None:
        await asyncio.Event().wait()


@pytest.mark.parametrize("kind", [Failing, Slow])
async def test_a_ledger_that_fails_at_the_end_changes_nothing_about_the_result(
    kind: type[MemoryLedger], key: StateKey, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_module, "_END_SECONDS", 0.05)
    calls = IdempotentCalls(kind(), key, patience=0.0)

    with caplog.at_level(logging.ERROR, "toolcrib.mcp"):
        assert await calls.run(keyed(), Effects()) == RESULT

    assert "was not recorded" in caplog.text
    assert isinstance(await ended(calls, keyed(), Effects()), UnknownOutcome)


async def test_a_call_that_is_stopped_while_its_end_is_recorded_has_its_end_recorded(key: StateKey) -> None:
    class Gated(MemoryLedger):
        begun, go = asyncio.Event(), asyncio.Event()

        async def finish(self, key: str, record: bytes) -> None:
            self.begun.set()
            await self.go.wait()
            await super().finish(key, record)

    ledger, effects = Gated(), Effects()
    calls = IdempotentCalls(ledger, key)
    running = asyncio.create_task(calls.run(keyed(), effects))
    await ledger.begun.wait()
    running.cancel()
    await asyncio.sleep(0)
    ledger.go.set()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert (await calls.run(keyed(), effects))["_meta"][META_REPLAYED] is True
    assert effects.count == 1
