"""The tools of several servers as one list: named so that none collides, and otherwise as their servers list them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from toolcrib_core import ToolError, UnknownTool
from toolcrib_core.wording import quoted, shown
from toolcrib_mcp.catalog import CatalogSnapshot, HydrationResult
from toolcrib_mcp.catalog._entries import CatalogEntry
from toolcrib_mcp.catalog._reading import read_tool
from toolcrib_mcp.errors import GatewayError
from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.pins.definitions import Definition
from toolcrib_mcp.pins.ordering import settled_digest
from toolcrib_mcp.relay.merging import Merged
from toolcrib_mcp.relay.pages import Pages
from toolcrib_mcp.relay.reach import Reach
from toolcrib_mcp.relay.routes import SEPARATOR
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.scan import scan_texts

if TYPE_CHECKING:
    from toolcrib_mcp.hub.view import HubView

TOOLS: Final = "tools"


class NamedTools:
    """The list, made once for every state of the catalogue."""

    def __init__(self, hub: HubView, reach: Reach, pages: Pages, *, alone: str | None = None) -> None:
        """With `alone`, the server that was the only one at the start: its tools keep the names that it gives them."""
        self._alone = alone
        self._hub = hub
        self._reach = reach
        self._pages = pages
        self._snapshot: CatalogSnapshot | None = None
        self._by_server: dict[str, tuple[Any, ...]] = {}

    async def page(self, cursor: object) -> dict[str, Any]:
        """A page of the list.

        Raises:
            RpcError: The cursor leads nowhere.
            ToolError: No server could give its tools.
        """
        if cursor is not None and (kept := self._pages.following(TOOLS, cursor)) is not None:
            return kept
        failures = await self._failures()
        found = Merged(by_server=self._listed(), failures=failures)
        found.check()
        items = [tool for each in found.by_server.values() for tool in each]
        return self._pages.first(TOOLS, items, meta=found.meta, cursor=cursor)

    async def named(self, name: object) -> HydrationResult:
        """The tool of a name.

        Raises:
            RpcError: The name is no text.
            ToolError: No tool has it, and the hint has the nearest; or its server's tools could not be read.
        """
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` must be a string.")
        if (own := self._own_name(name)) is not None:
            return own
        try:
            return self._hub.catalog.hydrate(name)
        except ToolError:
            await self._wait_for_server_of(name)
            return self._hub.catalog.hydrate(name)

    def _own_name(self, name: str) -> HydrationResult | None:
        """The tool that the server which was alone calls so."""
        if self._alone not in self._hub.servers:
            return None
        snapshot = self._hub.catalog.snapshot()
        every = (snapshot.hydrate(tool_id) for tool_id in snapshot.ids)
        return next((each for each in every if (each.upstream, each.upstream_name) == (self._alone, name)), None)

    async def _failures(self) -> dict[str, ToolError]:
        """The servers whose tools are not known, although they were waited for; with the reason."""
        known = set(self._hub.catalog.snapshot().upstreams)
        unknown = [each for each in self._hub.servers if each not in known]
        found = await asyncio.gather(*(self._missing(each) for each in unknown))
        return {server: error for server, error in zip(unknown, found, strict=True) if error is not None}

    async def _missing(self, server: str) -> ToolError | None:
        try:
            await self._hub.tools(server, timeout=self._reach.patience(server))
        except GatewayError as failure:
            self._reach.missed(server)
            return failure
        return None

    async def _wait_for_server_of(self, name: str) -> None:
        """A tool is not unknown before its server has told its tools."""
        known = self._hub.catalog.snapshot().upstreams
        for each, server in self._hub.servers.items():
            if each not in known and name.startswith(f"{server.namespace}{SEPARATOR}"):
                failure = await self._missing(each)
                if failure is not None:
                    raise failure

    def _listed(self) -> Mapping[str, tuple[Any, ...]]:
        snapshot = self._hub.catalog.snapshot()
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            self._by_server = _named_tools(snapshot, self._hub, self._alone)
        return self._by_server


class OwnTools:
    """The tools of a hub's only server that are served, by the names that the server gives them."""

    def __init__(self, hub: HubView, server: str) -> None:
        self._hub = hub
        self._server = server
        self._snapshot: CatalogSnapshot | None = None
        self._by_name: dict[str, HydrationResult] = {}

    async def all(self) -> Mapping[str, HydrationResult]:
        """All of them; the server is asked for its tools if it never was.

        Raises:
            GatewayError: They could not be had.
        """
        if self._server not in self._hub.catalog.snapshot().upstreams:
            await self._hub.tools(self._server, timeout=self._hub.servers[self._server].settings.start_timeout)
        snapshot = self._hub.catalog.snapshot()
        if snapshot is not self._snapshot:
            every = (snapshot.hydrate(tool_id) for tool_id in snapshot.ids)
            self._snapshot, self._by_name = snapshot, {tool.upstream_name: tool for tool in every}
        return self._by_name

    async def shown(self, tools: list[Any]) -> list[Any]:
        """Those of a list that the server has just given which may be shown.

        What the catalogue serves is shown word for word, or not at all; a list that the server gives in another order
        without a meaning is shown as the catalogue has it. A server may list more for one client than for
        all: that is shown unless something is hidden in it.

        Raises:
            GatewayError: Its tools could not be had.
        """
        served, snapshot = await self.all(), self._hub.catalog.snapshot()
        listed = ((tool, Definition.of(tool)) for tool in tools)
        return [
            served[it.name].tool if it.name in served and served[it.name].digest != it.digest else tool
            for tool, it in listed
            if it is not None and self._may_be_shown(it, served, snapshot)
        ]

    def _may_be_shown(
        self, listed: Definition, served: Mapping[str, HydrationResult], snapshot: CatalogSnapshot
    ) -> bool:
        known = served.get(listed.name)
        if known is not None:
            return known.digest == listed.digest or settled_digest(known.tool) == listed.settled
        return not self._is_refused(listed.name, snapshot) and not scan_texts(dict(listed.tool)).refused

    def _is_refused(self, name: str, snapshot: CatalogSnapshot) -> bool:
        """Whether the operator does not admit it, or it is listed and yet not served."""
        if not self._hub.servers[self._server].admits(name):
            return True
        if snapshot.withheld_tool(self._server, name) is not None:
            return True
        return (self._server, shown(name)) in ((each.upstream, each.name) for each in snapshot.report.left_out)

    async def named(self, name: object) -> tuple[HydrationResult, bool]:
        """The tool that the server calls so, and whether the server lists it.

        Of one that is not listed only the name is known: what it is called with is for the server to judge.

        Raises:
            RpcError: The name is no text.
            ToolChanged: It is withheld.
            UnknownTool: The server lists it, and it is not served.
            GatewayError: Its tools could not be had.
        """
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` must be a string.")
        found = (await self.all()).get(name)
        if found is not None:
            return found, True
        snapshot = self._hub.catalog.snapshot()
        withheld = snapshot.withheld_tool(self._server, name)
        if withheld is not None:
            raise withheld.refusal(name)
        unlisted = read_tool(
            orjson.dumps({"name": name}), upstream=self._server, terms=self._hub.servers[self._server].terms
        )
        if self._is_refused(name, snapshot) or not isinstance(unlisted, CatalogEntry):
            raise UnknownTool(f"There is no tool {quoted(name)}.", hint="See `tools/list` for those that are served.")
        return unlisted.hydrated, False


def _named_tools(snapshot: CatalogSnapshot, hub: HubView, alone: str | None) -> dict[str, tuple[Any, ...]]:
    names = dict(snapshot.wire_names.items())
    found: dict[str, list[Any]] = {server: [] for server in hub.servers if server in snapshot.upstreams}
    for tool_id in snapshot.ids:
        tool = snapshot.hydrate(tool_id)
        if tool.upstream not in found:
            continue  # its server has just been removed from the configuration
        # A tool whose provider-safe name is that of another is named by its id.
        name = tool.upstream_name if tool.upstream == alone else names.get(tool_id, tool_id)
        found[tool.upstream].append({**tool.tool, "name": name})
    return {server: tuple(tools) for server, tools in found.items()}
