"""What clients meet where everything is guarded: each mode over servers in this process, behind all safeguards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gateway_cases import modern
from hub_cases import caller, settings
from proxy_cases import Channel, error_of
from scripted_servers import ScriptedServer

from toolcrib_mcp.config import GatewayConfig
from toolcrib_mcp.front import Caller, Request
from toolcrib_mcp.gateway import open_gateway_service
from toolcrib_mcp.hub import Hub
from toolcrib_mcp.proxy import ProxyRuntime, ProxyService
from toolcrib_mcp.relay import TransparentService
from toolcrib_mcp.safeguards import Safeguards, open_safeguards

ALLOW = 'version = 1\ndefault = "allow"\n'
MODES = ("gateway", "proxy", "transparent")
NOTE: dict[str, Any] = {
    "name": "read_note",
    "description": "Reads a note.",
    "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
}


def server_with(*tools: Mapping[str, Any], result: Mapping[str, Any] | None = None) -> ScriptedServer:
    """A server with these tools, all of which answer alike."""
    said = result or {"content": [{"type": "text", "text": "here you are"}]}
    return ScriptedServer(**{"tools/list": {"tools": [dict(each) for each in tools]}, "tools/call": dict(said)})


@dataclass(kw_only=True)
class Guarded:
    """A service of some mode, and requests to it without a front between."""

    mode: str
    service: Any
    hub: Hub
    safeguards: Safeguards
    servers: Mapping[str, ScriptedServer]
    channel: Channel = field(default_factory=Channel)

    async def ask(self, method: str, *, by: Caller | None = None, **params: Any) -> dict[str, Any]:
        request = Request(method=method, params=params, caller=by or modern(), channel=self.channel)
        return dict(await self.service.answer(request))

    async def run(
        self, tool: str, *, by: Caller | None = None, server: str = "notes", meta: Any = None, **args: Any
    ) -> dict[str, Any]:
        """Call a tool by its own name, in the way of the mode."""
        more = {} if meta is None else {"_meta": meta}
        if self.mode == "transparent":
            name = tool if len(self.servers) == 1 else f"{server}__{tool}"
            return await self.ask("tools/call", by=by, name=name, arguments=args, **more)
        arguments = {"tool_id": f"{server}__{tool}", "args": args}
        return await self.ask("tools/call", by=by, name="tool_execute", arguments=arguments, **more)

    async def refused(self, tool: str, **options: Any) -> dict[str, Any]:
        """The error that a call is answered with."""
        return error_of(await self.run(tool, **options))

    def calls(self, server: str = "notes") -> int:
        """How many calls have reached a server."""
        return self.servers[server].methods.count("tools/call")


@asynccontextmanager
async def guarded(
    folder: Path,
    servers: Mapping[str, ScriptedServer],
    *,
    mode: str = "gateway",
    policy: str = ALLOW,
    ours: Mapping[str, Any] | None = None,
) -> AsyncIterator[Guarded]:
    """Everything that `toolcrib serve` has but a front; what is kept lies in the folder, and is found there again."""
    state = folder / "state"
    state.mkdir(exist_ok=True, mode=0o700)
    (folder / "toolcrib.policy.toml").write_text(policy, encoding="utf-8")
    chosen = settings(**{"mode": mode, **(ours or {})})
    config = GatewayConfig(servers={}, settings=chosen, path=folder / "mcp.json")
    async with open_safeguards(config, state_dir=state) as safeguards:
        connects = {name: each.connect for name, each in servers.items()}
        async with Hub(config, upstreams=connects, pins=safeguards.pins) as hub:
            await hub.start(timeout=10)
            async with aclosing(await service_of(mode, hub, state, safeguards)) as service:
                yield Guarded(mode=mode, service=service, hub=hub, safeguards=safeguards, servers=servers)


async def service_of(mode: str, hub: Hub, state: Path, safeguards: Safeguards) -> Any:
    if mode == "gateway":
        return await open_gateway_service(hub, state_dir=state, safeguards=safeguards)
    if mode == "proxy":
        return ProxyService(ProxyRuntime(hub, checkpoint=safeguards.checkpoint))
    return TransparentService(hub, checkpoint=safeguards.checkpoint)


def principal(name: str, **fields: Any) -> Caller:
    """A client of which a front has made sure who it is."""
    return replace(modern(**fields), principal=name)


def asking(name: str | None = None) -> Caller:
    """A client of the handshake era whose user can be asked."""
    return replace(caller(capabilities={"elicitation": {}}), principal=name)
