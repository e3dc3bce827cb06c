"""Calls of modern clients that wait because an older server asked: bound to their client, and never for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from relay_cases import ANSWERS, GRANTS, OFFERS, Case, Client, failure_of, text_of, transparent, until
from relay_servers import RelayServer

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.relay import pending
from toolcrib_mcp.relay.patience import ANSWER_WITHIN
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_runtime.testing import FakeClock

RED = ANSWERS["elicitation/create"]


@asynccontextmanager
async def asked(**options: Any) -> AsyncIterator[tuple[Case, Client, dict[str, Any]]]:
    """A modern client whose call of an older server was answered with a question."""
    async with (
        transparent(RelayServer(era=Era.HANDSHAKE), grants=GRANTS, **options) as case,
        case.client(Era.MODERN, capabilities=OFFERS, principal="ann") as client,
    ):
        question = await client.call("ask")
        assert question["resultType"] == "input_required"
        yield case, client, question


def retry(question: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The members of a retry that answers every question."""
    answers = dict.fromkeys(question["inputRequests"], RED)
    return {"inputResponses": answers, "requestState": question["requestState"], **more}


async def test_a_state_is_good_for_one_retry() -> None:
    async with asked() as (_, client, question):
        result = await client.call("ask", **retry(question))
        error = await failure_of(client.call("ask", **retry(question)), UpstreamFailed)

    assert text_of(result) == "accept {'colour': 'red'}"
    assert error.rpc_code == -32602


@pytest.mark.req("GW-6.6")
async def test_only_whoever_was_asked_may_answer() -> None:
    async with asked() as (case, client, question):
        async with case.client(Era.MODERN, capabilities=OFFERS, principal="bob") as other:
            error = await failure_of(other.call("ask", **retry(question)), UpstreamFailed)
        result = await client.call("ask", **retry(question))

    assert error.rpc_code == -32602
    assert text_of(result) == "accept {'colour': 'red'}"


@pytest.mark.parametrize("more", [{"arguments": {"other": 1}}, {"novel": 1}])
async def test_a_state_belongs_to_its_request(more: dict[str, Any]) -> None:
    async with asked() as (_, client, question):
        error = await failure_of(client.call("ask", **retry(question, **more)), UpstreamFailed)

    assert error.rpc_code == -32602


async def test_a_state_that_was_never_given_leads_nowhere() -> None:
    async with asked() as (_, client, _):
        error = await failure_of(client.call("ask", requestState=f"{pending.TOKEN_PREFIX}guess"), UpstreamFailed)

    assert error.rpc_code == -32602


@pytest.mark.parametrize("answers", [[], {"input-1": "red"}])
async def test_answers_that_are_none_are_refused_and_can_be_given_again(answers: Any) -> None:
    async with asked() as (_, client, question):
        error = await failure_of(client.call("ask", **retry(question) | {"inputResponses": answers}), UpstreamFailed)
        result = await client.call("ask", **retry(question))

    assert error.rpc_code == -32602
    assert text_of(result) == "accept {'colour': 'red'}"


async def test_a_question_without_an_answer_is_asked_again() -> None:
    async with asked() as (_, client, question):
        again = await client.call("ask", requestState=question["requestState"])
        result = await client.call("ask", **retry(again))

    assert again["inputRequests"] == question["inputRequests"]
    assert again["requestState"] != question["requestState"]
    assert text_of(result) == "accept {'colour': 'red'}"


async def test_a_client_that_leaves_takes_its_call_with_it() -> None:
    async with transparent(RelayServer(era=Era.HANDSHAKE), grants=GRANTS) as case:
        async with case.client(Era.MODERN, capabilities=OFFERS) as client:
            question = await client.call("ask")
        async with case.client(Era.MODERN, capabilities=OFFERS) as other:
            error = await failure_of(other.call("ask", **retry(question)), UpstreamFailed)

    assert error.rpc_code == -32602


async def test_nobody_is_waited_for_for_ever() -> None:
    clock = FakeClock()
    server = RelayServer(era=Era.HANDSHAKE)
    async with (
        transparent(server, grants=GRANTS, relay_clock=clock) as case,
        case.client(Era.MODERN, capabilities=OFFERS) as client,
    ):
        question = await client.call("ask")
        await clock.advance(ANSWER_WITHIN)
        error = await failure_of(client.call("ask", **retry(question)), UpstreamFailed)

    assert error.rpc_code == -32602


async def test_too_many_calls_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "MAX_PENDING", 1)

    async with asked() as (_, client, question):
        error = await failure_of(client.call("ask"), UpstreamFailed)
        result = await client.call("ask", **retry(question))

    assert error.rpc_data["error"] == "RATE_LIMITED"
    assert error.rpc_data["retryable"] is True
    assert text_of(result) == "accept {'colour': 'red'}"


async def test_a_cancelled_call_is_cancelled_at_the_server() -> None:
    server = RelayServer(era=Era.HANDSHAKE)

    async with (
        transparent(server, grants=GRANTS) as case,
        case.client(Era.MODERN, capabilities=OFFERS) as client,
    ):
        call = asyncio.create_task(client.call("hang"))
        await server.hanging.wait()
        call.cancel()

        await server.cancelled.wait()

    assert call.cancelled()


