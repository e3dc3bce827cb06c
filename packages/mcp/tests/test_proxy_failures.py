"""What a model is told when a call fails on the way, and whether it may make the call again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from proxy_cases import ISSUE, ISSUE_ID, error_of, proxied
from relay_cases import failure_of
from relay_servers import RelayServer
from scripted_servers import ScriptedServer

from toolcrib_core import ToolRisk
from toolcrib_mcp.errors import (
    AuthFailed,
    GatewayError,
    UpstreamBusy,
    UpstreamMalformed,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from toolcrib_mcp.outward import outward
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.proxy.outcomes import judged
from toolcrib_mcp.rpc import RpcError, Unreadable

READS = ToolRisk(effects="read")
WRITES = ToolRisk(effects="write")
REPEATABLE = ToolRisk(effects="write", idempotent=True)
UNKNOWN = ToolRisk()


def github(answer: Any = None, **annotations: Any) -> ScriptedServer:
    tool = {**ISSUE, "annotations": annotations}
    return ScriptedServer(**{"tools/list": {"tools": [tool]}, "tools/call": answer})


async def test_a_json_rpc_error_of_a_server_is_a_result_that_the_model_reads() -> None:
    async with proxied({"fixture": RelayServer()}) as case:
        error = error_of(await case.execute("fixture__fail"))
        raised = await failure_of(case.runtime.execute("fixture__fail"), GatewayError)

    assert error == {
        "error": "UPSTREAM_ERROR",
        "message": "No luck.",
        "retryable": False,
        "details": {"upstream": "fixture", "rpcCode": -32050, "rpcData": {"why": ["moon"]}},
    }
    assert outward(raised) == error


async def test_an_error_without_data_has_none() -> None:
    async with proxied({"github": github(RpcError(-32602, "Unknown tool."))}) as case:
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert error["details"] == {"upstream": "github", "rpcCode": -32602}


@pytest.mark.parametrize("code", [-32042, -32021])
async def test_an_error_that_only_the_client_can_act_on_stays_one_of_the_protocol(code: int) -> None:
    data = {"elicitations": [{"mode": "url"}]}
    async with proxied({"github": github(RpcError(code, "Visit this.", data))}) as case:
        error = await failure_of(case.execute(ISSUE_ID, title="x"), RpcError)

    assert (error.code, error.message, error.data) == (code, "Visit this.", data)


async def test_an_error_in_answer_to_a_clients_answers_stays_one_of_the_protocol() -> None:
    arguments = {"tool_id": ISSUE_ID, "args": {"title": "x"}}
    async with proxied({"github": github(RpcError(-32602, "Stale."))}) as case:
        error = await failure_of(case.call("tool_execute", arguments, requestState="old"), RpcError)

    assert error.code == -32602


@pytest.mark.req("GW-6.8", "CT-29")
async def test_the_outcome_of_a_write_that_takes_too_long_is_unknown_with_the_timeout_as_its_cause() -> None:
    async with proxied({"github": github()}, ours={"callTimeout": 0.2}) as case:
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert (error["error"], error["retryable"]) == ("OUTCOME_UNKNOWN", False)
    assert "within 0.2 s" in error["message"]
    assert "before you call it again" in error["hint"]
    assert error["details"]["cause"]["error"] == "UPSTREAM_TIMEOUT"
    assert "took effect" in error["details"]["cause"]["hint"]


@pytest.mark.req("GW-6.8")
async def test_a_tool_that_the_operator_knows_to_only_read_may_be_called_again_after_a_timeout() -> None:
    ours = {"callTimeout": 0.2, "servers": {"github": {"risk": {"create_*": {"effects": "read"}}}}}
    async with proxied({"github": github()}, ours=ours) as case:
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert error["error"] == "UPSTREAM_TIMEOUT"
    assert error["retryable"] is True


async def test_a_hint_of_a_server_that_is_not_trusted_makes_nothing_repeatable() -> None:
    async with proxied({"github": github(readOnlyHint=True)}, ours={"callTimeout": 0.2}) as case:
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert error["retryable"] is False


@pytest.mark.req("GW-6.8")
async def test_when_the_server_dies_during_a_call_nobody_knows_the_outcome() -> None:
    # The reference answers with an empty text here, and for ever after.
    server = github()
    async with proxied({"github": server}) as case:
        calling = asyncio.create_task(case.execute(ISSUE_ID, title="x"))
        await server.until_heard("tools/call")
        await server.die(stderr="password=hunter2")
        error = error_of(await calling)
        server.answers["tools/call"] = {"content": []}
        again = await case.execute(ISSUE_ID, title="x")

    assert error["error"] == "OUTCOME_UNKNOWN"
    assert error["retryable"] is False
    assert error["details"]["cause"]["error"] == "UPSTREAM_UNAVAILABLE"
    assert "hunter2" not in str(error)
    assert again == {"content": []}


@pytest.mark.req("GW-6.8")
async def test_an_answer_that_cannot_be_read_is_an_upstream_error() -> None:
    unreadable = Unreadable(reason="it is not JSON", excerpt="<html>")
    async with proxied({"github": github(unreadable)}) as case:
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert error["error"] == "UPSTREAM_ERROR"
    assert error["excerpt"] == "The server or program itself said: “<html>”"


@pytest.mark.req("GW-6.8")
async def test_a_server_that_cannot_be_started_again_is_unavailable_and_the_call_may_be_repeated() -> None:
    server = github({"content": []})
    async with proxied({"github": server}, ours={"callTimeout": 1}) as case:
        await case.names()
        server.refuses = UpstreamUnavailable("It is not there.", details={"sent": False})
        await server.die()
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert error["error"] == "UPSTREAM_UNAVAILABLE"
    assert error["retryable"] is True


@pytest.mark.parametrize("risk", [READS, REPEATABLE])
@pytest.mark.parametrize("kind", [UpstreamTimeout, UpstreamUnavailable])
def test_what_may_be_repeated_is_told_as_it_happened(risk: ToolRisk, kind: Any) -> None:
    error = kind("Lost.", details={"sent": True})

    assert judged(error, tool_id=ISSUE_ID, risk=risk) is error
    assert error.retryable is True


@pytest.mark.parametrize("risk", [WRITES, UNKNOWN])
@pytest.mark.parametrize("sent", [True, None])
@pytest.mark.parametrize("kind", [UpstreamTimeout, UpstreamUnavailable])
def test_what_may_not_be_repeated_is_unknown_and_has_its_cause(risk: ToolRisk, sent: Any, kind: Any) -> None:
    cause = kind("Lost.", details={"sent": sent})

    error = judged(cause, tool_id=ISSUE_ID, risk=risk)

    assert (outward(error)["error"], error.retryable) == ("OUTCOME_UNKNOWN", False)
    assert error.details["cause"] == outward(cause)


@pytest.mark.parametrize(
    "error",
    [
        UpstreamUnavailable("Not sent.", details={"sent": False}),
        UpstreamTimeout("Not sent.", details={"sent": False}),
        UpstreamBusy("Later.", details={"retryAfter": 3}),
        AuthFailed("Refused."),
        UpstreamMalformed("Odd.", details={"sent": True}),
    ],
)
def test_what_certainly_did_nothing_or_is_no_lost_answer_is_told_as_it_happened(error: Any) -> None:
    retryable = error.retryable

    assert judged(error, tool_id=ISSUE_ID, risk=UNKNOWN) is error
    assert error.retryable is retryable


@pytest.mark.req("GW-6.6")
async def test_a_call_that_the_client_gives_up_is_cancelled_at_the_server() -> None:
    server = RelayServer()
    async with proxied({"fixture": server}) as case:
        calling = asyncio.create_task(case.execute("fixture__hang"))
        async with asyncio.timeout(10):
            await server.hanging.wait()
            calling.cancel()
            await server.cancelled.wait()
        outcome = await asyncio.gather(calling, return_exceptions=True)

    assert isinstance(outcome[0], asyncio.CancelledError)


async def test_nobody_answers_a_server_that_asks_during_a_call_on_nobodys_behalf() -> None:
    request = lone_request()

    await request.channel.notify("notifications/message", {})
    error = await failure_of(request.channel.ask("roots/list", {}, timeout=1), RpcError)

    assert error.code == -32601
    assert request.on_progress is None
