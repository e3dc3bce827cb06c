"""What servers ask of clients: put in the words of the client's era, and only where it was granted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from relay_cases import ANSWERS, GRANTS, OFFERS, PAIRS, Client, answering, failure_of, text_of, transparent
from relay_servers import QUESTION, RelayServer

from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.rpc import OnRequest, RpcError
from toolcrib_mcp.upstreams.eras import META_CAPABILITIES, Era

SAID = {"ask": "accept {'colour': 'red'}", "sample": "m says hello", "roots": "roots ['file:///home']"}
METHODS = {"ask": "elicitation/create", "sample": "sampling/createMessage", "roots": "roots/list"}


async def settled(client: Client, tool: str, result: dict[str, Any]) -> dict[str, Any]:
    """What a modern client does: answer the questions of a result, and ask again, until there are none."""
    while result.get("resultType") == "input_required":
        answers = {key: ANSWERS[asked["method"]] for key, asked in result["inputRequests"].items()}
        result = await client.call(tool, inputResponses=answers, requestState=result["requestState"])
    return result


@pytest.mark.req("GW-6.6")
@pytest.mark.req("GW-6.2")
@pytest.mark.parametrize("tool", SAID)
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_a_question_reaches_the_client_and_its_answer_the_server(front: Era, behind: Era, tool: str) -> None:
    answer, asked = answering()

    async with (
        transparent(RelayServer(era=behind), grants=GRANTS) as case,
        case.client(front, capabilities=OFFERS, on_request=answer) as client,
    ):
        first = await client.call(tool)
        result = await settled(client, tool, first)

    assert text_of(result) == SAID[tool]
    assert [method for method, _ in asked] == ([METHODS[tool]] if front is Era.HANDSHAKE else [])
    assert (first.get("resultType") == "input_required") is (front is Era.MODERN)


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_a_question_arrives_as_the_server_put_it(front: Era, behind: Era) -> None:
    answer, asked = answering()

    async with (
        transparent(RelayServer(era=behind), grants=GRANTS) as case,
        case.client(front, capabilities=OFFERS, on_request=answer) as client,
    ):
        result = await client.call("ask")

    if front is Era.MODERN:
        ((_, question),) = result["inputRequests"].items()
        asked = [(question["method"], question["params"])]
    ((method, params),) = asked
    assert method == "elicitation/create"
    assert {name: params[name] for name in ("message", "requestedSchema")} == {
        name: QUESTION[name] for name in ("message", "requestedSchema")
    }


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_a_server_may_ask_more_than_once(front: Era, behind: Era) -> None:
    answer, asked = answering()

    async with (
        transparent(RelayServer(era=behind), grants=GRANTS) as case,
        case.client(front, capabilities=OFFERS, on_request=answer) as client,
    ):
        result = await settled(client, "ask_twice", await client.call("ask_twice"))

    assert text_of(result) == ("done xx" if behind is Era.MODERN else " and ".join([SAID["ask"]] * 2))
    assert len(asked) == (2 if front is Era.HANDSHAKE else 0)


@pytest.mark.fault("F17")
@pytest.mark.parametrize("tool", SAID)
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_what_was_not_granted_is_refused(front: Era, behind: Era, tool: str) -> None:
    answer, asked = answering()

    async with (
        transparent(RelayServer(era=behind)) as case,
        case.client(front, capabilities=OFFERS, on_request=answer) as client,
    ):
        error = await failure_of(client.call(tool), UpstreamFailed)

    assert not asked
    if behind is Era.MODERN:
        assert error.rpc_data["error"] == "POLICY_DENIED"
        assert error.rpc_data["details"] == {"upstream": "fixture", "asked": METHODS[tool]}


@pytest.mark.fault("F17")
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_one_grant_is_not_another(front: Era, behind: Era) -> None:
    answer, asked = answering()

    async with (
        transparent(RelayServer(era=behind), grants=("roots",)) as case,
        case.client(front, capabilities=OFFERS, on_request=answer) as client,
    ):
        await failure_of(client.call("ask"), UpstreamFailed)

    assert not asked


@pytest.mark.fault("F17")
@pytest.mark.parametrize(("front", "behind"), PAIRS)
async def test_what_a_client_does_not_offer_is_refused(front: Era, behind: Era) -> None:
    answer, asked = answering()

    async with (
        transparent(RelayServer(era=behind), grants=GRANTS) as case,
        case.client(front, capabilities={"roots": {}}, on_request=answer) as client,
    ):
        await failure_of(client.call("ask"), UpstreamFailed)

    assert not asked


@pytest.mark.req("GW-6.8")
async def test_an_error_of_a_handshake_client_ends_the_call_of_a_modern_server() -> None:
    async def refuse(method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RpcError(-32099, "The user left.", {"when": "now"})

    async with (
        transparent(RelayServer(era=Era.MODERN), grants=GRANTS) as case,
        case.client(Era.HANDSHAKE, capabilities=OFFERS, on_request=refuse) as client,
    ):
        error = await failure_of(client.call("ask"), UpstreamFailed)

    assert (error.rpc_code, error.rpc_message, error.rpc_data) == (-32099, "The user left.", {"when": "now"})


async def test_a_modern_server_that_asks_for_ever_is_stopped() -> None:
    answer, asked = answering()

    async with (
        transparent(RelayServer(era=Era.MODERN), grants=GRANTS) as case,
        case.client(Era.HANDSHAKE, capabilities=OFFERS, on_request=answer) as client,
    ):
        error = await failure_of(client.call("ask_for_ever"), UpstreamFailed)

    assert error.rpc_data["error"] == "UPSTREAM_ERROR"
    assert "10 times" in error.rpc_message
    assert len(asked) == 10


async def test_a_modern_server_need_not_have_a_state() -> None:
    answer, asked = answering()
    server = RelayServer(era=Era.MODERN)
    server.result = {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}

    async with (
        transparent(server, grants=GRANTS) as case,
        case.client(Era.HANDSHAKE, capabilities=OFFERS, on_request=answer) as client,
    ):
        await failure_of(client.call("every"), UpstreamFailed)

    assert asked == [("roots/list", {})] * 10
    assert "requestState" not in server.params_of("tools/call")
    assert server.params_of("tools/call")["inputResponses"] == {"q": ANSWERS["roots/list"]}


@pytest.mark.parametrize("grants", [(), GRANTS])
async def test_a_modern_server_that_only_wants_to_be_asked_again_is(grants: tuple[str, ...]) -> None:
    async with (
        transparent(RelayServer(era=Era.MODERN), grants=grants) as case,
        case.client(Era.HANDSHAKE, capabilities=OFFERS) as client,
    ):
        result = await client.call("state_only")

    assert text_of(result) == "done xx"


async def test_a_modern_client_gets_the_state_of_a_modern_server_as_it_is() -> None:
    async with transparent(RelayServer(era=Era.MODERN)) as case, case.client(Era.MODERN) as client:
        first = await client.call("state_only")
        second = await client.call("state_only", requestState=first["requestState"])
        third = await client.call("state_only", requestState=second["requestState"])

    assert (first["requestState"], second["requestState"], text_of(third)) == ("x", "xx", "done xx")


@pytest.mark.parametrize("front", [Era.HANDSHAKE, Era.MODERN])
@pytest.mark.parametrize("asked", [[], {"q": "why"}, {"q": {"method": 5}}, {str(n): {} for n in range(17)}])
async def test_questions_that_are_none_fail_at_once(front: Era, asked: Any) -> None:
    server = RelayServer(era=Era.MODERN)
    server.result = {"resultType": "input_required", "inputRequests": asked or [1]}

    async with (
        transparent(server, grants=GRANTS) as case,
        case.client(front, capabilities=OFFERS) as client,
    ):
        error = await failure_of(client.call("every"), UpstreamFailed)

    assert error.rpc_data["error"] == "UPSTREAM_ERROR"


async def test_the_word_means_nothing_in_the_handshake_era() -> None:
    server = RelayServer(era=Era.HANDSHAKE)
    server.result = {"resultType": "input_required", "content": [], "inputRequests": {"q": {"method": "roots/list"}}}

    async with transparent(server) as case, case.client(Era.HANDSHAKE) as client:
        result = await client.call("every")

    assert result["content"] == []


@pytest.mark.fault("F17")
async def test_a_handshake_server_cannot_use_the_word_to_ask_a_modern_client() -> None:
    server = RelayServer(era=Era.HANDSHAKE)
    server.result = {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}}

    async with transparent(server) as case, case.client(Era.MODERN, capabilities=OFFERS) as client:
        error = await failure_of(client.call("every"), UpstreamFailed)

    assert error.rpc_data["error"] == "POLICY_DENIED"


@pytest.mark.req("GW-6.6")
async def test_two_clients_are_asked_apart() -> None:
    def told(colour: str) -> OnRequest:
        return answering({"elicitation/create": {"action": "accept", "content": {"colour": colour}}})[0]

    async with (
        transparent(RelayServer(era=Era.HANDSHAKE), grants=GRANTS) as case,
        case.client(Era.HANDSHAKE, capabilities=OFFERS, on_request=told("red")) as one,
        case.client(Era.HANDSHAKE, capabilities=OFFERS, on_request=told("blue")) as other,
    ):
        results = await asyncio.gather(*(client.call("ask") for client in (one, other) for _ in range(5)))

    assert [text_of(each) for each in results] == ["accept {'colour': 'red'}"] * 5 + ["accept {'colour': 'blue'}"] * 5


@pytest.mark.req("GW-6.6")
async def test_a_modern_server_is_told_with_each_request_what_of_the_client_it_may_use() -> None:
    server = RelayServer(era=Era.MODERN)

    async with transparent(server, grants=("elicitation",)) as case:
        async with case.client(Era.MODERN, capabilities=OFFERS) as client:
            await client.call("ask")
        granted = server.params_of("tools/call")["_meta"][META_CAPABILITIES]
        async with case.client(Era.MODERN, capabilities={}) as client:
            await client.call("echo")
        offered_nothing = server.params_of("tools/call")["_meta"][META_CAPABILITIES]

    assert granted == {"elicitation": OFFERS["elicitation"]}
    assert offered_nothing == {}
