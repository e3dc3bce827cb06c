"""Calls that need approval: asked about through the client in both eras, bound to the exact call, else told."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import pytest
from toolbox_cases import FORMS, RecordingChannel, add, boxed, called, serving, wipe

from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.toolboxes import ToolboxService
from toolcrib_mcp.upstreams import Era
from toolcrib_runtime import Approvals, PendingApproval, tool
from toolcrib_runtime.testing import FakeClock

YES = {"action": "accept", "content": {"answer": "once"}}
NOS = [{"action": "accept", "content": {"answer": "no"}}, {"action": "decline"}]
NOTHINGS: list[Any] = [
    {"action": "cancel"},
    {"action": "accept", "content": {"answer": "maybe"}},
    {"action": "accept", "content": {"approve": True}},
    {},
]
DISK = {"disk": "sda"}


def told(result: Mapping[str, Any]) -> str:
    assert result["isError"] is True
    error: str = json.loads(result["content"][0]["text"])["error"]
    return error


async def asked_modern(service: ToolboxService, arguments: Mapping[str, Any] = DISK, **options: Any) -> dict[str, Any]:
    return await called(service, "wipe", arguments, capabilities=FORMS, **options)


async def retried(
    service: ToolboxService,
    state: object,
    answer: object = YES,
    arguments: Mapping[str, Any] = DISK,
    name: str = "wipe",
    **options: Any,
) -> dict[str, Any]:
    params = {"requestState": state, "inputResponses": {"approval": answer}}
    return await called(service, name, arguments, capabilities=FORMS, params=params, **options)


@pytest.mark.req("GW-9.1", "GW-8.4")
@pytest.mark.parametrize("capabilities", [FORMS, {"elicitation": {}}])
async def test_a_client_of_the_handshake_era_is_asked_while_its_call_waits(capabilities: dict[str, Any]) -> None:
    channel = RecordingChannel(answer=YES)

    result = await called(serving(), "wipe", DISK, era=Era.HANDSHAKE, capabilities=capabilities, channel=channel)

    assert result["structuredContent"] == {"result": "sda is empty"}
    [(method, params)] = channel.asked
    assert method == "elicitation/create"
    assert params["requestedSchema"] == {
        "type": "object",
        "properties": {"answer": {"type": "string", "title": "May it run?", "enum": ["once", "no"], "default": "once"}},
    }
    assert wipe.id in params["message"]
    assert "may delete or overwrite data" in params["message"]
    assert '{"disk":"sda"}' in params["message"]


@pytest.mark.req("GW-9.1", "GW-8.4")
@pytest.mark.parametrize("answer", NOS)
async def test_a_no_is_a_no(answer: dict[str, Any]) -> None:
    channel = RecordingChannel(answer=answer)

    result = await called(serving(), "wipe", DISK, era=Era.HANDSHAKE, capabilities=FORMS, channel=channel)

    assert told(result) == "POLICY_DENIED"


@pytest.mark.parametrize("answer", [*NOTHINGS, None, RpcError(-32001, "no answer in time")])
async def test_without_a_decision_the_call_still_needs_approval(answer: Any) -> None:
    channel = RecordingChannel(answer=answer)

    result = await called(serving(), "wipe", DISK, era=Era.HANDSHAKE, capabilities=FORMS, channel=channel)

    assert told(result) == "APPROVAL_REQUIRED"


@pytest.mark.req("GW-8.4")
@pytest.mark.parametrize("era", [Era.HANDSHAKE, Era.MODERN])
@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": True}])
async def test_a_client_that_cannot_ask_is_told_that_approval_is_needed(era: Era, capabilities: dict[str, Any]) -> None:
    channel = RecordingChannel(answer=YES)

    result = await called(serving(), "wipe", DISK, era=era, capabilities=capabilities, channel=channel)

    assert told(result) == "APPROVAL_REQUIRED"
    assert channel.asked == []


@pytest.mark.parametrize("era", [Era.HANDSHAKE, Era.MODERN])
async def test_an_approval_that_somebody_else_granted_goes_with_the_request(era: Era) -> None:
    service = serving()
    waiting = await called(service, "wipe", DISK, era=era)
    pending = PendingApproval.from_dict(waiting["_meta"]["io.toolcrib/approval"])

    token = service.toolbox.grant(pending, by="ann")
    params = {"_meta": {"io.toolcrib/approval": token}}
    result = await called(service, "wipe", DISK, era=era, params=params)
    again = await called(service, "wipe", DISK, era=era, params=params)

    assert result["isError"] is False
    assert told(again) == "POLICY_DENIED"


@pytest.mark.req("GW-9.1", "GW-8.4")
async def test_a_modern_client_is_answered_with_the_question_and_calls_again_with_the_answer() -> None:
    service = serving()

    waiting = await asked_modern(service)
    result = await retried(service, waiting["requestState"])

    assert waiting["resultType"] == "input_required"
    request = waiting["inputRequests"]["approval"]
    assert request["method"] == "elicitation/create"
    assert request["params"]["mode"] == "form"
    assert result["structuredContent"] == "sda is empty"


@pytest.mark.req("GW-8.4")
async def test_an_approval_is_good_for_one_call() -> None:
    service = serving()
    waiting = await asked_modern(service)

    first = await retried(service, waiting["requestState"])
    second = await retried(service, waiting["requestState"])

    assert first["isError"] is False
    assert told(second) == "POLICY_DENIED"
    assert "used before" in second["content"][0]["text"]


@pytest.mark.req("GW-8.4", "GW-8.5")
@pytest.mark.parametrize(
    "other",
    [{"arguments": {"disk": "sdb"}}, {"name": "format_disk"}, {"principal": "bob"}],
    ids=["arguments", "tool", "principal"],
)
async def test_an_approval_is_bound_to_the_exact_call(other: dict[str, Any]) -> None:
    @tool
    async def format_disk(disk: str) -> str:
        """Format a disk."""
        return disk

    service = serving(wipe, format_disk)
    waiting = await asked_modern(service, principal="ann")

    result = await retried(service, waiting["requestState"], **{"principal": "ann", **other})

    assert told(result) == "POLICY_DENIED"


@pytest.mark.parametrize("answer", NOS)
async def test_a_modern_no_is_a_no(answer: dict[str, Any]) -> None:
    service = serving()
    waiting = await asked_modern(service)

    assert told(await retried(service, waiting["requestState"], answer)) == "POLICY_DENIED"


@pytest.mark.parametrize("answer", NOTHINGS)
async def test_a_modern_client_that_did_not_decide_is_not_asked_without_end(answer: object) -> None:
    service = serving()
    waiting = await asked_modern(service)

    assert told(await retried(service, waiting["requestState"], answer)) == "APPROVAL_REQUIRED"


@pytest.mark.parametrize("answer", [None, "yes", True])
async def test_what_has_not_the_form_of_an_answer_is_refused_and_nothing_runs(answer: object) -> None:
    service = serving()
    waiting = await asked_modern(service)

    with pytest.raises(RpcError, match="inputResponses"):
        await retried(service, waiting["requestState"], answer)


async def test_a_retry_without_any_answer_decides_nothing() -> None:
    service = serving()
    waiting = await asked_modern(service)

    result = await called(service, "wipe", DISK, capabilities=FORMS, params={"requestState": waiting["requestState"]})

    assert told(result) == "APPROVAL_REQUIRED"


@pytest.mark.parametrize("state", ["", "?", "bnVsbA==", "e30=", "a" * 9_000, 7, {}, "ö"])
async def test_a_state_from_elsewhere_is_refused(state: object) -> None:
    with pytest.raises(RpcError) as refused:
        await retried(serving(), state)

    assert refused.value.code == -32602


@pytest.mark.req("GW-8.4")
@pytest.mark.parametrize(
    "change", [{"argumentsDigest": "0" * 64}, {"toolId": "default:nothing@1"}, {"expiresAt": 9e12}, {"principal": "x"}]
)
async def test_a_state_that_was_changed_on_its_way_grants_nothing(change: dict[str, Any]) -> None:
    service = serving()
    state = json.loads(urlsafe_b64decode((await asked_modern(service))["requestState"]))

    forged = urlsafe_b64encode(json.dumps({**state, **change}).encode()).decode()
    result = await retried(service, forged)

    assert result["isError"] is True


async def test_an_answer_that_comes_too_late_grants_nothing() -> None:
    clock = FakeClock()
    service = ToolboxService(boxed(wipe, approvals=Approvals(ttl=60, clock=clock)), version="1")
    waiting = await asked_modern(service)

    await clock.advance(61)
    result = await retried(service, waiting["requestState"])

    assert told(result) == "POLICY_DENIED"
    assert "its time is over" in result["content"][0]["text"]


async def test_a_call_that_needs_no_approval_asks_nobody() -> None:
    channel = RecordingChannel(answer=YES)

    result = await called(serving(add), "add", {"a": 1, "b": 1}, era=Era.HANDSHAKE, capabilities=FORMS, channel=channel)

    assert result["isError"] is False
    assert channel.asked == []


async def test_the_person_who_decides_sees_what_is_hidden_and_how_much_is_left_out() -> None:
    disk = "sda\u202e\u200b" + "x" * 5_000

    waiting = await asked_modern(serving(), {"disk": disk})

    message = waiting["inputRequests"]["approval"]["params"]["message"]
    assert all(line.isprintable() for line in message.split("\n"))
    assert r"\u202e\u200b" in message
    assert "more characters)" in message


async def test_a_call_without_arguments_shows_none() -> None:
    @tool
    async def reboot() -> str:
        """Start again."""
        return "up"

    waiting = await called(serving(reboot), "reboot", capabilities=FORMS)

    assert "Arguments:" not in waiting["inputRequests"]["approval"]["params"]["message"]


@pytest.mark.parametrize(("principal", "by"), [("ann", "the user of ann"), (None, "the user of tester")])
async def test_it_is_noted_who_decided(principal: str | None, by: str) -> None:
    granted: list[str] = []

    class NotingApprovals(Approvals):
        def grant(self, pending: PendingApproval, *, by: str) -> str:
            granted.append(by)
            return super().grant(pending, by=by)

    service = ToolboxService(boxed(wipe, approvals=NotingApprovals()), version="1")
    waiting = await asked_modern(service, principal=principal)
    await retried(service, waiting["requestState"], principal=principal)

    assert granted == [by]
