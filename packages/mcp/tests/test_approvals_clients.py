"""Approvals and idempotency keys as unmodified clients meet them, in both eras and over servers of both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp.types as t
import pytest
from approval_cases import FORMS, GuardedCase, guarded
from mcp import Client
from proxy_cases import error_of
from relay_cases import text_of
from relay_servers import RelayServer
from scripted_servers import ECHO, ScriptedServer
from toolbox_cases import sdk_streams

from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.idempotency import META_KEY, META_REPLAYED
from toolcrib_mcp.upstreams import Era

both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])
both_sides = pytest.mark.parametrize(
    ("mode", "behind"), [(mode, era) for mode in ("legacy", "auto") for era in (Era.HANDSHAKE, Era.MODERN)]
)
GRANTED = {"servers": {"box": {"grants": ["elicitation"]}}}
ACCEPT = t.ElicitResult(action="accept", content={"answer": "once", "colour": "red"})


class Person:
    """Answers what the client asks, and remembers it."""

    def __init__(self, answer: t.ElicitResult = ACCEPT) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(self, _context: Any, params: t.ElicitRequestParams) -> t.ElicitResult:
        self.asked.append(params.message)
        own = set(getattr(params, "requested_schema", {}).get("properties", {}))
        content = self.answer.content and {name: value for name, value in self.answer.content.items() if name in own}
        return t.ElicitResult(action=self.answer.action, content=content)

    @property
    def approvals(self) -> int:
        return sum("Why you are asked:" in each for each in self.asked)


@asynccontextmanager
async def client_of(case: GuardedCase, mode: Any, person: Person | None = None) -> AsyncIterator[Client]:
    options: dict[str, Any] = {} if person is None else {"elicitation_callback": person}
    async with (
        asyncio.timeout(60),
        Client(sdk_streams(case.service), mode=mode, cache=None, **options) as client,  # type: ignore[arg-type]  # a service as well
    ):
        yield client


async def execute(client: Client, tool_id: str, /, **args: Any) -> t.CallToolResult:
    return await client.call_tool("tool_execute", {"tool_id": tool_id, "args": args})


def told(result: t.CallToolResult) -> dict[str, Any]:
    assert result.is_error
    block = result.content[0]
    assert isinstance(block, t.TextContent)
    error: dict[str, Any] = json.loads(block.text)
    return error


def calls_of(server: RelayServer) -> list[dict[str, Any]]:
    return [params for method, params in server.heard if method == "tools/call"]


@pytest.mark.req("GW-8.4")
@both_sides
async def test_the_user_of_an_official_client_allows_a_call(tmp_path: Path, mode: str, behind: Era) -> None:
    server, person = RelayServer("box", era=behind), Person()

    async with guarded(tmp_path, {"box": server}) as case, client_of(case, mode, person) as client:
        result = await execute(client, "box__echo", nonce="n1")

    assert not result.is_error
    assert person.approvals == len(person.asked) == 1
    assert '{"nonce":"n1"}' in person.asked[0]
    (call,) = calls_of(server)
    assert not {"requestState", "inputResponses"} & set(call)


@pytest.mark.req("GW-8.4")
@both_eras
async def test_the_user_of_an_official_client_refuses_a_call(tmp_path: Path, mode: str) -> None:
    server, person = RelayServer("box"), Person(t.ElicitResult(action="decline"))

    async with guarded(tmp_path, {"box": server}) as case, client_of(case, mode, person) as client:
        error = told(await execute(client, "box__echo"))

    assert (error["error"], error["retryable"]) == ("POLICY_DENIED", False)
    assert calls_of(server) == []


@pytest.mark.req("GW-8.4")
@both_sides
@pytest.mark.parametrize("tool", ["ask", "ask_twice"])
async def test_what_the_server_asks_of_an_allowed_call_needs_no_second_approval(
    tmp_path: Path, mode: str, behind: Era, tool: str
) -> None:
    server, person = RelayServer("box", era=behind), Person()

    async with guarded(tmp_path, {"box": server}, ours=GRANTED) as case, client_of(case, mode, person) as client:
        result = await execute(client, f"box__{tool}")

    assert not result.is_error
    assert person.approvals == 1
    assert len(person.asked) == (2 if tool == "ask" else 3)
    states = [str(call.get("requestState", "")) for call in calls_of(server)]
    assert not any(state.startswith("toolcrib-") for state in states)


@pytest.mark.req("GW-8.4")
@both_eras
async def test_for_a_client_that_cannot_ask_a_person_decides_elsewhere(tmp_path: Path, mode: str) -> None:
    server = RelayServer("box")

    async with guarded(tmp_path, {"box": server}) as case, client_of(case, mode) as client:
        error = told(await execute(client, "box__echo", nonce="n1"))
        case.desk.book.grant(error["details"]["approvalId"], by="ann")
        other = told(await execute(client, "box__echo", nonce="n2"))
        result = await execute(client, "box__echo", nonce="n1")
        again = told(await execute(client, "box__echo", nonce="n1"))

    assert [each["error"] for each in (error, other, again)] == ["APPROVAL_REQUIRED"] * 3
    assert not result.is_error
    assert len(calls_of(server)) == 1


async def test_of_200_equal_calls_at_once_one_reaches_the_server(tmp_path: Path) -> None:
    server = RelayServer("box")

    async with guarded(tmp_path, {"box": server}) as case, client_of(case, "auto") as client:
        error = told(await execute(client, "box__echo"))
        case.desk.book.grant(error["details"]["approvalId"], by="ann")
        results = await asyncio.gather(*(execute(client, "box__echo") for _ in range(200)))

    assert sum(not each.is_error for each in results) == 1
    assert len(calls_of(server)) == 1


# Effects


class Bank(ScriptedServer):
    """Books every transfer, and is gone before it can say so."""

    def __init__(self, *, drops: bool = True) -> None:
        answers: dict[str, Any] = {"tools/list": {"tools": [{**ECHO, "name": "transfer"}]}}
        super().__init__(**answers, **{"tools/call": self._transfer})
        self.booked: list[Any] = []
        self.drops = drops

    async def _transfer(self, params: dict[str, Any]) -> dict[str, Any]:
        self.booked.append(params["arguments"])
        if self.drops:
            await self.die("The power went.")
        return {"content": [{"type": "text", "text": f"booked {len(self.booked)}"}]}


async def transferred(case: GuardedCase, *, key: str | None = "k1", amount: int = 5) -> dict[str, Any]:
    """A transfer by a client whose user says yes to everything."""

    class Yes:
        async def notify(self, *_: Any) -> None: ...

        async def ask(self, *_: Any, **__: Any) -> dict[str, Any]:
            return {"action": "accept", "content": {"answer": "once"}}

    params = {"name": "tool_execute", "arguments": {"tool_id": "bank__transfer", "args": {"amount": amount}}}
    caller = Caller(era=Era.HANDSHAKE, protocol_version="2025-11-25", capabilities=FORMS, conversation="c1")
    meta = {} if key is None else {"_meta": {META_KEY: key}}
    request = Request(method="tools/call", params={**params, **meta}, caller=caller, channel=Yes())
    return dict(await case.service.answer(request))


@pytest.mark.req("GW-8.4")
@pytest.mark.fault("F2")
async def test_a_server_that_did_its_work_and_dropped_the_reply_is_never_asked_twice(tmp_path: Path) -> None:
    bank = Bank()

    async with guarded(tmp_path, {"bank": bank}) as case:
        errors = [error_of(await transferred(case)) for _ in range(3)]
        bank.drops = False
        errors += [error_of(await transferred(case)) for _ in range(2)]
        errors += [error_of(each) for each in await asyncio.gather(*(transferred(case) for _ in range(20)))]
    async with guarded(tmp_path, {"bank": bank}) as case:
        errors.append(error_of(await transferred(case)))
        conflict = error_of(await transferred(case, amount=6))

    assert {each["error"] for each in errors} == {"OUTCOME_UNKNOWN"}
    assert not any(each["retryable"] for each in errors)
    assert conflict["error"] == "ARGS_INVALID"
    assert bank.booked == [{"amount": 5}]


async def test_a_client_that_tries_again_gets_the_result_of_the_first_time(tmp_path: Path) -> None:
    bank = Bank(drops=False)

    async with guarded(tmp_path, {"bank": bank}) as case:
        first = await transferred(case)
        results = await asyncio.gather(*(transferred(case) for _ in range(20)))
    async with guarded(tmp_path, {"bank": bank}) as case:
        results.append(await transferred(case))
        other = await transferred(case, key="k2")

    assert text_of(first) == "booked 1"
    assert {text_of(each) for each in results} == {"booked 1"}
    assert all(each["_meta"][META_REPLAYED] for each in results)
    assert text_of(other) == "booked 2"


async def test_without_a_key_a_client_is_told_that_nobody_knows(tmp_path: Path) -> None:
    bank = Bank()

    async with guarded(tmp_path, {"bank": bank}) as case:
        error = error_of(await transferred(case, key=None))

    assert (error["error"], error["retryable"]) == ("OUTCOME_UNKNOWN", False)
    assert len(bank.booked) == 1
