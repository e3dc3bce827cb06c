"""The desk: an approval that comes with a call, is asked for through the client, or was given at the command line."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from approval_cases import (
    DISK,
    FORMS,
    NO,
    POLICY,
    REASON,
    WIPE,
    YES,
    Desk,
    call_of,
    hydrated,
    modern,
    opened_desk,
)
from toolbox_cases import RecordingChannel

from toolcrib_core import NotJson
from toolcrib_mcp.approvals import STATE_PREFIX, ApprovalDesk, StateKey, without_approval
from toolcrib_mcp.approvals import book as book_module
from toolcrib_mcp.approvals.continuing import Continuations
from toolcrib_mcp.approvals.subjects import subject_of
from toolcrib_mcp.outward import outward
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import Era
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired, NotPermitted
from toolcrib_runtime.policy.approvals import Approvals

META = "io.toolcrib/approval"
BOTH = pytest.mark.parametrize("era", [Era.HANDSHAKE, Era.MODERN])
UNDECIDED: list[Any] = [{"action": "cancel"}, {"action": "accept", "content": {"answer": "maybe"}}, {}, None]
CHANGED = {**WIPE, "description": "Deletes everything, and tells nobody."}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        yield opened


async def required(desk: Desk, call: Any, **options: Any) -> ApprovalRequired:
    with pytest.raises(ApprovalRequired) as caught:
        await desk.clear(call, **options)
    return caught.value


async def refused(desk: Desk, call: Any, **options: Any) -> object:
    with pytest.raises(ApprovalRefused) as caught:
        await desk.clear(call, **options)
    return caught.value.details["reason"]


async def waiting_id(desk: Desk, call: Any = None, **options: Any) -> str:
    error = await required(desk, call or call_of(), **options)
    return desk.book.question(str(error.details["approvalId"])).id


def again(state: object, answer: object = YES, arguments: Any = DISK, **options: Any) -> Any:
    return modern(arguments, requestState=state, inputResponses={"approval": answer}, **options)


async def state_of(desk: Desk, **options: Any) -> str:
    return str((await desk.asked(modern(**options)))["requestState"])


def granted_token(desk: Desk, call: Any, *, policy: str = POLICY) -> str:
    approvals = desk.book.approvals
    pending = approvals.request(subject_of(call, policy_version=policy), reason=REASON, summary="x")
    return approvals.grant(pending, by="ann")


# Clients that cannot ask


@pytest.mark.req("GW-8.4")
@BOTH
async def test_a_client_that_cannot_ask_is_told_how_a_person_can_allow_the_call(desk: Desk, era: Era) -> None:
    channel = RecordingChannel(answer=YES)

    error = await required(desk, call_of(era=era, channel=channel))

    told = outward(error)
    assert told["error"] == "APPROVAL_REQUIRED"
    assert told["retryable"] is False
    assert REASON in told["message"]
    assert told["details"]["reason"] == REASON
    assert told["details"]["expiresAt"] == "1970-01-12T14:46:40+00:00"
    assert f"`toolcrib approvals grant {told['details']['approvalId']}`" in told["hint"]
    assert "you cannot do it yourself" in told["hint"]
    assert "same call again" in told["hint"]
    assert channel.asked == []


@pytest.mark.req("GW-8.4")
async def test_what_a_client_is_told_gives_no_right_by_itself(desk: Desk) -> None:
    error = await required(desk, call_of())

    assert error.pending is None
    assert "seal" not in json.dumps(outward(error))


async def test_asking_again_for_the_same_call_is_the_same_question(desk: Desk) -> None:
    first = await waiting_id(desk)
    desk.clock.turn(60)

    assert await waiting_id(desk) == first
    assert await waiting_id(desk, call_of({"disk": "sdb"})) != first
    assert len(desk.book.questions()) == 2


@pytest.mark.req("GW-8.4")
async def test_a_grant_at_the_command_line_lets_exactly_one_call_pass(desk: Desk) -> None:
    asked = await waiting_id(desk)

    desk.book.grant(asked, by="ann")
    cleared = await desk.cleared(call_of())

    assert (cleared.approval_id, cleared.by) == (asked, "ann")
    assert desk.book.questions() == []
    assert await waiting_id(desk) != asked


@pytest.mark.req("GW-8.4")
@pytest.mark.req("GW-8.5")
@pytest.mark.parametrize(
    "other",
    [
        {"arguments": {"disk": "sdb"}},
        {"arguments": {}},
        {"principal": "bob"},
        {"tool": {**WIPE, "name": "format"}},
        {"tool": CHANGED},
    ],
    ids=["arguments", "no arguments", "principal", "tool", "definition"],
)
async def test_a_grant_is_for_nothing_but_the_call_it_was_given_for(desk: Desk, other: dict[str, Any]) -> None:
    asked = await waiting_id(desk, call_of(principal="ann"))
    desk.book.grant(asked, by="ann")

    await required(desk, call_of(**{"principal": "ann", **other}))

    assert (await desk.cleared(call_of(principal="ann"))).approval_id == asked


async def test_a_grant_under_other_rules_counts_no_more(desk: Desk) -> None:
    desk.book.grant(await waiting_id(desk), by="ann")

    await required(desk, call_of(), policy="p2")


async def test_the_order_of_keys_makes_no_other_call(desk: Desk) -> None:
    asked = await waiting_id(desk, call_of({"a": 1, "b": 2.0}))

    assert await waiting_id(desk, call_of({"b": 2, "a": 1})) == asked


@pytest.mark.req("GW-8.4")
async def test_a_grant_has_an_end(desk: Desk) -> None:
    asked = await waiting_id(desk)
    desk.book.grant(asked, by="ann")

    desk.clock.turn(3_601)

    assert await waiting_id(desk) != asked


async def test_a_clock_that_is_set_back_brings_nothing_to_life(desk: Desk) -> None:
    desk.book.grant(await waiting_id(desk), by="ann")
    desk.clock.turn(3_601)
    desk.book.questions()
    desk.clock.turn(-3_601)

    await required(desk, call_of())


@pytest.mark.req("GW-8.4")
@pytest.mark.parametrize("capabilities", [{}, FORMS])
async def test_a_no_at_the_command_line_is_remembered_until_its_time_is_over(
    desk: Desk, capabilities: dict[str, Any]
) -> None:
    desk.book.deny(await waiting_id(desk), by="ann")

    channel = RecordingChannel(answer=YES)
    for _ in range(2):
        with pytest.raises(NotPermitted) as caught:
            await desk.clear(call_of(capabilities=capabilities, channel=channel))
        assert caught.value.details["reason"] == "declined"
    assert channel.asked == []

    desk.clock.turn(3_601)
    await required(desk, call_of())


@pytest.mark.req("GW-8.4")
async def test_everything_survives_a_restart(tmp_path: Path) -> None:
    with opened_desk(tmp_path) as before:
        asked = await waiting_id(before)
        state = await state_of(before)
    with opened_desk(tmp_path) as between:
        assert between.book.grant(asked, by="ann").state == "granted"
    with opened_desk(tmp_path) as after:
        assert (await after.cleared(call_of())).approval_id == asked
        await after.cleared(again(state))
    with opened_desk(tmp_path) as last:
        assert await refused(last, again(state)) == "spent"
        await required(last, call_of())


@pytest.mark.fault("K12")
async def test_questions_of_one_principal_are_bounded(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_WAITING", 3)
    kept = [await waiting_id(desk, call_of({"disk": str(each)}, principal="ann")) for each in range(3)]

    error = await required(desk, call_of({"disk": "3"}, principal="ann"))

    assert "approvalId" not in error.details
    assert "too many calls wait" in str(error.hint)
    assert await waiting_id(desk, call_of({"disk": "3"}, principal="bob"))
    assert await waiting_id(desk, call_of({"disk": "0"}, principal="ann")) == kept[0]
    desk.book.deny(kept[0], by="x")
    assert await waiting_id(desk, call_of({"disk": "3"}, principal="ann"))


async def test_questions_are_bounded_in_all(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book_module, "MAX_WAITING_IN_ALL", 2)
    for each in ("ann", "bob"):
        await waiting_id(desk, call_of(principal=each))

    assert "approvalId" not in (await required(desk, call_of(principal="eve"))).details


async def test_a_call_too_large_to_look_at_is_not_kept(desk: Desk) -> None:
    error = await required(desk, call_of({"disk": "x" * 300_000}))

    assert "too large to be shown" in str(error.hint)
    assert desk.book.questions() == []


async def test_without_a_place_to_keep_questions_none_is_kept(desk: Desk) -> None:
    homeless = ApprovalDesk(desk.book, command=None)

    with pytest.raises(ApprovalRequired) as caught:
        await homeless.clear(call_of(), reason=REASON, policy_version=POLICY)

    assert "it can be kept nowhere" in str(caught.value.hint)
    assert desk.book.questions() == []


async def test_arguments_that_have_no_form_of_their_own_are_refused(desk: Desk) -> None:
    with pytest.raises(NotJson):
        await desk.clear(call_of({"disk": 2**70}))


# Approvals that come with the call


@pytest.mark.req("GW-8.4")
@BOTH
async def test_a_token_in_the_request_is_taken_once_and_goes_no_further(desk: Desk, era: Era) -> None:
    token = granted_token(desk, call_of())

    cleared = await desk.cleared(call_of(era=era, meta={META: token, "progressToken": 1}))

    assert cleared.request.params["_meta"] == {"progressToken": 1}
    assert cleared.by == "ann"
    assert await refused(desk, call_of(era=era, meta={META: token})) == "spent"


@pytest.mark.req("GW-8.4")
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"arguments": {"disk": "sdb"}}, "other-arguments"),
        ({"principal": "bob"}, "other-principal"),
        ({"tool": {**WIPE, "name": "format"}}, "other-tool"),
        ({"tool": CHANGED}, "changed-definition"),
    ],
)
async def test_a_token_for_another_call_is_refused_with_the_reason_and_stays_unused(
    desk: Desk, changed: dict[str, Any], reason: str
) -> None:
    token = granted_token(desk, call_of(principal="ann"))

    assert await refused(desk, call_of(**{"principal": "ann", **changed}, meta={META: token})) == reason
    await desk.cleared(call_of(principal="ann", meta={META: token}))


async def test_a_token_of_other_rules_or_another_time_is_refused(desk: Desk) -> None:
    token = granted_token(desk, call_of())

    assert await refused(desk, call_of(meta={META: token}), policy="p2") == "changed-policy"
    desk.clock.turn(3_601)
    assert await refused(desk, call_of(meta={META: token})) == "expired"


@pytest.mark.req("GW-8.4")
@pytest.mark.parametrize("token", ["", "yes", 7, True, {}, [], "tcap1.e30." + "A" * 43, "a" * 9_000])
async def test_a_guessed_token_is_refused(desk: Desk, token: object) -> None:
    assert await refused(desk, call_of(meta={META: token})) in {"malformed", "signature"}


@pytest.mark.req("GW-8.4")
async def test_a_token_of_another_key_or_an_edited_one_is_refused(desk: Desk, tmp_path: Path) -> None:
    token = granted_token(desk, call_of())
    stranger = Approvals(b"x" * 32)
    pending = stranger.request(subject_of(call_of(), policy_version=POLICY), reason="r", summary="s")
    head, payload, mac = token.split(".")
    grant = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    later = urlsafe_b64encode(json.dumps({**grant, "expiresAt": 9e12}).encode()).decode().rstrip("=")

    for forged in (stranger.grant(pending, by="eve"), f"{head}.{later}.{mac}", token[:-2]):
        assert await refused(desk, call_of(meta={META: forged})) in {"signature", "malformed"}


# Clients of the handshake era that can ask


@pytest.mark.req("GW-8.4")
async def test_a_client_of_the_handshake_era_is_asked_while_its_call_waits(desk: Desk) -> None:
    channel = RecordingChannel(answer=YES)

    cleared = await desk.cleared(call_of(capabilities=FORMS, channel=channel))

    assert cleared.by == "the user of tester"
    [(method, params)] = channel.asked
    assert method == "elicitation/create"
    assert "`box:wipe" in params["message"]
    assert "Wipe a disk" not in params["message"]
    assert "on the server `box`" in params["message"]
    assert REASON in params["message"]
    assert '{"disk":"sda"}' in params["message"]
    assert desk.book.questions() == []


@pytest.mark.parametrize("answer", [NO, {"action": "accept", "content": {"answer": "no"}}])
async def test_a_no_through_the_client_is_a_no(desk: Desk, answer: dict[str, Any]) -> None:
    with pytest.raises(NotPermitted):
        await desk.clear(call_of(capabilities=FORMS, channel=RecordingChannel(answer=answer)))


@pytest.mark.parametrize("answer", [*UNDECIDED, RpcError(-32001, "no answer in time")])
async def test_who_does_not_decide_when_asked_can_decide_at_the_command_line(desk: Desk, answer: Any) -> None:
    channel = RecordingChannel(answer=answer)

    asked = await waiting_id(desk, call_of(capabilities=FORMS, channel=channel))
    desk.book.grant(asked, by="ann")
    cleared = await desk.cleared(call_of(capabilities=FORMS, channel=channel))

    assert cleared.approval_id == asked
    assert len(channel.asked) == 1


async def test_every_call_of_the_handshake_era_is_asked_about_by_itself(desk: Desk) -> None:
    channel = RecordingChannel(answer=YES)

    for _ in range(2):
        await desk.cleared(call_of(capabilities=FORMS, channel=channel))

    assert len(channel.asked) == 2


async def test_a_client_of_the_handshake_era_cannot_bring_an_answer_of_the_other(desk: Desk) -> None:
    state = await state_of(desk)

    await required(desk, again(state, era=Era.HANDSHAKE, capabilities={}))


# Modern clients that can ask


@pytest.mark.req("GW-8.4")
async def test_a_modern_client_gets_the_question_and_calls_again_with_the_answer(desk: Desk) -> None:
    result = await desk.asked(modern())

    cleared = await desk.cleared(again(result["requestState"], principal=None))

    assert result["resultType"] == "input_required"
    assert result["inputRequests"]["approval"]["params"]["mode"] == "form"
    assert result["requestState"].startswith(STATE_PREFIX)
    assert set(cleared.request.params) == {"name", "arguments"}
    assert await refused(desk, again(result["requestState"])) == "spent"


@pytest.mark.req("GW-8.4")
@pytest.mark.req("GW-8.5")
@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"arguments": {"disk": "sdb"}}, "other-arguments"),
        ({"principal": "bob"}, "other-principal"),
        ({"tool": CHANGED}, "changed-definition"),
    ],
)
async def test_an_answer_is_bound_to_the_exact_call(desk: Desk, other: dict[str, Any], reason: str) -> None:
    state = await state_of(desk, principal="ann")

    assert await refused(desk, again(state, **{"principal": "ann", **other})) == reason


async def test_a_modern_no_is_a_no(desk: Desk) -> None:
    state = await state_of(desk)

    with pytest.raises(NotPermitted):
        await desk.clear(again(state, NO))


@pytest.mark.parametrize("answer", [*UNDECIDED, "yes"])
async def test_a_modern_client_that_did_not_decide_is_not_asked_without_end(desk: Desk, answer: object) -> None:
    state = await state_of(desk)

    assert await waiting_id(desk, again(state, answer))


@pytest.mark.parametrize("state", ["", "?", "bnVsbA==", "e30=", "a" * 9_000, "ö"])
async def test_a_state_of_ours_that_is_none_is_refused(desk: Desk, state: str) -> None:
    with pytest.raises(RpcError) as caught:
        await desk.clear(again(STATE_PREFIX + state))

    assert caught.value.code == -32602


@pytest.mark.parametrize("change", [{"argumentsDigest": "0" * 64}, {"expiresAt": 9e12}, {"principal": "x"}])
async def test_a_state_that_was_changed_on_its_way_grants_nothing(desk: Desk, change: dict[str, Any]) -> None:
    state = json.loads(urlsafe_b64decode((await state_of(desk)).removeprefix(STATE_PREFIX)))

    forged = STATE_PREFIX + urlsafe_b64encode(json.dumps({**state, **change}).encode()).decode()

    assert await refused(desk, again(forged)) == "signature"


async def test_an_answer_that_comes_too_late_grants_nothing(desk: Desk) -> None:
    state = await state_of(desk)
    desk.clock.turn(3_601)

    assert await refused(desk, again(state)) == "expired"


async def test_a_grant_at_the_command_line_counts_for_a_modern_client_too(desk: Desk) -> None:
    asked = await waiting_id(desk, call_of())
    desk.book.grant(asked, by="ann")

    assert (await desk.cleared(modern())).approval_id == asked


# What the server asks after an approval


STATE = "the server's own"


@pytest.mark.req("GW-8.4")
@pytest.mark.parametrize("state", [STATE, None])
async def test_the_answer_to_a_question_of_the_server_needs_no_second_approval(desk: Desk, state: str | None) -> None:
    asked = {"resultType": "input_required", "inputRequests": {}} | ({} if state is None else {"requestState": state})
    given: dict[str, Any] = {"inputResponses": {"q": {}}} | ({} if state is None else {"requestState": state})
    await desk.desk.note_question(call_of(), asked)

    cleared = await desk.cleared(modern(**given))

    assert cleared.approval_id is None
    assert cleared.request.params["inputResponses"] == {"q": {}}
    assert isinstance(await desk.asked(modern(**given)), dict)


@pytest.mark.parametrize(
    "other",
    [
        {"requestState": "guessed"},
        {"requestState": 7},
        {"arguments": {"disk": "sdb"}},
        {"principal": "bob"},
        {"tool": CHANGED},
    ],
    ids=str,
)
async def test_a_state_of_another_call_or_a_forged_one_needs_approval(desk: Desk, other: dict[str, Any]) -> None:
    await desk.desk.note_question(call_of(), {"resultType": "input_required", "requestState": STATE})

    await desk.asked(modern(**{"requestState": STATE, **other}))


async def test_a_plain_result_opens_no_way_around_approval(desk: Desk) -> None:
    await desk.desk.note_question(call_of(), {"content": [], "requestState": STATE})

    await desk.asked(modern(requestState=STATE))


async def test_what_a_server_asked_is_forgotten_in_time_and_bounded_in_number() -> None:
    now = [0.0]
    continuations = Continuations(seconds=10, now=lambda: now[0], limit=2)
    for each in ("a", "b", "b", "c"):
        continuations.remember(call_of(), each)

    assert len(continuations) == 2
    assert not continuations.take(call_of(), {"requestState": "a"})
    assert continuations.take(call_of(), {"requestState": "b"})
    now[0] = 10.0
    assert not continuations.take(call_of(), {"requestState": "c"})


async def test_a_state_of_the_server_goes_on_with_a_call_that_somebody_allowed_elsewhere(desk: Desk) -> None:
    asked = await waiting_id(desk, call_of(requestState=STATE, inputResponses={}))
    desk.book.grant(asked, by="ann")

    cleared = await desk.cleared(call_of(requestState=STATE, inputResponses={}))

    assert cleared.request.params["requestState"] == STATE


def test_a_request_without_anything_for_us_goes_on_as_it_is() -> None:
    request = call_of(requestState=STATE, meta={"a": 1}).request

    assert without_approval(request) is request


def test_an_answer_of_ours_without_responses_leaves_nothing_either() -> None:
    assert "requestState" not in without_approval(call_of(requestState=f"{STATE_PREFIX}x").request).params


# Races


@pytest.mark.req("GW-8.4")
async def test_of_200_equal_calls_at_once_exactly_one_uses_a_grant(desk: Desk) -> None:
    asked = await waiting_id(desk)
    desk.book.grant(asked, by="ann")

    async with asyncio.timeout(120):
        ends = await asyncio.gather(*(desk.clear(call_of()) for _ in range(200)), return_exceptions=True)

    passed = [each for each in ends if not isinstance(each, BaseException)]
    names = {str(each.details["approvalId"]) for each in ends if isinstance(each, ApprovalRequired)}
    waiting = {desk.book.question(each).id for each in names}
    assert len(passed) == 1
    assert sum(isinstance(each, ApprovalRequired) for each in ends) == 199
    assert len(waiting - {asked}) == 1
    assert [each.state for each in desk.book.questions()] == ["waiting"]


async def test_of_many_that_bring_one_answer_at_once_one_passes(desk: Desk) -> None:
    state = await state_of(desk)

    ends = await asyncio.gather(*(desk.clear(again(state)) for _ in range(20)), return_exceptions=True)

    assert sum(not isinstance(each, BaseException) for each in ends) == 1


async def test_two_processes_that_take_one_grant_are_one_that_gets_it(tmp_path: Path) -> None:
    with opened_desk(tmp_path) as here, opened_desk(tmp_path) as there:
        for _ in range(5):
            here.book.grant(await waiting_id(here), by="ann")
            ends = await asyncio.gather(here.clear(call_of()), there.clear(call_of()), return_exceptions=True)
            assert sum(not isinstance(each, BaseException) for each in ends) == 1


async def test_a_grant_whose_approval_was_used_while_the_process_died_is_not_used_again(desk: Desk) -> None:
    asked = await waiting_id(desk)
    granted = desk.book.grant(asked, by="ann")
    assert granted.token is not None
    await desk.book.approvals.redeem(granted.token, subject_of(call_of(), policy_version=POLICY))

    assert await waiting_id(desk) != asked


async def test_a_row_that_was_made_a_grant_by_hand_grants_nothing(desk: Desk) -> None:
    from sqlalchemy import update

    from toolcrib_mcp.approvals.tables import QUESTIONS

    await waiting_id(desk)
    with desk.store.writing() as connection:
        connection.execute(update(QUESTIONS).values(state="granted", decided_by="eve"))

    await required(desk, call_of())


async def test_what_was_decided_while_the_question_was_being_kept_counts(desk: Desk) -> None:
    asked = await waiting_id(desk)
    find = desk.book.find

    def decided_meanwhile(subject: Any) -> Any:
        found = find(subject)
        desk.book.deny(asked, by="ann")
        return found

    desk.book.find = decided_meanwhile  # type: ignore[method-assign]  # the moment between two transactions
    with pytest.raises(NotPermitted):
        await desk.clear(call_of())


def test_a_key_in_memory_is_one_of_its_own() -> None:
    assert StateKey().derived("a") != StateKey().derived("a")
    assert hydrated().digest
