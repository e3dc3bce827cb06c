"""A proxy over servers that live in this process, and what its tests ask it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hub_cases import caller, hub_of
from relay_cases import Case

from toolcrib_mcp.front import Request
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.proxy import ProxyRuntime, ProxyService
from toolcrib_mcp.upstreams import Connect

ISSUE = {
    "name": "create_issue",
    "title": "Create an issue",
    "description": "Creates an issue. It has a title.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1},
            "labels": {"type": "array", "items": {"type": "string"}},
            "estimate": {"type": "integer"},
        },
        "required": ["title"],
        "additionalProperties": False,
    },
    "outputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    "annotations": {"openWorldHint": True},
    "_meta": {"version": "1.4.0", "io.example/novel": [1]},
    "novel": {"kept": True},
}
ISSUE_ID = "github:create_issue@1.4.0"
ISSUE_FORMS = (
    *(ISSUE_ID, "github%3Acreate_issue%401.4.0", "github__create_issue"),
    *("github:create_issue", "github/create_issue", "github.create_issue", "create_issue", "/github/create_issue"),
)


class ProxyCase(Case):
    """A proxy, its servers, and requests to it without a front between."""

    def __init__(self, runtime: ProxyRuntime, servers: dict[str, Any]) -> None:
        self.runtime = runtime
        self.channel = Channel()
        super().__init__(ProxyService(runtime), runtime.hub, servers)  # type: ignore[arg-type]  # a service as well

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        request = Request(method=method, params=params, caller=caller(), channel=self.channel)
        return dict(await self.service.answer(request))

    async def call(self, name: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
        return await self.ask("tools/call", name=name, arguments=arguments, **more)

    async def execute(self, tool_id: str, /, **args: Any) -> dict[str, Any]:
        return await self.call("tool_execute", {"tool_id": tool_id, "args": args})

    async def names(self) -> list[str]:
        return [tool["name"] for tool in (await self.ask("tools/list"))["tools"]]


class Channel:
    """Keeps what a client is told while its request is worked on."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Mapping[str, Any]]] = []

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.told.append((method, params))

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # as in `Channel`
        raise AssertionError("nobody is to be asked")


@asynccontextmanager
async def proxied(
    servers: Mapping[str, Any] | None = None, *, ours: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[ProxyCase]:
    """A proxy over these servers, whose `connect` is taken; `ours` are the settings of the gateway."""
    connects: dict[str, Connect] = {name: each.connect for name, each in (servers or {}).items()}
    async with hub_of(connects, ours={"mode": "proxy", **(ours or {})}) as hub:
        case = ProxyCase(_runtime(hub, options), dict(servers or {}))
        try:
            yield case
        finally:
            await case.service.aclose()


def _runtime(hub: Hub, options: Mapping[str, Any]) -> ProxyRuntime:
    return ProxyRuntime(hub, **{"patience": 5.0, **options})


def error_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """The error of a result that is one; the text and the structure say the same."""
    assert result["isError"] is True
    (block,) = result["content"]
    told: dict[str, Any] = json.loads(block["text"])
    assert told == result["structuredContent"]
    assert block["text"] == json.dumps(told, separators=(",", ":"), ensure_ascii=False)
    assert isinstance(told["retryable"], bool)
    return told
