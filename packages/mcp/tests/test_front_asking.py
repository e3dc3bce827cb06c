"""Asking a client while its request is worked on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from front_raw_client import ENVELOPE, RawClient, call, raw_client
from front_services import FixtureService

from toolcrib_mcp.front.asking import Asking
from toolcrib_mcp.rpc import RpcError, WireClosed
from toolcrib_runtime.testing import FakeClock

ELICIT = call("ask", method="elicitation/create", params={"message": "Which colour?", "novel": [1]})

pytestmark = pytest.mark.req("GW-6.6")


async def _asked(client: RawClient) -> dict[str, Any]:
    await client.shake_hands()
    return await client.exchange(1, "tools/call", **ELICIT)


async def test_a_client_is_asked_and_its_answer_kept_as_it_came() -> None:
    async with raw_client(FixtureService()) as client:
        asked = await _asked(client)
        answer = {"action": "accept", "content": {"colour": "red"}, "novel": {"kept": 12345678901234567890123}}
        client.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}).encode())
        result = await client.read()

    assert asked["params"] == {"message": "Which colour?", "novel": [1]}
    assert result["result"]["structuredContent"] == answer


async def test_an_error_of_the_client_is_kept_as_it_came() -> None:
    error = {"code": -1, "message": "User said no", "data": {"why": [1]}}

    async with raw_client(FixtureService()) as client:
        asked = await _asked(client)
        client.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}).encode())
        result = await client.read()

    assert result["error"] == error


@pytest.mark.parametrize(
    "answer", [b'{"jsonrpc":"2.0","id":%d,"result":7}', b'{"jsonrpc":"2.0","id":%d,"result":{"a":"\xff"}}']
)
async def test_an_answer_that_cannot_be_used_fails_at_once(answer: bytes) -> None:
    async with raw_client(FixtureService()) as client:
        asked = await _asked(client)
        client.write(answer % asked["id"])
        result = await client.read()

    assert result["error"]["code"] == -32603
    assert "elicitation/create" in result["error"]["message"]


async def test_a_question_whose_request_is_taken_back_is_taken_back() -> None:
    async with raw_client(FixtureService()) as client:
        asked = await _asked(client)
        client.tell("notifications/cancelled", requestId=1)
        told = await client.read()

    assert told == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": asked["id"]},
    }


async def test_a_modern_client_cannot_be_asked() -> None:
    async with raw_client(FixtureService()) as client:
        refused = await client.exchange(1, "tools/call", **ELICIT, _meta=ENVELOPE)

    assert refused["error"]["code"] == -32600


async def test_a_client_that_does_not_answer_in_time_is_told_that_nobody_waits() -> None:
    clock, sent, posted = FakeClock(), asyncio.Queue[Any](), []
    asking = Asking(send=sent.put, post=lambda method, params: posted.append((method, params)), clock=clock)
    waiting = asyncio.create_task(asking.ask("roots/list", {}, timeout=3))
    message = await sent.get()

    await clock.advance(3)

    with pytest.raises(RpcError, match="within 3 s") as late:
        await waiting
    assert late.value.code == -32001
    assert posted == [("notifications/cancelled", {"requestId": message["id"]})]


async def test_a_client_that_has_gone_cannot_be_asked() -> None:
    async def send(message: object) -> None:
        raise WireClosed("The client no longer reads.")

    asking = Asking(send=send, post=lambda *_: None)

    with pytest.raises(RpcError) as while_sending:
        await asking.ask("roots/list", {}, timeout=None)
    asking.close()
    with pytest.raises(RpcError) as afterwards:
        await asking.ask("roots/list", {}, timeout=None)

    assert (while_sending.value.code, afterwards.value.code) == (-32000, -32000)
