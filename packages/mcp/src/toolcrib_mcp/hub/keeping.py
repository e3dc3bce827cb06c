"""The catalogue kept in step with what servers list: read in threads, one server's lists in order, the newest last."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from toolcrib_mcp.catalog import Catalog, CatalogChange
from toolcrib_mcp.hub.servers import HubServer

if TYPE_CHECKING:
    from toolcrib_mcp.pins.book import PinBook
    from toolcrib_mcp.redaction import ResultRedactor

# Reading is computing: more threads would only take turns.
_THREADS: Final = 2
_logger = logging.getLogger("toolcrib.mcp")


class _Telling(IntEnum):
    """When a list that was read is told of."""

    NEVER = 0
    IF_VISIBLE = 1
    ALWAYS = 2


class CatalogKeeper:
    """Puts the tools of servers into a catalogue, without keeping the event loop from anything else.

    A list that comes while an older one of the same server waits takes its place. `on_changed` is called on the loop
    when what clients see has changed: their cards, or with `whole` anything that a server lists. With `pins` only those
    tools are put there that are what was trusted, and none before it is known what was. The `redactor` takes the
    secrets of the configuration out of what servers list before anything of it is compared, served or kept.
    """

    def __init__(
        self,
        servers: Mapping[str, HubServer],
        *,
        on_changed: Callable[[], object],
        whole: bool = False,
        pins: PinBook | asyncio.Future[PinBook | None] | None = None,
        redactor: ResultRedactor | None = None,
    ) -> None:
        self.catalog = Catalog()
        self._redactor = redactor
        self.listed: dict[str, tuple[Any, ...]] = {}
        """By server: all that it listed last, served or not."""
        self._servers = servers
        self._on_changed = on_changed
        self._whole = whole
        self._pins: PinBook | None = None
        self._detach: Callable[[], None] | None = None
        self._awaited = pins if isinstance(pins, asyncio.Future) else None
        if not isinstance(pins, asyncio.Future):
            self._judge_by(pins)
        self._waiting: dict[str, _Telling] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="toolcrib-catalog")

    def take(self, server: str, tools: Iterable[Any], *, is_news: bool = True) -> None:
        """Let these be the tools of a server; they are in the catalogue once it has `settled`."""
        before, listed = self.listed.get(server), tuple(tools)
        if self._redactor is not None:
            listed = tuple(self._redactor.redact_definitions({"tools": listed}, server=server)["tools"])
        self.listed[server] = listed
        if before == listed:
            return
        telling = _Telling.NEVER
        if is_news:
            telling = _Telling.ALWAYS if self._whole and listed != (before or ()) else _Telling.IF_VISIBLE
        self._read_soon(server, telling)

    def judge_again(self, server: str) -> None:
        """Look at the tools of a server as if it had listed them again: what is trusted has changed."""
        if server in self.listed:
            self._read_soon(server, _Telling.ALWAYS if self._whole else _Telling.IF_VISIBLE)

    def reconfigure(self, servers: Mapping[str, HubServer]) -> None:
        """Keep the tools of these servers from now on, each on its terms of now."""
        before, self._servers = self._servers, servers
        for name in [name for name in self.listed if name not in servers]:
            del self.listed[name]
            self._read_soon(name, _Telling.ALWAYS if self._whole else _Telling.IF_VISIBLE)
        for name in self.listed.keys() & before.keys():
            if not servers[name].admits_like(before[name]):
                self.judge_again(name)

    async def settled(self, server: str) -> None:
        """Wait until all that a server has listed so far is in the catalogue."""
        while (task := self._tasks.get(server)) is not None:
            await asyncio.wait([task])

    async def confirm(self, server: str, tool: object) -> None:
        """See to it that a tool which was known from before the server's start is still trusted as it lists it now.

        Raises:
            ToolChanged: It is withheld now.
        """
        await self.settled(server)
        withheld = self.catalog.snapshot().withheld_tool(server, tool) if isinstance(tool, str) else None
        if withheld is not None:
            raise withheld.refusal(withheld.name)

    def denied(self, server: str) -> int:
        """How many tools of a server the operator does not let in."""
        return sum(not _admits(self._servers[server], tool) for tool in self._capped(server))

    def beyond_cap(self, server: str) -> int:
        """How many tools a server lists beyond those that are taken."""
        return len(self.listed.get(server, ())) - len(self._capped(server))

    async def aclose(self) -> None:
        """Read no more."""
        if self._detach is not None:
            self._detach()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _read_soon(self, server: str, telling: _Telling) -> None:
        self._waiting[server] = max(telling, self._waiting.get(server, telling))
        if server not in self._tasks:
            self._tasks[server] = asyncio.create_task(self._read(server), name=f"catalogue of {server}")

    async def _read(self, server: str) -> None:
        loop = asyncio.get_running_loop()
        try:
            if self._awaited is not None:
                await self._until_opened(self._awaited)
            while (telling := self._waiting.pop(server, None)) is not None:
                about = self._servers.get(server)
                change = await loop.run_in_executor(self._threads, self._update, server, about, self._capped(server))
                if change is not None and telling >= (_Telling.IF_VISIBLE if change.visible else _Telling.ALWAYS):
                    self._on_changed()
        finally:
            # In the same step as the last look at what waits: nothing that comes later is left behind.
            del self._tasks[server]

    async def _until_opened(self, awaited: asyncio.Future[PinBook | None]) -> None:
        # Not the future itself: the end of one who waits must not cancel it for the others.
        await asyncio.wait([awaited])
        if self._awaited is not None:
            self._judge_by(awaited.result())
            self._awaited = None

    def _judge_by(self, pins: PinBook | None) -> None:
        self._pins = pins
        self._detach = None if pins is None else pins.attach(self.judge_again)

    def _update(self, server: str, about: HubServer | None, tools: tuple[Any, ...]) -> CatalogChange | None:
        if about is None:
            return self.catalog.remove(server)
        admitted = [tool for tool in tools if _admits(about, tool)]
        try:
            if self._pins is None:
                return self.catalog.update(server, admitted, terms=about.terms)
            judged = self._pins.judge(server, admitted, rule=about.settings.pins)
            return self.catalog.update(server, judged.tools, terms=about.terms, withheld=judged.withheld)
        except Exception:
            # The edge of the thread: a list that makes us fail must not stop the reading of the next.
            _logger.exception("the tools of an upstream could not be put into the catalogue")
            return None

    def _capped(self, server: str) -> tuple[Any, ...]:
        about = self._servers.get(server)
        return () if about is None else self.listed.get(server, ())[: about.gateway.limits.max_tools]


def _admits(server: HubServer, tool: Any) -> bool:
    name = tool.get("name") if isinstance(tool, dict) else None
    # What has no name cannot be asked about; the catalogue reports it.
    return not isinstance(name, str) or server.admits(name)
