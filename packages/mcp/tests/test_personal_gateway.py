"""Every principal sees their own tools beside those of everybody, and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from hub_cases import caller, hub_of
from proxy_cases import Channel, error_of

from toolcrib_core import UnknownTool
from toolcrib_mcp.front import Caller, Identity, Request, connect_service
from toolcrib_mcp.gateway import Gateway
from toolcrib_mcp.gateway.shelf import owner_of
from toolcrib_mcp.personal import Members, PersonalGatewayService, PersonalServer
from toolcrib_mcp.toolboxes import ToolboxService
from toolcrib_mcp.upstreams import Connect, Era
from toolcrib_runtime import create_tool, create_toolbox

ALICE = caller(principal="alice", conversation="a")
BOB = caller(principal="bob", conversation="b")


def _toolbox(said: str, *names: str) -> Connect:
    def make(name: str) -> Any:
        def answer() -> str:
            return f"{said} {name}"

        return create_tool(answer, name=name, description=f"Answer {name}.", effects="read")

    service = ToolboxService(create_toolbox([make(each) for each in names]), version="1")
    return connect_service(service)


class Shelf:
    """Who has which servers right now."""

    def __init__(self) -> None:
        self.servers: dict[str, dict[str, PersonalServer]] = {}
        self.asked: list[Identity] = []

    def put(self, principal: str, name: str, connect: Connect, version: str = "1") -> None:
        self.servers.setdefault(principal, {})[name] = PersonalServer(name=name, version=version, connect=connect)

    async def of(self, who: Identity) -> Sequence[PersonalServer]:
        self.asked.append(who)
        mine = self.servers.get(who.name, {}).values()
        return [each for each in mine if who.scopes is None or each.name in who.scopes]


class Case:
    def __init__(self, service: PersonalGatewayService) -> None:
        self.service = service

    async def call(self, name: str, arguments: Mapping[str, Any], by: Caller) -> dict[str, Any]:
        params = {"name": name, "arguments": arguments}
        request = Request(method="tools/call", params=params, caller=by, channel=Channel())
        return dict(await self.service.answer(request))

    async def ids(self, by: Caller, **arguments: Any) -> list[str]:
        page = await self.call("tool_browse", arguments or {"query": "answer"}, by)
        return sorted(each["id"].partition("#")[0] for each in page["_meta"]["io.toolcrib/cards"]["cards"])

    async def full_id(self, tool: str, by: Caller) -> str:
        page = await self.call("tool_browse", {"query": "answer", "limit": 20}, by)
        found = [each["id"] for each in page["_meta"]["io.toolcrib/cards"]["cards"]]
        return next(each for each in found if each.partition("#")[0] == tool)

    async def said(self, tool: str, by: Caller) -> str:
        tool_id = await self.full_id(tool, by)
        result = await self.call("tool_execute", {"tool_id": tool_id, "args": {}}, by)
        assert not result.get("isError"), result
        return str(result["content"][0]["text"])


@asynccontextmanager
async def personal(shelf: Shelf, **options: Any) -> AsyncIterator[Case]:
    hub = hub_of({"common": _toolbox("everybody's", "clock", "search")})
    async with hub:
        await hub.start(timeout=5)
        service = PersonalGatewayService(Gateway(hub), Members(hub, shelf, **options))
        try:
            yield Case(service)
        finally:
            await service.aclose()


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.put("alice", "mail", _toolbox("alice's", "inbox"))
    shelf.put("bob", "notes", _toolbox("bob's", "note"))
    return shelf


@pytest.mark.parametrize("era", list(Era))
async def test_a_principal_finds_and_calls_their_own_tools_and_those_of_everybody(shelf: Shelf, era: Era) -> None:
    alice, bob = caller(era, principal="alice"), caller(era, principal="bob")
    async with personal(shelf) as case:
        assert await case.ids(alice) == ["common:clock", "common:search", "mail:inbox"]
        assert await case.ids(bob) == ["common:clock", "common:search", "notes:note"]
        assert await case.ids(alice, path="/") == ["/common", "/mail"]
        assert await case.said("mail:inbox", alice) == "alice's inbox"
        assert await case.said("common:clock", bob) == "everybody's clock"


async def test_nobody_reaches_the_tools_of_somebody_else(shelf: Shelf) -> None:
    async with personal(shelf) as case:
        theirs = await case.full_id("mail:inbox", ALICE)
        refused = error_of(await case.call("tool_execute", {"tool_id": theirs, "args": {}}, BOB))
        guessed = error_of(await case.call("tool_execute", {"tool_id": "mail:none", "args": {}}, BOB))
        place = error_of(await case.call("tool_browse", {"path": "/mail"}, BOB))

    assert refused["error"] == guessed["error"] == "TOOL_NOT_FOUND"
    assert place["error"] == "PATH_NOT_FOUND"
    assert "inbox" not in str(refused).replace(theirs, "") + str(place)


async def test_a_caller_whom_nobody_asked_sees_what_everybody_sees(shelf: Shelf) -> None:
    async with personal(shelf) as case:
        assert await case.ids(caller()) == ["common:clock", "common:search"]
    assert shelf.asked == []


async def test_what_comes_goes_or_changes_is_seen_at_the_next_request(shelf: Shelf) -> None:
    async with personal(shelf) as case:
        before = await case.full_id("mail:inbox", ALICE)
        del shelf.servers["alice"]["mail"]
        assert await case.ids(ALICE) == ["common:clock", "common:search"]
        gone = error_of(await case.call("tool_execute", {"tool_id": before, "args": {}}, ALICE))
        assert gone["error"] == "TOOL_NOT_FOUND"
        shelf.put("alice", "mail", _toolbox("the new", "inbox", "outbox"), version="2")
        assert await case.said("mail:inbox", ALICE) == "the new inbox"
        assert "mail:outbox" in await case.ids(ALICE)


async def test_a_token_that_is_limited_reaches_only_what_its_scopes_name(shelf: Shelf) -> None:
    shelf.put("alice", "bank", _toolbox("alice's", "transfer"))
    limited = caller(principal="alice", scopes=frozenset({"mail"}))
    async with personal(shelf) as case:
        assert await case.ids(limited) == ["common:clock", "common:search", "mail:inbox"]
        assert "bank:transfer" in await case.ids(ALICE)
        theirs = await case.full_id("bank:transfer", ALICE)
        refused = error_of(await case.call("tool_execute", {"tool_id": theirs, "args": {}}, limited))

    assert refused["error"] == "TOOL_NOT_FOUND"


async def test_a_server_of_ones_own_that_is_called_like_a_common_one_hides_nothing(shelf: Shelf) -> None:
    shelf.put("alice", "Common", _toolbox("alice's", "clock"))
    async with personal(shelf) as case:
        assert await case.said("common:clock", ALICE) == "everybody's clock"
        own = [each for each in await case.ids(ALICE, query="answer clock") if each.startswith("my-")]
        assert len(own) == 1
        assert await case.said(own[0], ALICE) == "alice's clock"


async def test_who_came_least_recently_is_let_go_and_may_come_back(shelf: Shelf) -> None:
    async with personal(shelf, most=1) as case:
        for _ in range(2):
            assert await case.said("mail:inbox", ALICE) == "alice's inbox"
            assert await case.said("notes:note", BOB) == "bob's note"


async def test_what_others_have_costs_a_principal_nothing(shelf: Shelf) -> None:
    async with personal(shelf) as case:
        before = case.service.gateway.hub.catalog.snapshot()
        await case.ids(ALICE)
        await case.ids(BOB)

        assert case.service.gateway.hub.catalog.snapshot() is before
        assert sorted(each.partition("#")[0] for each in before.ids) == ["common:clock", "common:search"]


async def test_names_that_would_meet_are_told_apart(shelf: Shelf) -> None:
    hub = hub_of({"common": _toolbox("everybody's", "clock"), "my-common": _toolbox("everybody's other", "clock")})
    for name in ("Common", "My-Common", "my-my-my-common", "-common", "mail-2", "--mail-2"):
        shelf.put("alice", name, _toolbox(f"alice's {name}", "clock"))
    async with hub:
        await hub.start(timeout=5)
        service = PersonalGatewayService(Gateway(hub), Members(hub, shelf))
        try:
            case = Case(service)
            ids = await case.ids(ALICE, query="answer clock", limit=20)
            said = [await case.said(each, ALICE) for each in ids if each.endswith(":clock")]
        finally:
            await service.aclose()

    assert sorted(said) == [
        "alice's --mail-2 clock",
        "alice's -common clock",
        "alice's Common clock",
        "alice's My-Common clock",
        "alice's mail-2 clock",
        "alice's my-my-my-common clock",
        "everybody's clock",
        "everybody's other clock",
    ]


@pytest.mark.req("GW-8.5")
async def test_who_goes_while_their_servers_start_leaves_nothing_behind(shelf: Shelf) -> None:
    starting, ended = asyncio.Event(), asyncio.Event()

    async def never() -> Any:
        starting.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    shelf.put("alice", "slow", never)
    before = asyncio.all_tasks()
    async with personal(shelf) as case:
        asked = asyncio.create_task(case.ids(ALICE))
        async with asyncio.timeout(5):
            await starting.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with asyncio.timeout(5):
            await ended.wait()
        del shelf.servers["alice"]["slow"]
        assert "mail:inbox" in await case.ids(ALICE)
    assert not [each for each in asyncio.all_tasks() - before if not each.done()]


async def test_a_principal_who_cannot_be_served_is_not_remembered(shelf: Shelf) -> None:
    class Failing:
        async def of(self, who: Identity) -> Sequence[PersonalServer]:
            raise UnknownTool("It cannot be told.")

    async with hub_of({}) as hub:
        members = Members(hub, Failing())
        for number in range(5):
            with pytest.raises(UnknownTool):
                async with members.gateway_of(Identity(name=f"nobody-{number}")):
                    raise AssertionError
        assert not [each for each in vars(members._members).values() if isinstance(each, dict) and each]
        await members.aclose()


@pytest.mark.req("GW-8.5")
def test_a_limited_token_has_artifacts_of_its_own() -> None:
    scopes = (None, frozenset(), frozenset({"mail"}), frozenset({"mail", "bank"}))
    owners = [owner_of(caller(principal="alice", scopes=each)).key for each in scopes]
    owners += [owner_of(caller(principal="alice mail")).key, owner_of(caller(principal="bob")).key]

    assert len(set(owners)) == len(owners)
    again = owner_of(caller(principal="alice", scopes=frozenset({"bank", "mail"}))).key
    assert again == owners[3]


async def test_who_is_here_already_finds_by_meaning_as_soon_as_that_is_ready(shelf: Shelf) -> None:
    class Embedder:
        name, dimensions = "two numbers", 2

        def __init__(self) -> None:
            self.texts: list[str] = []

        def embed(self, texts: Sequence[str]) -> Any:
            self.texts += texts
            return np.array([[1.0, 0.0]] * len(texts), dtype=np.float32)

    embedder = Embedder()
    async with personal(shelf) as case:
        await case.ids(ALICE)
        case.service.search_with(embedder)
        for who, words in ((ALICE, "letters from friends"), (BOB, "what I wrote down")):
            await case.ids(who, query=words)
            assert words in embedder.texts
