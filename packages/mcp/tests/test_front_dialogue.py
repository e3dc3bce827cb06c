"""What one client on a wire gets back, whatever it sends: raw lines in, raw lines out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from front_raw_client import ENVELOPE, INITIALIZE, call, raw_client, request
from front_services import ODD_RESULT, FixtureService, text
from process_children import until

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603


def _code(message: dict[str, Any]) -> tuple[object, int]:
    return message["id"], message["error"]["code"]


@pytest.mark.req("GW-6.2")
async def test_a_handshake_opens_the_conversation() -> None:
    async with raw_client(FixtureService()) as client:
        opened = await client.exchange(1, "initialize", **INITIALIZE)
        listed = await client.exchange("two", "tools/list")

    assert opened["result"]["protocolVersion"] == "2025-11-25"
    assert opened["result"]["instructions"] == "Ask nicely."
    assert opened["result"]["serverInfo"] == {"name": "fixture", "version": "1"}
    assert listed["id"] == "two"
    assert "resultType" not in listed["result"]


@pytest.mark.req("GW-6.2")
async def test_a_request_with_its_version_needs_no_handshake() -> None:
    async with raw_client(FixtureService()) as client:
        answer = await client.exchange(1, "tools/call", **call("echo", nonce="n1"), _meta=ENVELOPE)

    assert answer["result"]["content"] == text("n1")["content"]
    assert answer["result"]["resultType"] == "complete"


@pytest.mark.req("GW-6.6")
async def test_results_pass_as_they_are() -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        answer = await client.exchange(1, "tools/call", **call("odd"))

    assert answer["result"] == ODD_RESULT


@pytest.mark.req("GW-6.6")
async def test_errors_keep_code_message_and_data() -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        answer = await client.exchange(1, "tools/call", **call("fail"))

    assert answer["error"] == {"code": -32123, "message": "It failed.", "data": {"why": ["kept", 1]}}


async def test_a_failure_of_ours_says_nothing_about_itself(caplog: pytest.LogCaptureFixture) -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        answer = await client.exchange(1, "tools/call", **call("crash"))

    assert answer["error"] == {"code": INTERNAL, "message": "Internal error"}
    assert "could not be answered" in caplog.text


async def test_a_result_that_is_not_json_is_a_failure_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    async with raw_client(FixtureService()) as client:
        await client.shake_hands()
        answer = await client.exchange(1, "tools/call", **call("unspeakable"))

    assert _code(answer) == (1, INTERNAL)
    assert "is not JSON" in caplog.text


@pytest.mark.req("GW-6.7")
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        pytest.param(b"garbage", (None, PARSE_ERROR), id="text"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":', (7, PARSE_ERROR), id="half a request"),
        pytest.param(b'{"method":"x","params":{"a":"\xff"},"jsonrpc":"2.0","id":7}', (7, PARSE_ERROR), id="not UTF-8"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"\\ud800"}}', (7, PARSE_ERROR), id="half pair"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":%b1%b}}' % (b"[" * 5000, b"]" * 5000),
            (7, PARSE_ERROR),
            id="deep",
        ),
        pytest.param(b"[]", (None, INVALID_REQUEST), id="empty batch"),
        pytest.param(b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', (None, INVALID_REQUEST), id="batch"),
        pytest.param(b"42", (None, INVALID_REQUEST), id="number"),
        pytest.param(b"{}", (None, INVALID_REQUEST), id="empty object"),
        pytest.param(b'{"id":7,"method":"ping"}', (7, INVALID_REQUEST), id="no version"),
        pytest.param(b'{"jsonrpc":"1.0","id":7,"method":"ping"}', (7, INVALID_REQUEST), id="other version"),
        pytest.param(b'{"jsonrpc":"2.0","id":7,"method":8}', (7, INVALID_REQUEST), id="method is a number"),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"method":8}', (None, INVALID_REQUEST), id="id and method are wrong"),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (None, INVALID_REQUEST), id="id is null"),
        pytest.param(b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', (None, INVALID_REQUEST), id="id is a fraction"),
        pytest.param(b'{"jsonrpc":"2.0","id":true,"method":"ping"}', (None, INVALID_REQUEST), id="id is a boolean"),
        pytest.param(b'{"jsonrpc":"2.0","id":[7],"method":"ping"}', (None, INVALID_REQUEST), id="id is a list"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}', (7, INVALID_PARAMS), id="params by position"
        ),
    ],
)
async def test_what_is_no_request_is_refused_and_the_next_one_served(line: bytes, answer: tuple[object, int]) -> None:
    async with raw_client(FixtureService()) as client:
        client.write(line, request(8, "ping"))
        refused, served = await client.read(), await client.read()

    assert _code(refused) == answer
    assert served == {"jsonrpc": "2.0", "id": 8, "result": {}}


@pytest.mark.req("GW-6.7")
@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" \r",
        b'{"jsonrpc":"2.0","method":"notifications/made-up"}',
        b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":404}}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}',
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":99,"result":{"broken":',
    ],
)
async def test_what_asks_for_nothing_is_not_answered(line: bytes) -> None:
    async with raw_client(FixtureService()) as client:
        client.write(line, request(8, "ping"))
        served = await client.read()

    assert served == {"jsonrpc": "2.0", "id": 8, "result": {}}


@pytest.mark.req("GW-6.7")
@pytest.mark.parametrize("place", ["head", "tail"])
async def test_a_line_that_is_too_long_is_refused_under_its_id(place: str) -> None:
    long = json.dumps({"a": "x" * 5000}).encode()
    line = {
        "head": b'{"jsonrpc":"2.0","id":7,"method":"x","params":%b}' % long,
        "tail": b'{"method":"x","params":%b,"jsonrpc":"2.0","id":7}' % long,
    }[place]

    async with raw_client(FixtureService(), max_message=4096) as client:
        client.write(line, request(8, "ping"))
        refused, served = await client.read(), await client.read()

    assert refused["id"] == 7
    assert refused["error"]["data"] == {"limit": 4096}
    assert served["id"] == 8


async def test_a_byte_order_mark_at_the_beginning_is_no_part_of_the_first_request() -> None:
    async with raw_client(FixtureService()) as client:
        client.write(b"\xef\xbb\xbf" + request(1, "ping"))
        answer = await client.read()

    assert answer == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_a_request_that_does_not_wait_for_the_handshake_is_served_after_it() -> None:
    service = FixtureService()
    service.ready.clear()

    async with raw_client(service) as client:
        client.write(request(1, "initialize", **INITIALIZE), request(2, "tools/list"), request(3, "ping"))
        first = await client.read()
        service.ready.set()
        others = [await client.read(), await client.read()]

    assert first["id"] == 3
    assert [each["id"] for each in others] == [1, 2]
    assert all("result" in each for each in others)


async def test_of_two_requests_with_one_id_the_second_is_refused() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        client.write(request(1, "tools/call", **call("hang", nonce="first")))
        client.write(request(1, "tools/call", **call("echo", nonce="second")))
        refused = await client.read()
        service.release.set()
        answer = await client.read()
        again = await client.exchange(1, "tools/call", **call("echo", nonce="third"))

    assert _code(refused) == (None, INVALID_REQUEST)
    assert answer["result"] == text("first")
    assert again["result"] == text("third")


async def test_something_unreadable_with_the_id_of_a_request_under_way_does_not_answer_that() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call("hang", nonce="first"))
        client.write(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{')
        refused = await client.read()
        service.release.set()
        answer = await client.read()

    assert _code(refused) == (None, PARSE_ERROR)
    assert answer["result"] == text("first")


@pytest.mark.req("GW-6.6")
@pytest.mark.fault("F16")
@pytest.mark.parametrize("tool", ["hang", "stubborn"])
async def test_a_request_that_is_taken_back_is_stopped_and_not_answered(tool: str) -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call(tool))
        async with asyncio.timeout(5):
            await service.hanging.wait()
        client.tell("notifications/cancelled", requestId=1, reason="no longer needed")
        async with asyncio.timeout(5):
            await service.cancelled.wait()
        answer = await client.exchange(1, "tools/call", **call("echo", nonce="same id"))

    assert answer["result"] == text("same id")


async def test_a_request_that_is_taken_back_at_once_never_begins() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        taken_back = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'
        client.write(request(1, "tools/call", **call("echo")), taken_back, request(2, "tools/list"))
        answer = await client.read()

    assert answer["id"] == 2
    assert [each.method for each in service.requests] == ["tools/list"]


async def test_the_handshake_cannot_be_taken_back() -> None:
    service = FixtureService()
    service.ready.clear()

    async with raw_client(service) as client:
        client.ask(1, "initialize", **INITIALIZE)
        client.tell("notifications/cancelled", requestId=1)
        assert (await client.exchange(2, "ping"))["id"] == 2
        service.ready.set()
        answer = await client.read()

    assert answer["result"]["protocolVersion"] == "2025-11-25"


async def test_a_thousand_requests_are_worked_on_at_once_and_each_gets_its_answer() -> None:
    service = FixtureService()

    async with raw_client(service) as client:
        await client.shake_hands()
        for number in range(1, 1001):
            client.ask(number, "tools/call", **call("hang", nonce=f"n{number}"))
            await asyncio.sleep(0)
        await until(lambda: service.under_way == 1000)
        service.release.set()
        answers = {answer["id"]: answer["result"] for answer in [await client.read() for _ in range(1000)]}

    assert answers == {number: text(f"n{number}") for number in range(1, 1001)}
    assert service.most == 1000


async def test_one_request_too_many_is_refused_as_something_to_try_again() -> None:
    service = FixtureService()

    async with raw_client(service, max_requests=2) as client:
        await client.shake_hands()
        client.ask(1, "tools/call", **call("hang"))
        client.ask(2, "tools/call", **call("hang"))
        refused = await client.exchange(3, "tools/call", **call("echo"))
        service.release.set()
        answered = {(await client.read())["id"], (await client.read())["id"]}

    assert refused["error"]["data"] == {"error": "RATE_LIMITED", "retryable": True}
    assert answered == {1, 2}