async def test_a_result_that_came_while_nobody_waited_is_not_lost() -> None:
    async with asked() as (case, client, question):
        (call,) = case.service.relay._passing._pending._by_token.values()
        call.deliver(retry(question)["inputResponses"])
        await until(call._task.done)

        result = await client.call("ask", requestState=question["requestState"])

    assert text_of(result) == "accept {'colour': 'red'}"


@pytest.mark.req("GW-6.6")
async def test_progress_and_messages_go_to_the_request_that_waits() -> None:
    seen: list[dict[str, Any]] = []

    async def on_progress(params: dict[str, Any]) -> None:
        seen.append(params)

    server = RelayServer(era=Era.HANDSHAKE)
    async with (
        transparent(server, grants=GRANTS) as case,
        case.client(Era.MODERN, capabilities=OFFERS) as client,
    ):
        meta = {"io.modelcontextprotocol/logLevel": "warning"}
        question = await client.ask("tools/call", {"name": "ask_loudly", "_meta": meta}, on_progress=on_progress)
        again = {"name": "ask_loudly", "_meta": meta, **retry(question)}
        await client.ask("tools/call", again, on_progress=on_progress)
        await client.until_told("notifications/message")

    assert [each["progress"] for each in seen] == [1, 2]
    assert [params["data"] for method, params in client.told if method == "notifications/message"] == [
        {"said": "warning"}
    ]


async def test_what_is_told_while_nobody_waits_is_told_to_nobody() -> None:
    seen: list[dict[str, Any]] = []

    async def on_progress(params: dict[str, Any]) -> None:
        seen.append(params)

    server = RelayServer(era=Era.HANDSHAKE)
    async with (
        transparent(server, grants=GRANTS) as case,
        case.client(Era.MODERN, capabilities=OFFERS) as client,
    ):
        meta = {"io.modelcontextprotocol/logLevel": "warning"}
        params = {"name": "ask_aside", "_meta": meta}
        question = await client.ask("tools/call", params, on_progress=on_progress)
        (call,) = case.service.relay._passing._pending._by_token.values()
        server.aside.set()
        call.deliver(retry(question)["inputResponses"])
        await until(call._task.done)
        result = await client.ask("tools/call", {**params, "requestState": question["requestState"]})

    assert text_of(result) == "done"
    assert [each["progress"] for each in seen] == [1]
    assert [method for method, _ in client.told if method == "notifications/message"] == []


async def test_a_service_that_closes_stops_what_waits() -> None:
    clock = FakeClock()
    server = RelayServer(era=Era.HANDSHAKE)
    async with (
        transparent(server, grants=GRANTS, relay_clock=clock) as case,
        case.client(Era.MODERN, capabilities=OFFERS) as client,
    ):
        await client.call("ask")
        await client.call("ask", arguments={"nonce": 2})
        waiting = case.service.relay._passing._pending
        calls = list(waiting._by_token.values())
        waiting._expire(next(iter(waiting._by_token)))

        await case.service.aclose()

        assert [call._task.cancelled() for call in calls] == [True, True]


@pytest.mark.parametrize("front", [Era.HANDSHAKE, Era.MODERN])
async def test_the_time_of_a_call_stands_still_while_the_client_thinks(front: Era) -> None:
    clock = FakeClock()
    thinking, answered = asyncio.Event(), asyncio.Event()

    async def think(method: str, params: dict[str, Any]) -> dict[str, Any]:
        thinking.set()
        await answered.wait()
        return RED

    async with (
        transparent(RelayServer(era=Era.HANDSHAKE), grants=GRANTS, relay_clock=clock, timeout=5) as case,
        case.client(front, capabilities=OFFERS, on_request=think) as client,
    ):
        call = asyncio.create_task(client.call("ask"))
        if front is Era.MODERN:
            question = await call
            await clock.advance(60)
            result = await client.call("ask", **retry(question))
        else:
            await thinking.wait()
            await clock.advance(60)
            answered.set()
            result = await call

    assert text_of(result) == "accept {'colour': 'red'}"


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize("front", [Era.HANDSHAKE, Era.MODERN])
async def test_a_server_that_may_ask_and_says_nothing_is_not_waited_for_longer(front: Era) -> None:
    clock = FakeClock()
    server = RelayServer(era=Era.HANDSHAKE)

    async with (
        transparent(server, grants=GRANTS, relay_clock=clock, timeout=5) as case,
        case.client(front, capabilities=OFFERS) as client,
    ):
        call = asyncio.create_task(client.call("hang"))
        await server.hanging.wait()
        await clock.advance(5)
        error = await failure_of(call, UpstreamFailed)
        await server.cancelled.wait()

    assert error.rpc_code == -32001
    assert error.rpc_data["error"] == "UPSTREAM_TIMEOUT"
    assert error.rpc_data["details"]["seconds"] == 5


async def test_too_many_questions_at_once_are_refused() -> None:
    async with (
        transparent(RelayServer(era=Era.HANDSHAKE), grants=GRANTS) as case,
        case.client(Era.MODERN, capabilities=OFFERS) as client,
    ):
        question = await client.call("ask_crowd")
        while len(question["inputRequests"]) < 16:
            question = await client.call("ask_crowd", requestState=question["requestState"])
        result = await client.call("ask_crowd", **retry(question))

    assert text_of(result) == "16 answers, 1 refusal"
