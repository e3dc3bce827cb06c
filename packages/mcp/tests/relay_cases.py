"""Clients of either era in front of a transparent service, with real servers behind it, all in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from relay_servers import RelayServer
from sdk_servers import conversing

from toolcrib_mcp.config import GatewayConfig, GatewaySettings, ServerSettings
from toolcrib_mcp.front.in_process import connect_service
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.relay import TransparentService
from toolcrib_mcp.rpc import OnRequest
from toolcrib_mcp.upstreams import Connect
from toolcrib_mcp.upstreams.eras import Era
from toolcrib_mcp.upstreams.session import Session
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

ERAS = (Era.HANDSHAKE, Era.MODERN)
PAIRS = [(front, behind) for front in ERAS for behind in ERAS]
GRANTS = ("elicitation", "sampling", "roots", "logging")
OFFERS: dict[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
ANSWERS: dict[str, dict[str, Any]] = {
    "elicitation/create": {"action": "accept", "content": {"colour": "red"}},
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"},
    "roots/list": {"roots": [{"uri": "file:///home"}]},
}
META_LEVEL = "io.modelcontextprotocol/logLevel"


class Case:
    """A service over some servers; every client is one of `client`."""

    def __init__(self, service: TransparentService, hub: Hub, servers: dict[str, RelayServer]) -> None:
        self.service = service
        self.hub = hub
        self.servers = servers

    @asynccontextmanager
    async def client(
        self,
        era: Era,
        *,
        capabilities: Mapping[str, Any] | None = None,
        on_request: OnRequest | None = None,
        principal: str | None = None,
    ) -> AsyncIterator[Client]:
        wire = await connect_service(self.service, principal=principal)()
        told: list[tuple[str, dict[str, Any]]] = []

        async def on_notification(method: str, params: dict[str, Any]) -> None:
            told.append((method, params))

        async with (
            asyncio.timeout(20),
            conversing(
                wire, era, capabilities=capabilities, on_request=on_request, on_notification=on_notification
            ) as session,
        ):
            assert session.agreement.era is era
            yield Client(session, told)


class Client:
    """A session that keeps what it was told."""

    def __init__(self, session: Session, told: list[tuple[str, dict[str, Any]]]) -> None:
        self.session = session
        self.told = told

    async def ask(self, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        return await self.session.request(method, params, **{"timeout": 10, **options})

    async def call(self, name: str, **more: Any) -> dict[str, Any]:
        return await self.ask("tools/call", {"name": name, "arguments": {}, **more})

    async def until_told(self, method: str) -> dict[str, Any]:
        (params,) = await until(lambda: next(([params] for each, params in self.told if each == method), None))
        return dict(params)


@asynccontextmanager
async def transparent(
    *servers: RelayServer,
    grants: tuple[str, ...] = (),
    solo: bool = False,
    relay_clock: Clock = SYSTEM_CLOCK,
    more: Mapping[str, Connect] | None = None,
    **settings: Any,
) -> AsyncIterator[Case]:
    """A transparent service over these servers, which are called by their names and granted the same, and `more`."""
    own = ServerSettings(grants=grants, **settings)  # type: ignore[arg-type]  # texts that are grants
    config = GatewayConfig(
        servers={}, settings=GatewaySettings(mode="transparent", servers={each.name: own for each in servers})
    )
    reached = {each.name: each.connect for each in servers} | dict(more or {})
    async with Hub(config, solo=solo, upstreams=reached) as hub:
        service = TransparentService(hub, clock=relay_clock)
        try:
            yield Case(service, hub, {each.name: each for each in servers})
        finally:
            await service.aclose()


def answering(answers: Mapping[str, dict[str, Any]] = ANSWERS) -> tuple[OnRequest, list[tuple[str, dict[str, Any]]]]:
    """What answers the questions of servers, and those that came."""
    asked: list[tuple[str, dict[str, Any]]] = []

    async def answer(method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        asked.append((method, params))
        return answers[method]

    return answer, asked


async def until(found: Callable[[], Any]) -> Any:
    """Wait until something is there."""
    async with asyncio.timeout(10):
        while not (value := found()):  # noqa: ASYNC110  # what is waited for tells nobody
            await asyncio.sleep(0.005)
    return value


async def failure_of(asking: Awaitable[Any], kind: type[Exception]) -> Any:
    """The error that something ends with."""
    try:
        await asking
    except kind as error:
        return error
    raise AssertionError("it did not fail")


def text_of(result: Mapping[str, Any]) -> str:
    """The text of the first block."""
    return str(result["content"][0]["text"])
