"""Whole catalogues behind the gateway: every tool can be found by looking around and by its name, and be called."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from tests.catalogues.arguments import invalid_arguments, valid_arguments
from tests.catalogues.catalogues import SHARED, invented_servers
from tests.catalogues.replaying_server import Json, ReplayingServer, echo_of, read_catalogue
from tests.real_parts import real_part_missing
from toolcrib_mcp.config import GatewayConfig, GatewaySettings
from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.gateway import GatewayService, open_gateway_service
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.upstreams import Era

pytestmark = pytest.mark.asyncio(loop_scope="module")

_CALLER = Caller(era=Era.HANDSHAKE, protocol_version="2025-11-25", conversation="c1")
_START_SECONDS = 60


class Silence:
    """The way back to a client that is neither told nor asked anything."""

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        raise AssertionError(f"nothing is to be told: {method}")

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> Json:  # noqa: ASYNC109  # as in `Channel`
        raise AssertionError(f"nothing is to be asked: {method}")


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One tool of a catalogue: who lists it, and under which id the gateway has it."""

    id: str
    server: str
    listed: Json

    @property
    def name(self) -> str:
        return str(self.listed["name"])

    @property
    def schema(self) -> Json:
        schema: Json = self.listed["inputSchema"]
        return schema


class Surface:
    """The gateway in front of replaying servers, as a client sees it."""

    def __init__(self, hub: Hub, service: GatewayService, servers: dict[str, ReplayingServer]) -> None:
        self.servers = servers
        self.tree = hub.catalog.snapshot().tree
        self._service = service
        self.tools = list(_tools_of(hub, servers))

    async def call(self, name: str, **arguments: Any) -> Json:
        params = {"name": name, "arguments": arguments}
        request = Request(method="tools/call", params=params, caller=_CALLER, channel=Silence())
        return dict(await self._service.answer(request))

    async def cards(self, **arguments: Any) -> list[Json]:
        page = await self.call("tool_browse", **arguments)
        assert not page.get("isError"), page
        cards: list[Json] = page["_meta"]["io.toolcrib/cards"]["cards"]
        return cards

    def calls(self, tool: Tool) -> list[tuple[str, Json]]:
        """What has reached the server of a tool, which forgets it."""
        server = self.servers[tool.server]
        heard, server.calls = server.calls, []
        return heard


@pytest_asyncio.fixture(
    scope="module", loop_scope="module", params=["invented", pytest.param("real", marks=pytest.mark.slow)]
)
async def surface(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Surface]:
    servers = {name: ReplayingServer(tools) for name, tools in _catalogue(request.param).items()}
    config = GatewayConfig(servers={}, settings=GatewaySettings())
    async with Hub(config, upstreams={name: each.connect for name, each in servers.items()}) as hub:
        reports = await hub.start(timeout=_START_SECONDS)
        assert [each for each in reports if each.error is not None] == []
        service = await open_gateway_service(hub, state_dir=tmp_path_factory.mktemp("state"))
        try:
            yield Surface(hub, service, servers)
        finally:
            await service.aclose()


def _catalogue(which: str) -> dict[str, list[Json]]:
    if which == "invented":
        return invented_servers()
    if not SHARED.is_file():
        real_part_missing("the catalogue of real MCP tools, `../shared/data/mcp-catalogs` beside this checkout")
    return read_catalogue(SHARED)


def _tools_of(hub: Hub, servers: dict[str, ReplayingServer]) -> Iterator[Tool]:
    snapshot = hub.catalog.snapshot()
    listed = {(server, tool["name"]): tool for server, each in servers.items() for tool in each.tools}
    for tool_id in snapshot.ids:
        served = snapshot.hydrate(tool_id)
        yield Tool(id=tool_id, server=served.upstream, listed=listed.pop((served.upstream, served.upstream_name)))
    assert listed == {}


async def test_the_catalogues_are_as_large_as_is_said(surface: Surface) -> None:
    assert len(surface.tools) >= 150
    assert len(surface.servers) >= 8


@pytest.mark.req("GW-3.3")
async def test_looking_around_from_the_root_meets_every_tool_once(surface: Surface) -> None:
    found: list[str] = []
    ahead = ["/"]

    while ahead:
        page = await surface.cards(path=ahead.pop())
        assert len(page) <= surface.tree.max_children
        found += [card["id"] for card in page if card["kind"] != "internal"]
        ahead += [card["id"] for card in page if card["kind"] == "internal"]

    assert sorted(found) == [tool.id for tool in surface.tools]


@pytest.mark.req("GW-3.3")
async def test_the_path_of_every_tool_shows_that_tool_alone(surface: Surface) -> None:
    for tool in surface.tools:
        page = await surface.cards(path=surface.tree.path_of(tool.id))

        assert [card["id"] for card in page] == [tool.id]


@pytest.mark.req("GW-3.3")
async def test_every_tool_is_found_first_by_its_own_name(surface: Surface) -> None:
    same_name = Counter(tool.name for tool in surface.tools)

    for tool in surface.tools:
        page = await surface.cards(query=tool.name, limit=same_name[tool.name])

        assert tool.id in [card["id"] for card in page]


@pytest.mark.req("GW-4.4", "GW-4.5")
@pytest.mark.parametrize("everything", [True, False], ids=["every parameter", "what it takes"])
async def test_every_tool_executes_with_valid_arguments(surface: Surface, *, everything: bool) -> None:
    for tool in surface.tools:
        arguments = valid_arguments(tool.schema, everything=everything)
        surface.calls(tool)

        result = await surface.call("tool_execute", tool_id=tool.id, args=arguments)

        assert surface.calls(tool) == [(tool.name, arguments)]
        assert result == {"resultType": "complete", **echo_of(tool.name, arguments)}


@pytest.mark.req("GW-4.4")
async def test_no_tool_is_reached_with_arguments_that_its_schema_refuses(surface: Surface) -> None:
    refused = 0

    for tool in surface.tools:
        surface.calls(tool)
        for arguments in invalid_arguments(tool.schema):
            result = await surface.call("tool_execute", tool_id=tool.id, args=arguments)

            refused += 1
            assert result["isError"] is True
            assert result["structuredContent"]["error"] == "ARGS_INVALID"
            assert result["structuredContent"]["details"]["violations"]
        assert surface.calls(tool) == []

    assert refused >= len(surface.tools)
