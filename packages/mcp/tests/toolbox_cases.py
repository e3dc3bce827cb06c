"""A toolbox with a tool for every case, and requests to a service as a front would make them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from toolcrib_core import JsonObject, ToolLifecycle, ToolRisk
from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.front.in_process import connect_service
from toolcrib_mcp.rpc import RpcError, WireClosed
from toolcrib_mcp.toolboxes import ToolboxService
from toolcrib_mcp.upstreams import Era
from toolcrib_runtime import RuntimeToolContext, Toolbox, ToolOutput, create_toolbox, tool

FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
PIXEL: JsonObject = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
LATEST = {Era.HANDSHAKE: "2025-11-25", Era.MODERN: "2026-07-28"}


@tool(effects="read", namespace="weather", version="1.0.0", title="The weather")
async def forecast(city: str, days: int = 3) -> dict[str, int]:
    """The weather of the next days."""
    return {city: days}


@tool(effects="none", idempotent=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effects="read", output=False)
async def items(of: str) -> list[str]:
    """List what is there."""
    return [of, of]


@tool(effects="none", output=False)
async def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


@tool(effects="read")
async def picture() -> ToolOutput:
    """Draw a pixel."""
    return ToolOutput(value={"width": 1}, content=(PIXEL, {"type": "text", "text": "a pixel"}))


@tool(effects="read")
async def crawl(pages: int, context: RuntimeToolContext) -> int:
    """Read pages."""
    for page in range(pages):
        context.progress(page + 1, total=pages, message=f"page {page + 1}")
    return pages


@tool(effects="write")
async def break_down(why: str) -> str:
    """Fail."""
    raise FileNotFoundError(why)


@tool(effects="read")
async def whoami(context: RuntimeToolContext) -> str:
    """Who asks."""
    return "nobody" if context.user is None else context.user.id


@tool(risk=ToolRisk(effects="write", destructive=True, external_network=True))
async def wipe(disk: str) -> str:
    """Delete everything."""
    return f"{disk} is empty"


@tool(effects="read", lifecycle=ToolLifecycle(deprecated=True, replaced_by="weather:forecast"))
async def old_forecast() -> str:
    """The weather, as it was told once."""
    return "sun"


@tool
async def undeclared() -> None:
    """Nobody said what it does."""


EVERY_TOOL = (forecast, add, items, greet, picture, crawl, break_down, whoami, wipe, undeclared)


@dataclass
class RecordingChannel:
    """Notes what a client is told, and answers what it is asked."""

    answer: Mapping[str, Any] | RpcError | None = None
    told: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    asked: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        await asyncio.sleep(0)
        self.told.append((method, params))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # as the protocol has it
        assert timeout is not None
        self.asked.append((method, params))
        if self.answer is None:
            raise RpcError(-32601, "Method not found")
        if isinstance(self.answer, RpcError):
            raise self.answer
        return dict(self.answer)


def serving(*tools: Any, **options: Any) -> ToolboxService:
    """A service of these tools; of every tool of this module without any."""
    return ToolboxService(boxed(*tools), version="1.2.3", **options)


def boxed(*tools: Any, **options: Any) -> Toolbox:
    return create_toolbox(tools or EVERY_TOOL, **options)


def request_of(
    method: str,
    params: Mapping[str, Any],
    *,
    era: Era = Era.MODERN,
    capabilities: Mapping[str, Any] | None = None,
    channel: Any = None,
    principal: str | None = None,
    log_level: str | None = None,
) -> Request:
    """A request as a front hands it over."""
    caller = Caller(
        era=era,
        protocol_version=LATEST[era],
        capabilities=capabilities or {},
        info={"name": "tester"},
        principal=principal,
        log_level=log_level,
    )
    return Request(method=method, params=params, caller=caller, channel=channel or RecordingChannel())


async def listed(service: ToolboxService, *, era: Era = Era.MODERN) -> dict[str, dict[str, Any]]:
    """Every tool of the list, by name."""
    page = await service.answer(request_of("tools/list", {}, era=era))
    return {each["name"]: each for each in page["tools"]}


async def called(
    service: ToolboxService, name: str, arguments: Mapping[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """The result of a call."""
    params = {"name": name, **({} if arguments is None else {"arguments": arguments}), **options.pop("params", {})}
    return dict(await service.answer(request_of("tools/call", params, **options)))


@asynccontextmanager
async def sdk_streams(service: ToolboxService) -> AsyncIterator[tuple[Any, Any]]:
    """The transport of an SDK client to a service that is served in this process."""
    wire = await connect_service(service)()
    to_client, client_in = anyio.create_memory_object_stream[Any](16)
    client_out, from_client = anyio.create_memory_object_stream[Any](16)

    async def down() -> None:
        with suppress(WireClosed), to_client:
            while True:
                message = jsonrpc_message_adapter.validate_python(await wire.receive(), by_name=False)
                await to_client.send(SessionMessage(message))

    async def up() -> None:
        with from_client:
            async for sent in from_client:
                await wire.send(sent.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

    tasks = [asyncio.create_task(down()), asyncio.create_task(up())]
    try:
        yield client_in, client_out
    finally:
        client_out.close()
        await wire.aclose()
        await asyncio.wait(tasks)
        client_in.close()
