from __future__ import annotations

import asyncio
from typing import Any, Self

import pytest
from scripted_servers import ECHO, MODERN, UNKNOWN, ScriptedServer

from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.rpc import RpcError, Unreadable
from toolcrib_mcp.upstreams import Listing, ListKind, Upstream, UpstreamHooks, UpstreamSettings
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("GW-6.5")

CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TELLS = {**MODERN, "capabilities": {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "logging": {}}}


class Case:
    """A server, an upstream to it, and what is told of its lists, at a time that stands still."""

    def __init__(self, server: ScriptedServer, **settings: Any) -> None:
        self.clock = FakeClock()
        self.server = server
        self.tools: list[tuple[str, ...]] = []
        self.changed: list[ListKind] = []
        self.upstream = Upstream(
            "files",
            server.connect,
            settings=UpstreamSettings(**settings),
            hooks=UpstreamHooks(on_tools=self._take, on_changed=self.changed.append),
            clock=self.clock,
        )

    def _take(self, listing: Listing) -> None:
        self.tools.append(tuple(tool["name"] for tool in listing.items))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.upstream.aclose(drain=0)

    async def until(self, condition: Any) -> None:
        async with asyncio.timeout(5):
            while not condition():
                await self.clock.advance(0)


def has(*names: str) -> dict[str, Any]:
    return {"tools": [{**ECHO, "name": name} for name in names]}


async def test_a_change_reads_all_tools_of_that_server_again() -> None:
    async with Case(ScriptedServer(**{"tools/list": has("a", "b")})) as case:
        await case.upstream.start()
        case.server.answers["tools/list"] = has("a", "b", "c")

        await case.server.tell(CHANGED)
        await case.clock.advance(0.25)
        await case.until(lambda: len(case.tools) == 2)

        assert case.tools == [("a", "b"), ("a", "b", "c")]
        assert case.upstream.known_tools.pages == 1


@pytest.mark.fault("F11")
async def test_a_storm_of_changes_is_read_a_few_times_and_ends_with_the_truth() -> None:
    async with Case(ScriptedServer(**{"tools/list": has("first")})) as case:
        await case.upstream.start()
        for number in range(100):
            for _ in range(30):
                await case.server.tell(CHANGED)
            case.server.answers["tools/list"] = has(f"at_{number}")
            await case.clock.advance(0.03)
        await case.clock.advance(3)
        await case.until(lambda: case.tools[-1] == ("at_99",))

        assert 3 <= len(case.tools) <= 4
        assert case.upstream.health().noise == {}


@pytest.mark.fault("F11")
async def test_what_is_known_stays_the_same_between_two_readings() -> None:
    async with Case(ScriptedServer(**{"tools/list": has("a")})) as case:
        await case.upstream.start()
        before = case.upstream.known_tools
        case.server.answers["tools/list"] = has("b")

        await case.server.tell(CHANGED)
        await case.clock.advance(0.2)

        assert case.upstream.known_tools is before


async def test_tools_that_cannot_be_read_again_stay_known_and_are_tried_again() -> None:
    async with Case(ScriptedServer(**{"tools/list": has("a")})) as case:
        await case.upstream.start()
        case.server.answers["tools/list"] = RpcError(-32603, "boom")
        await case.server.tell(CHANGED)
        await case.clock.advance(0.25)
        await case.until(lambda: case.upstream.health().tools_problem is not None)

        tools = await case.upstream.tools()
        case.server.answers["tools/list"] = has("b")
        await case.clock.advance(1.25)
        await case.until(lambda: len(case.tools) == 2)

        assert [tool["name"] for tool in tools.items] == ["a"]
        assert case.tools == [("a",), ("b",)]
        assert case.upstream.health().tools_problem is None


@pytest.mark.fault("F8")
async def test_a_list_without_an_end_is_served_as_far_as_it_was_read_and_reported() -> None:
    async with Case(ScriptedServer(**{"tools/list": {**has("a", "b"), "nextCursor": "again"}})) as case:
        tools = await case.upstream.tools()

        assert [tool["name"] for tool in tools.items] == ["a", "b"]
        assert case.upstream.health().tools_problem["code"] == "toolbox.listing-incomplete"


async def test_a_list_that_breaks_off_is_not_served_in_part() -> None:
    answers = iter([{**has("a"), "nextCursor": "1"}, RpcError(-32603, "boom")])
    async with Case(ScriptedServer(**{"tools/list": lambda _: next(answers)})) as case:
        with pytest.raises(Exception, match="was not read to its end"):
            await case.upstream.tools()

        assert case.upstream.known_tools is None


