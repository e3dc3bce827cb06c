"""A server that was granted something of its clients speaks with each of them over a connection of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hub_cases import ABLE, CALL, ECHOED, FORM, Heard, caller, config_file, eventually, granted, hub_of, program
from process_children import alive, nothing_left
from scripted_servers import ScriptedServer

from toolcrib_mcp.errors import UpstreamBusy
from toolcrib_mcp.hub import Hub, HubLimits
from toolcrib_mcp.rpc import RpcError
from toolcrib_runtime.testing import FakeClock


class Asked:
    """A client that answers what it is asked."""

    def __init__(self, answer: dict[str, Any] | RpcError | None = None) -> None:
        self.questions: list[str] = []
        self._answer = answer if answer is not None else {"action": "accept"}

    async def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.questions.append(method)
        if isinstance(self._answer, RpcError):
            raise self._answer
        return self._answer


@pytest.mark.req("GW-6.6")
async def test_what_a_server_asks_goes_to_the_client_whose_request_is_under_way() -> None:
    server, client = ScriptedServer(), Asked()

    async with granted(server, "elicitation") as hub:
        async with hub.lease("files", caller(capabilities=ABLE), on_request=client.answer) as upstream:
            await upstream.call("tools/call", CALL)
            await server.ask("elicitation/create")
            await server.until_heard("")
        offered = server.params_of("initialize")["capabilities"]

    assert client.questions == ["elicitation/create"]
    assert server.params_of("")["result"] == {"action": "accept"}
    assert offered == FORM


@pytest.mark.fault("F17")
async def test_what_was_not_granted_is_refused_beside_what_was() -> None:
    server, client = ScriptedServer(), Asked()

    async with (
        granted(server, "elicitation") as hub,
        hub.lease("files", caller(capabilities=ABLE), on_request=client.answer) as upstream,
    ):
        await upstream.call("tools/call", CALL)
        await server.ask("sampling/createMessage")
        await server.until_heard("")

    assert server.params_of("")["error"]["code"] == -32601
    assert client.questions == []


@pytest.mark.fault("F17")
async def test_a_server_that_asks_when_no_request_is_under_way_is_refused() -> None:
    server, client = ScriptedServer(), Asked()

    async with granted(server, "elicitation") as hub:
        async with hub.lease("files", caller(capabilities=ABLE), on_request=client.answer) as upstream:
            await upstream.call("tools/call", CALL)
        await server.ask("elicitation/create")
        await server.until_heard("")

    assert server.params_of("")["error"]["code"] == -32601
    assert client.questions == []


async def test_the_latest_request_that_can_be_asked_is() -> None:
    server, one, other = ScriptedServer(), Asked(), Asked(RpcError(-1, "The user is away."))
    client = caller(capabilities=ABLE)

    async with (
        granted(server, "elicitation") as hub,
        hub.lease("files", client, on_request=one.answer) as upstream,
        hub.lease("files", client, on_request=other.answer),
        hub.lease("files", client),
    ):
        await upstream.call("tools/call", CALL)
        await server.ask("elicitation/create")
        await server.until_heard("")

    assert (one.questions, other.questions) == ([], ["elicitation/create"])
    assert server.params_of("")["error"] == {"code": -1, "message": "The user is away."}


async def test_every_conversation_has_a_server_of_its_own_until_it_ends() -> None:
    server = ScriptedServer()
    one, other = caller(capabilities=ABLE), caller(capabilities=ABLE, conversation="c2")

    async with granted(server, "elicitation") as hub:
        async with hub.lease("files", one) as first, hub.lease("files", other) as second:
            await first.call("tools/call", CALL)
            await second.call("tools/call", CALL)
        async with hub.lease("files", one) as again:
            await again.call("tools/call", CALL)
        lives, running = server.lives, hub.status().totals.private
        await hub.end("c1")
        left = hub.status().totals.private
        async with hub.lease("files", one) as anew:
            result = await anew.call("tools/call", CALL)

    assert first is again
    assert len({first, second, hub.shared("files"), anew}) == 4
    assert (lives, running, left) == (2, 2, 1)
    assert result == ECHOED


async def test_a_client_that_offers_nothing_granted_speaks_over_the_shared_connection() -> None:
    server = ScriptedServer()

    async with (
        granted(server, "elicitation") as hub,
        hub.lease("files", caller(capabilities={"roots": {}})) as upstream,
    ):
        assert upstream is hub.shared("files")


async def test_a_private_server_does_not_read_its_tools_again() -> None:
    server = ScriptedServer()

    async with granted(server, "elicitation") as hub:
        await hub.start(timeout=5)
        async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
            await upstream.start()
            await upstream.call("tools/call", CALL)

    assert server.lives == 2
    assert server.methods.count("tools/list") == 1
    assert server.methods.count("server/discover") == 1, "a handshake is tried first for a handshaking client"


async def test_log_messages_of_a_private_server_are_for_its_conversation() -> None:
    server = ScriptedServer()

    async with granted(server, "logging") as hub:
        heard = Heard(hub)
        async with hub.lease("files", caller()) as upstream:
            await upstream.call("tools/call", CALL)
        await server.tell("notifications/message", level="info", data="x")
        await heard.until(bool)

    assert upstream is not hub.shared("files")
    assert [(each.method, each.to) for each in heard.notices] == [("notifications/message", frozenset({"c1"}))]


async def test_log_messages_of_a_private_server_are_dropped_unless_granted() -> None:
    server = ScriptedServer()

    async with granted(server, "elicitation") as hub:
        heard = Heard(hub)
        async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
            await upstream.call("tools/call", CALL)
            await server.tell("notifications/message", level="info", data="x")
            await server.tell("notifications/custom")
            await heard.until(bool)

    assert heard.methods == ["notifications/custom"]


async def test_the_sole_client_hears_all_its_servers_without_a_grant() -> None:
    server = ScriptedServer()

    async with granted(server, "elicitation", solo=True) as hub:
        heard = Heard(hub)
        async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
            await upstream.call("tools/call", CALL)
        await server.tell("notifications/message", level="info", data="x")
        await heard.until(bool)

    assert upstream is not hub.shared("files")
    assert heard.methods == ["notifications/message"]


async def test_a_private_server_that_nobody_uses_is_ended_until_it_is_needed() -> None:
    server, clock = ScriptedServer(), FakeClock()

    async with granted(server, "elicitation", clock=clock, limits=HubLimits(idle_after=300)) as hub:
        async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
            await upstream.call("tools/call", CALL)
        await clock.advance(299)
        before = hub.status().totals.private
        await clock.advance(1)
        await eventually(lambda: upstream.agreement is None)
        after = hub.status().totals.private
        async with hub.lease("files", caller(capabilities=ABLE)) as again:
            result = await again.call("tools/call", CALL)

    assert (before, after) == (1, 0)
    assert again is upstream
    assert result == ECHOED
    assert server.lives == 2


async def test_a_private_server_that_dies_is_started_again_only_when_it_is_needed() -> None:
    server = ScriptedServer()
    ours = {"servers": {"files": {"grants": ["elicitation"], "restart": {"initialDelay": 0.01}}}}

    async with (
        hub_of({"files": server.connect}, ours=ours) as hub,
        hub.lease("files", caller(capabilities=ABLE)) as upstream,
    ):
        await upstream.call("tools/call", CALL)
        await server.die(status=1)
        await eventually(lambda: upstream.agreement is None)
        lives = server.lives
        result = await upstream.call("tools/call", CALL)

    assert (lives, server.lives) == (1, 2)
    assert result == ECHOED


async def test_beyond_the_bound_no_more_private_servers_are_started() -> None:
    server = ScriptedServer()

    async with granted(server, "elicitation", limits=HubLimits(max_private=1)) as hub:
        async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
            await upstream.call("tools/call", CALL)
        with pytest.raises(UpstreamBusy, match="No more than 1 server may run") as raised:
            async with hub.lease("files", caller(capabilities=ABLE, conversation="c2")):
                pass
        await hub.end("c1")
        async with hub.lease("files", caller(capabilities=ABLE, conversation="c2")) as other:
            result = await other.call("tools/call", CALL)

    assert raised.value.details["sent"] is False
    assert result == ECHOED


async def test_a_private_server_that_rests_makes_room_for_another() -> None:
    server, clock = ScriptedServer(), FakeClock()

    async with granted(server, "elicitation", clock=clock, limits=HubLimits(max_private=1, idle_after=10)) as hub:
        async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
            await upstream.call("tools/call", CALL)
        await clock.advance(10)
        await eventually(lambda: upstream.agreement is None)
        async with hub.lease("files", caller(capabilities=ABLE, conversation="c2")) as other:
            result = await other.call("tools/call", CALL)

    assert result == ECHOED
    assert other is not upstream


@pytest.mark.req("GW-6.4")
async def test_nothing_is_left_of_the_processes_of_a_conversation_that_ended(tmp_path: Path) -> None:
    async with nothing_left() as family:
        config = config_file(tmp_path, {"files": program(family)}, servers={"files": {"grants": ["elicitation"]}})
        async with Hub(config) as hub:
            async with hub.lease("files", caller(capabilities=ABLE)) as upstream:
                await upstream.agreed(timeout=10)
            running = len(alive(family))
            await hub.end("c1")
            left = alive(family)

    assert running >= 1
    assert left == set()
