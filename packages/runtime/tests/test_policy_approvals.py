"""Approvals through a toolbox: nothing runs without one, and each is good for one call, exactly as it was asked for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_tools import NOW, Deletion, Heard, WallClock

from toolcrib_core import Principal, ToolContext, ToolErrorCategory, ToolRisk
from toolcrib_runtime import (
    Approvals,
    PendingApproval,
    Policy,
    ToolCall,
    ToolResult,
    create_tool,
    create_toolbox,
)
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired, NotPermitted
from toolcrib_runtime.policy.rules import deny

SECRET = b"s" * 16
HARMLESS_TO_READ = ToolRisk(effects="read")


@dataclass
class Desk:
    """A toolbox with one harmful tool, and everything that an approval is bound to, to be changed one by one."""

    deletion: Deletion = field(default_factory=Deletion)
    clock: WallClock = field(default_factory=WallClock)
    secret: bytes = SECRET
    heard: Heard = field(default_factory=Heard)

    def __post_init__(self) -> None:
        self.approvals = Approvals(self.secret, ttl=900, clock=self.clock)

    async def call(
        self,
        approval: str | None = None,
        *,
        arguments: Any = None,
        user: str | None = "ada",
        tenant: str | None = None,
        policy_version: str = "1",
        **tool: Any,
    ) -> ToolResult:
        rules = (deny("*"),) if tool.pop("denied", False) else ()
        toolbox = create_toolbox(
            [self.deletion.tool(**tool)], policy=Policy(version=policy_version, rules=rules), approvals=self.approvals
        )
        context = ToolContext(
            user=Principal(id=user) if user else None, tenant=Principal(id=tenant) if tenant else None
        )
        call = ToolCall(
            tool=f"{tool.get('namespace', 'fs')}:delete",
            arguments={"path": "my-secret"} if arguments is None else arguments,
            approval=approval,
        )
        return await toolbox.execute(call, context=context, on_event=self.heard)

    async def approved(self, **call: Any) -> str:
        return self.approvals.grant(await self.asked(**call), by="grace")

    async def asked(self, **call: Any) -> PendingApproval:
        pending = (await self.call(**call)).action
        assert pending is not None
        return pending


def _reason(result: ToolResult) -> object:
    assert result.outcome == "error"
    assert isinstance(result.error, ApprovalRefused)
    assert "my-secret" not in str(result.to_dict())
    return result.error.details["reason"]


@pytest.mark.req("RT-10")
async def test_a_call_that_needs_approval_never_runs_and_never_looks_like_a_success() -> None:
    desk = Desk()

    results = [await desk.call() for _ in range(3)]

    assert desk.deletion.runs == []
    for result in results:
        assert (result.ok, result.outcome, result.value, result.attempts) == (False, "action_required", None, 0)
        assert isinstance(result.error, ApprovalRequired)
        assert result.error.category is ToolErrorCategory.APPROVAL_REQUIRED
        assert not result.error.retryable
        with pytest.raises(ApprovalRequired):
            result.unwrap()


@pytest.mark.req("RT-10")
async def test_the_question_tells_a_person_what_would_be_done_and_holds_no_values() -> None:
    pending = await Desk().asked(arguments={"path": "my-secret", "count": 987_654})

    assert pending.summary == "Run `fs:delete@1.0.0` (Delete a file) with the arguments `path`, `count`."
    assert pending.reason.startswith("it does not declare what it does")
    assert (pending.principal, pending.policy_version, pending.expires_at) == ("ada", "1", NOW + 900)
    assert "my-secret" not in str(pending.to_dict())
    assert "987654" not in str(pending.to_dict())


async def test_the_question_says_when_there_are_no_arguments() -> None:
    toolbox = create_toolbox([create_tool(lambda: None, name="wipe", description="Wipe.")])

    pending = (await toolbox.call("wipe")).action

    assert pending is not None
    assert pending.summary.endswith("without arguments.")


@pytest.mark.req("RT-10")
async def test_the_question_travels_as_json_and_comes_back_the_same() -> None:
    desk = Desk()
    pending = await desk.asked(tenant="acme")

    back = PendingApproval.from_dict(json.loads(json.dumps(pending.to_dict())))

    assert back == pending
    assert (await desk.call(desk.approvals.grant(back, by="grace"), tenant="acme")).ok


@pytest.mark.req("RT-10")
async def test_the_call_that_was_approved_runs_once_and_the_next_time_is_refused() -> None:
    desk = Desk()
    token = await desk.approved()

    first, second = await desk.call(token), await desk.call(token)

    assert (first.ok, _reason(second)) == (True, "spent")
    assert desk.deletion.runs == [{"path": "my-secret", "count": 1}]


@pytest.mark.req("RT-10")
async def test_fifty_calls_at_once_with_the_same_approval_run_once() -> None:
    deletion = Deletion()
    toolbox = create_toolbox([deletion.tool()])
    arguments = {"path": "my-secret"}
    asked = await toolbox.call("fs:delete", arguments)
    assert asked.action is not None
    token = toolbox.grant(asked.action, by="grace")

    calls = [ToolCall(tool="fs:delete", arguments=arguments, approval=token) for _ in range(50)]
    results = await toolbox.execute(calls)

    assert len(deletion.runs) == sum(result.ok for result in results) == 1
    assert [_reason(result) for result in results if not result.ok] == ["spent"] * 49


@pytest.mark.req("RT-10")
async def test_a_question_that_is_granted_twice_is_still_good_for_one_call() -> None:
    desk = Desk()
    pending = await desk.asked()

    tokens = [desk.approvals.grant(pending, by=by) for by in ("grace", "alan")]

    assert [(await desk.call(token)).ok for token in tokens] == [True, False]


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"arguments": {"path": "other"}}, "other-arguments"),
        ({"arguments": {"path": "my-secret", "count": 2}}, "other-arguments"),
        ({"arguments": {"path": "my-secret", "count": 1}}, "other-arguments"),
        ({"namespace": "db"}, "other-tool"),
        ({"description": "Delete a file for good."}, "changed-definition"),
        ({"version": "2.0.0"}, "changed-definition"),
        ({"risk": ToolRisk(effects="write", destructive=True)}, "changed-definition"),
        ({"user": "eve"}, "other-principal"),
        ({"user": None}, "other-principal"),
        ({"tenant": "acme"}, "other-principal"),
        ({"user": None, "tenant": "ada"}, "other-principal"),
        ({"policy_version": "2"}, "changed-policy"),
    ],
)
async def test_an_approval_is_refused_for_any_other_call_and_stays_good_for_its_own(
    change: dict[str, Any], reason: str
) -> None:
    desk = Desk()
    token = await desk.approved()

    other = await desk.call(token, **change)

    assert (_reason(other), desk.deletion.runs) == (reason, [])
    assert (await desk.call(token)).ok


@pytest.mark.req("RT-10")
async def test_a_new_shape_of_an_unversioned_tool_is_a_changed_definition_and_not_another_tool() -> None:
    approvals, runs = Approvals(SECRET), []
    old = create_tool(lambda path: runs.append(path), name="wipe", description="Wipe.")
    new = create_tool(lambda path, force=False: runs.append(path), name="wipe", description="Wipe.")
    asked = await create_toolbox([old], approvals=approvals).call("wipe", {"path": "a"})
    assert asked.action is not None
    token = approvals.grant(asked.action, by="grace")

    call = ToolCall(tool="wipe", arguments={"path": "a"}, approval=token)
    result = await create_toolbox([new], approvals=approvals).execute(call)

    assert (_reason(result), runs) == ("changed-definition", [])


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    "spelling",
    ['{"count":2,"path":"my-secret"}', b'{ "path" : "my\\u002dsecret", "count": 2.0 }'],
    ids=["order", "escapes"],
)
async def test_another_spelling_of_the_same_arguments_is_the_same_call(spelling: str | bytes) -> None:
    desk = Desk()
    token = await desk.approved(arguments={"path": "my-secret", "count": 2})

    assert (await desk.call(token, arguments=spelling)).ok


@pytest.mark.req("RT-10")
async def test_an_approval_is_good_until_its_time_is_over() -> None:
    desk = Desk()
    early, late = await desk.approved(), await desk.approved()

    desk.clock.now = NOW + 899.9
    in_time = await desk.call(early)
    desk.clock.now = NOW + 900
    too_late = await desk.call(late)

    assert (in_time.ok, _reason(too_late), len(desk.deletion.runs)) == (True, "expired", 1)


@pytest.mark.req("RT-10")
@pytest.mark.fault("I7")
async def test_setting_the_clock_back_makes_no_spent_approval_good_again() -> None:
    desk = Desk()
    token = await desk.approved()
    await desk.call(token)
    desk.clock.now = NOW + 1_000
    await desk.call(await desk.approved())

    desk.clock.now = NOW
    again = await desk.call(token)

    assert (_reason(again), len(desk.deletion.runs)) == ("spent", 2)


@pytest.mark.req("RT-10")
async def test_an_approval_of_another_process_that_has_another_secret_is_refused() -> None:
    token = await Desk(secret=b"another secret of theirs").approved()
    desk = Desk()

    result = await desk.call(token)

    assert (_reason(result), desk.deletion.runs) == ("signature", [])


@pytest.mark.req("RT-10")
@pytest.mark.parametrize("part", [1, 2])
async def test_an_approval_in_which_any_character_was_changed_is_refused(part: int) -> None:
    desk = Desk()
    token = await desk.approved()
    parts = token.split(".")

    reasons = set()
    for at, letter in enumerate(parts[part]):
        # The last character of the mac holds two bits that say nothing; a change there is a change too.
        changed = f"{parts[part][:at]}{'A' if letter != 'A' else 'B'}{parts[part][at + 1 :]}"
        reasons.add(_reason(await desk.call(".".join([*parts[:part], changed, *parts[part + 1 :]]))))

    assert (reasons, desk.deletion.runs) == ({"signature"}, [])


@pytest.mark.req("RT-10")
async def test_no_beginning_of_an_approval_is_accepted() -> None:
    desk = Desk()
    token = await desk.approved()

    reasons = {_reason(await desk.call(token[:length])) for length in range(0, len(token), 7)}

    assert (reasons, desk.deletion.runs) == ({"malformed"}, [])


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    "token",
    ["", "yes", "tcap1..", "tcap2.e30.e30", "\x00", "é", "tcap1." + "A" * 10_240, 7, True, {"ok": True}],
    ids=repr,
)
async def test_what_is_no_approval_at_all_is_malformed(token: Any) -> None:
    desk = Desk()

    assert (_reason(await desk.call(token)), desk.deletion.runs) == ("malformed", [])


@pytest.mark.req("RT-10")
@given(token=st.text(max_size=200))
async def test_no_text_that_somebody_makes_up_is_accepted(token: str) -> None:
    desk = Desk()

    assert _reason(await desk.call(token)) in {"malformed", "signature"}


@pytest.mark.req("RT-10")
async def test_an_approval_does_not_help_against_a_deny() -> None:
    desk = Desk()
    token = await desk.approved()

    result = await desk.call(token, denied=True)

    assert isinstance(result.error, NotPermitted)
    assert desk.deletion.runs == []
    assert (await desk.call(token)).ok


async def test_an_approval_that_nobody_asked_for_is_not_used_up() -> None:
    desk = Desk()
    harmless = {"risk": HARMLESS_TO_READ}

    assert (await desk.call("not even one", **harmless)).ok
    assert len(desk.deletion.runs) == 1


@pytest.mark.req("RT-10")
@pytest.mark.parametrize(
    "change",
    [
        {"expires_at": NOW + 10**9},
        {"arguments_digest": "0" * 64},
        {"tool_id": "fs:read@1.0.0"},
        {"principal": "eve"},
        {"summary": "Run `fs:read` without arguments."},
        {"reason": "it is harmless"},
        {"seal": "é"},
    ],
)
async def test_a_question_that_was_changed_on_its_way_cannot_be_granted(change: dict[str, Any]) -> None:
    desk = Desk()
    pending = PendingApproval.from_dict({**(await desk.asked()).model_dump(), **change})

    with pytest.raises(ApprovalRefused, match="was not signed here, or was changed") as caught:
        desk.approvals.grant(pending, by="grace")

    assert caught.value.details == {"reason": "signature"}


async def test_a_question_whose_time_is_over_cannot_be_granted() -> None:
    desk = Desk()
    pending = await desk.asked()
    desk.clock.now = pending.expires_at

    with pytest.raises(ApprovalRefused, match="its time is over"):
        desk.approvals.grant(pending, by="grace")


@pytest.mark.req("RT-15")
async def test_what_became_of_an_ask_is_told_once_for_each_call() -> None:
    desk = Desk()
    token = await desk.approved()
    await desk.call(token)
    await desk.call(token)

    told = [{key: data[key] for key in data if key not in {"reason", "rule"}} for data in desk.heard.data]

    assert told == [
        {"decision": "ask", "approval": "required"},
        {"decision": "ask", "approval": "granted", "by": "grace"},
        {"decision": "ask", "approval": "refused", "why": "spent"},
    ]


@pytest.mark.req("RT-10")
async def test_nothing_runs_when_it_cannot_be_written_down_that_the_approval_is_spent() -> None:
    class FullDisk:
        async def spend(self, approval_id: str, expires_at: float) -> bool:
            raise OSError("no space left")

    desk = Desk()
    desk.approvals = Approvals(SECRET, ledger=FullDisk(), clock=desk.clock)

    result = await desk.call(await desk.approved())

    assert (result.outcome, desk.deletion.runs) == ("error", [])