async def test_a_listener_that_fails_keeps_nobody_from_the_tools(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Listing) -> None:
        raise RuntimeError("not my day")

    async with Upstream("files", ScriptedServer().connect, hooks=UpstreamHooks(on_tools=fail)) as files:
        tools = await files.tools()

    assert tools.items == (ECHO,)
    assert "a listener failed" in caplog.text


async def test_who_waits_for_tools_when_the_server_ends_is_told() -> None:
    async with Case(ScriptedServer(**{"tools/list": None})) as case:
        waiting = asyncio.create_task(case.upstream.tools())
        await case.server.until_heard("tools/list")

        await case.server.die()

        with pytest.raises(UpstreamUnavailable):
            await waiting


async def test_changes_of_other_lists_are_told_and_not_read() -> None:
    async with Case(ScriptedServer()) as case:
        await case.upstream.start()

        for _ in range(3):
            await case.server.tell("notifications/prompts/list_changed")
            await case.server.tell("notifications/resources/list_changed")
        await case.clock.advance(0.25)
        await case.until(lambda: case.changed)

        assert case.changed == [ListKind.PROMPTS, ListKind.RESOURCES]
        assert len(case.tools) == 1


def modern(**answers: Any) -> ScriptedServer:
    return ScriptedServer(**{"server/discover": TELLS, "initialize": UNKNOWN, "subscriptions/listen": None, **answers})


@pytest.mark.req("GW-6.2")
async def test_a_modern_server_is_asked_to_tell_of_changes_before_its_tools_are_read() -> None:
    async with Case(modern()) as case:
        starting = asyncio.create_task(case.upstream.start())
        await case.server.until_heard("subscriptions/listen")
        await case.server.tell(ACKNOWLEDGED)
        await starting

        assert case.server.methods == ["server/discover", "subscriptions/listen", "tools/list"]
        wanted = case.server.params_of("subscriptions/listen")["notifications"]
        assert wanted == {"toolsListChanged": True, "promptsListChanged": True}


@pytest.mark.req("GW-6.2")
async def test_a_modern_server_that_tells_of_a_change_is_read_again() -> None:
    async with Case(modern()) as case:
        starting = asyncio.create_task(case.upstream.start())
        await case.server.until_heard("subscriptions/listen")
        await case.server.tell(ACKNOWLEDGED)
        await starting
        case.server.answers["tools/list"] = has("new")

        await case.server.tell(CHANGED)
        await case.clock.advance(0.25)

        await case.until(lambda: case.tools[-1] == ("new",))


async def test_a_modern_server_that_never_acknowledges_is_read_all_the_same() -> None:
    async with Case(modern()) as case:
        starting = asyncio.create_task(case.upstream.start())
        await case.server.until_heard("subscriptions/listen")
        await case.clock.advance(1)
        await starting

        await case.server.tell(ACKNOWLEDGED)
        await case.clock.advance(0.25)
        await case.until(lambda: len(case.tools) == 2)


async def test_a_modern_server_that_refuses_to_tell_is_read_at_once_and_not_asked_again() -> None:
    async with Case(modern(**{"subscriptions/listen": UNKNOWN})) as case:
        await case.upstream.start()
        await case.clock.advance(100)

        assert case.server.methods.count("subscriptions/listen") == 1


async def test_a_stream_of_changes_that_ends_is_opened_again_and_the_gap_is_read() -> None:
    ended = asyncio.Event()

    async def stream(_params: dict[str, Any]) -> dict[str, Any]:
        await ended.wait()
        return {}

    async with Case(modern(**{"subscriptions/listen": stream})) as case:
        starting = asyncio.create_task(case.upstream.start())
        await case.server.until_heard("subscriptions/listen")
        await case.server.tell(ACKNOWLEDGED)
        await starting
        case.server.answers |= {"tools/list": has("changed_meanwhile"), "subscriptions/listen": None}

        ended.set()
        await case.clock.advance(1)
        await case.server.until_heard("subscriptions/listen", 2)
        await case.server.tell(ACKNOWLEDGED)
        await case.clock.advance(0.25)

        await case.until(lambda: case.tools[-1] == ("changed_meanwhile",))


async def test_a_stream_that_breaks_is_opened_again_less_and_less_often() -> None:
    broken = Unreadable(reason="it broke off", excerpt="")
    async with Case(modern(**{"subscriptions/listen": broken})) as case:
        starting = asyncio.create_task(case.upstream.start())
        await case.clock.advance(60)
        await starting

        assert 4 <= case.server.methods.count("subscriptions/listen") <= 6
