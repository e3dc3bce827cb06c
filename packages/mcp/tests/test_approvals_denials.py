"""A denial ends every question about the call that was asked until then, wherever an older one was answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from approval_cases import FORMS, NO, POLICY, REASON, YES, Desk, call_of, modern, opened_desk
from toolbox_cases import RecordingChannel

from toolcrib_mcp.approvals.subjects import subject_of
from toolcrib_mcp.relay.questions import INPUT_REQUIRED
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired, NotPermitted
from toolcrib_runtime.policy.approval_tokens import Grant

META = "io.toolcrib/approval"

pytestmark = pytest.mark.fault("K16")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        yield opened


async def state_of(desk: Desk) -> object:
    return (await desk.asked(modern()))["requestState"]


def answer(state: object, said: object = YES) -> Any:
    return modern(requestState=state, inputResponses={"approval": said})


async def kept_id(desk: Desk) -> str:
    with pytest.raises(ApprovalRequired) as caught:
        await desk.clear(call_of())
    return desk.book.question(str(caught.value.details["approvalId"])).id


def token_for(desk: Desk) -> str:
    approvals = desk.book.approvals
    pending = approvals.request(subject_of(call_of(), policy_version=POLICY), reason=REASON, summary="x")
    return approvals.grant(pending, by="ann")


async def denied(desk: Desk, call: Any) -> None:
    with pytest.raises(NotPermitted) as caught:
        await desk.clear(call)
    assert caught.value.details["reason"] == "declined"


async def refused(desk: Desk, call: Any) -> object:
    with pytest.raises(ApprovalRefused) as caught:
        await desk.clear(call)
    return caught.value.details["reason"]


async def test_a_denial_at_the_command_line_ends_an_older_question_of_the_client(desk: Desk) -> None:
    state = await state_of(desk)

    desk.book.deny(await kept_id(desk), by="ann")

    await denied(desk, answer(state))


async def test_a_denial_at_the_command_line_ends_an_older_approval_in_the_request(desk: Desk) -> None:
    token = token_for(desk)

    desk.book.deny(await kept_id(desk), by="ann")

    await denied(desk, call_of(meta={META: token}))


async def test_an_older_question_stays_ended_when_the_time_of_the_denied_one_is_over(desk: Desk) -> None:
    asked = await kept_id(desk)
    desk.clock.turn(1_800)
    state = await state_of(desk)
    desk.book.deny(asked, by="ann")

    desk.clock.turn(1_801)

    assert await refused(desk, answer(state)) == "denied"
    await desk.cleared(answer(await state_of(desk)))


async def test_a_no_of_the_client_ends_its_other_questions_about_the_call(desk: Desk) -> None:
    first, second = await state_of(desk), await state_of(desk)

    await denied(desk, answer(first, NO))

    assert await refused(desk, answer(second)) == "denied"
    assert await refused(desk, answer(first)) == "denied"


async def test_a_no_of_the_client_ends_what_was_granted_at_the_command_line(desk: Desk) -> None:
    state = await state_of(desk)
    desk.book.grant(await kept_id(desk), by="ann")

    await denied(desk, answer(state, NO))

    with pytest.raises(ApprovalRequired):
        await desk.clear(call_of())


async def test_after_a_no_of_the_client_it_can_be_asked_again(desk: Desk) -> None:
    await denied(desk, answer(await state_of(desk), NO))
    desk.clock.turn(1)

    await desk.cleared(answer(await state_of(desk)))


async def test_a_denial_takes_back_what_was_granted_and_not_used(desk: Desk) -> None:
    asked = await kept_id(desk)
    token = desk.book.grant(asked, by="ann").token

    desk.book.deny(asked, by="bob")

    await denied(desk, call_of())
    await denied(desk, call_of(meta={META: token}))


async def test_a_denial_while_the_client_asks_holds(desk: Desk) -> None:
    asked = await kept_id(desk)

    class DenyingChannel(RecordingChannel):
        async def ask(self, *args: Any, **options: Any) -> Any:
            desk.book.deny(asked, by="ann")
            return await super().ask(*args, **options)

    assert await refused(desk, call_of(capabilities=FORMS, channel=DenyingChannel(answer=YES))) == "denied"


async def test_a_denial_while_an_approval_is_taken_holds(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, state, redeem = await kept_id(desk), await state_of(desk), desk.book.approvals.redeem

    class Approvals:
        grant = staticmethod(desk.book.approvals.grant)

        @staticmethod
        async def redeem(*args: Any) -> Grant:
            grant = await redeem(*args)
            desk.book.deny(asked, by="ann")
            return grant

    monkeypatch.setattr(desk.book, "approvals", Approvals)

    assert await refused(desk, answer(state)) == "denied"


async def test_a_denial_holds_for_a_call_that_a_server_asked_about(desk: Desk) -> None:
    asked = await kept_id(desk)
    call = modern()
    await desk.desk.note_question(call, {"resultType": INPUT_REQUIRED, "requestState": "s"})
    desk.book.deny(asked, by="ann")

    await denied(desk, modern(requestState="s", inputResponses={"q": YES}))


async def test_a_denial_is_for_the_exact_call_alone(desk: Desk) -> None:
    desk.book.deny(await kept_id(desk), by="ann")

    other = await desk.asked(modern({"disk": "sdb"}))

    await desk.cleared(modern({"disk": "sdb"}, requestState=other["requestState"], inputResponses={"approval": YES}))


async def test_denials_are_forgotten_with_the_questions_that_they_end(desk: Desk) -> None:
    await denied(desk, answer(await state_of(desk), NO))
    desk.clock.turn(3_601)
    await kept_id(desk)

    with desk.store.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM approval_denials").scalar() == 0
