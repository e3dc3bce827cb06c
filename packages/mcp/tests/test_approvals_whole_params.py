"""An approval is for all that a server gets of a call: what it does not cover is refused, or stays here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from proxy_cases import error_of
from safeguard_cases import MODES, Guarded, guarded, principal, server_with
from toolbox_cases import LATEST

from toolcrib_mcp.approvals import ApprovalBook, state_key
from toolcrib_mcp.approvals.questions import WAITING
from toolcrib_mcp.front import Caller
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams import Era

pytestmark = pytest.mark.fault("K6")

ASK = 'version = 1\ndefault = "ask"\n'
WIPE: dict[str, Any] = {"name": "wipe", "description": "Deletes a disk.", "inputSchema": {"type": "object"}}
FORMS = {"elicitation": {"form": {}}}
SILENT = Caller(era=Era.HANDSHAKE, protocol_version=LATEST[Era.HANDSHAKE], principal="ann")


async def _run(case: Guarded, *, by: Caller = SILENT, **beside: Any) -> dict[str, Any]:
    """Call the tool without arguments, in the way of the mode; `beside` are further params."""
    if case.mode == "transparent":
        return await case.ask("tools/call", by=by, **{"name": "wipe", "arguments": {}, **beside})
    arguments = {"tool_id": "notes__wipe", "args": {}}
    return await case.ask("tools/call", by=by, name="tool_execute", arguments=arguments, **beside)


def _grant(case: Guarded, folder: Path) -> None:
    """Allow what waits, at the command line."""
    book = ApprovalBook(case.safeguards.store, state_key(folder / "state"))
    for each in book.questions():
        if each.state == WAITING:
            book.grant(each.id, by="the operator")


def _received(case: Guarded) -> list[dict[str, Any]]:
    """The params of every call that reached the server."""
    return [params for method, params in case.servers["notes"].heard if method == "tools/call"]


@pytest.mark.parametrize("policy", [ASK, 'version = 1\ndefault = "allow"\n'], ids=["ask", "allow"])
@pytest.mark.parametrize("arguments", [["x"], "x", 7, True], ids=["list", "text", "number", "boolean"])
async def test_arguments_that_are_no_object_reach_no_server(tmp_path: Path, arguments: Any, policy: str) -> None:
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode="transparent", policy=policy) as case:
        with pytest.raises(RpcError, match="must be an object") as refused:
            await _run(case, arguments=arguments)
        waiting = ApprovalBook(case.safeguards.store, state_key(tmp_path / "state")).questions()

    assert refused.value.code == -32602
    assert case.calls() == 0
    assert waiting == []


async def test_arguments_that_are_null_are_none(tmp_path: Path) -> None:
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode="transparent") as case:
        await _run(case, arguments=None)

    assert "arguments" not in _received(case)[0]


async def test_an_approval_of_no_arguments_is_for_no_other_arguments(tmp_path: Path) -> None:
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode="transparent", policy=ASK) as case:
        await _run(case)
        _grant(case, tmp_path)
        with pytest.raises(RpcError):
            await _run(case, arguments=["everything"])
        reached = case.calls()
        again = await _run(case)

    assert reached == 0
    assert "isError" not in again


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "beside",
    [{"task": {"ttl": 60_000}}, {"force": True}, {"requestState": "guessed", "inputResponses": {"q": {}}}],
    ids=["task", "vendor", "answers"],
)
async def test_an_approval_is_not_for_the_same_arguments_with_more_beside_them(
    tmp_path: Path, beside: dict[str, Any], mode: str
) -> None:
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode=mode, policy=ASK) as case:
        await _run(case)
        _grant(case, tmp_path)
        refused = error_of(await _run(case, **beside))
        reached = case.calls()
        _grant(case, tmp_path)
        allowed = await _run(case, **beside)

    assert refused["error"] == "APPROVAL_REQUIRED"
    assert reached == 0
    assert "isError" not in allowed
    assert beside.items() <= _received(case)[0].items()


@pytest.mark.parametrize("mode", MODES)
async def test_metadata_that_no_approval_covers_does_not_go_along(tmp_path: Path, mode: str) -> None:
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode=mode, policy=ASK) as case:
        await _run(case, _meta={"client/use": "1"})
        _grant(case, tmp_path)
        result = await _run(case, _meta={"client/use": "2", "disk": "all", "traceparent": "t"})

    assert "isError" not in result
    assert _received(case)[0]["_meta"] == {"traceparent": "t"}


async def test_metadata_goes_along_where_no_approval_is_needed(tmp_path: Path) -> None:
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode="transparent") as case:
        await _run(case, _meta={"client/use": "1"})

    assert _received(case)[0]["_meta"] == {"client/use": "1"}


async def test_a_person_is_shown_what_is_sent_with_the_arguments(tmp_path: Path) -> None:
    ann = principal("ann", capabilities=FORMS)
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode="transparent", policy=ASK) as case:
        asked = await _run(case, by=ann, force=True)

    (question,) = asked["inputRequests"].values()
    assert json.dumps({"force": True}, separators=(",", ":")) in question["params"]["message"]


async def test_the_answer_to_a_question_of_ours_carries_none_for_the_server(tmp_path: Path) -> None:
    ann = principal("ann", capabilities=FORMS)
    async with guarded(tmp_path, {"notes": server_with(WIPE)}, mode="transparent", policy=ASK) as case:
        asked = await _run(case, by=ann, requestState="guessed", inputResponses={"q": {}})
        answer = {"approval": {"action": "accept"}, "q": {"action": "accept"}}
        result = await _run(case, by=ann, requestState=asked["requestState"], inputResponses=answer)

    assert "isError" not in result
    assert not {"requestState", "inputResponses"} & _received(case)[0].keys()
