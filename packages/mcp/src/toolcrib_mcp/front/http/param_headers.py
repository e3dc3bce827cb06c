"""Which arguments headers repeat is in the schemas of the tools: they are listed once, and again when they change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_mcp.front.envelope import modern_caller
from toolcrib_mcp.front.feed import LIST_CHANGED, Notice
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.repeating import PARAM, Path, annotated, check_repeated
from toolcrib_mcp.front.service import Caller, Identity, Request, Service
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.messages import METHOD_NOT_FOUND
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

MAX_PAGES: Final = 100
"""How much of a list is read."""

_KEPT_SECONDS = 300.0
_FAILED_SECONDS = 10.0
_PATIENCE = 2.0
_logger = logging.getLogger("toolcrib.mcp")

_Places = Mapping[str, Mapping[Path, str]]


@dataclass(frozen=True, kw_only=True)
class _Listing:
    task: asyncio.Task[_Places]
    until: float


class ParamHeaders:
    """Compares headers with arguments, for tools whose schema asks for it.

    It never keeps a call from being made that can be made: where the tools cannot be listed, or not in time, nothing
    is compared.
    """

    def __init__(self, service: Service, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._service = service
        self._clock = clock
        self._listings: dict[Identity | None, _Listing] = {}
        self._stop_listening = service.feed.subscribe(self._hear)

    async def check(self, params: Mapping[str, Any], headers: Headers, principal: Identity | None) -> None:
        """Refuse a call whose headers do not repeat its arguments.

        Raises:
            RpcError: They do not.
        """
        name, arguments = params.get("name"), params.get("arguments")
        if arguments is None:
            arguments = {}
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            return
        if not arguments and not any(each.startswith(PARAM) for each in headers.names()):
            return
        places = (await self._places(params, principal)).get(name)
        if places:
            check_repeated(places, arguments, headers)

    async def aclose(self) -> None:
        """Stop listing and listening."""
        self._stop_listening()
        tasks = [listing.task for listing in self._listings.values()]
        self._listings.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _places(self, params: Mapping[str, Any], principal: Identity | None) -> _Places:
        listing = self._listings.get(principal)
        if listing is None or (listing.task.done() and listing.until <= self._clock.monotonic()):
            caller = modern_caller(params, conversation=None, principal=principal)
            listing = self._listings[principal] = _Listing(
                task=asyncio.create_task(self._list(caller, principal, params["_meta"])),
                until=self._clock.monotonic() + _KEPT_SECONDS,
            )
        if not listing.task.done():
            await asyncio.wait([listing.task], timeout=_PATIENCE)
        usable = listing.task.done() and not listing.task.cancelled()
        return listing.task.result() if usable else {}

    async def _list(self, caller: Caller, principal: Identity | None, meta: Mapping[str, Any]) -> _Places:
        try:
            return await self._read(caller, {key: value for key, value in meta.items() if key != "progressToken"})
        except RpcError:
            pass
        except Exception:
            _logger.exception("the tools could not be listed, so headers are not compared with arguments")
        listing = self._listings.get(principal)
        if listing is not None and listing.task is asyncio.current_task():
            until = self._clock.monotonic() + _FAILED_SECONDS
            self._listings[principal] = _Listing(task=listing.task, until=until)
        return {}

    async def _read(self, caller: Caller, meta: Mapping[str, Any]) -> _Places:
        places: dict[str, Mapping[Path, str]] = {}
        params: dict[str, Any] = {"_meta": meta}
        for _ in range(MAX_PAGES):
            request = Request(method="tools/list", params=params, caller=caller, channel=_Deaf())
            page = await self._service.answer(request)
            for tool in page.get("tools", ()):
                if found := annotated(tool.get("inputSchema")):
                    places[tool["name"]] = found
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor == params.get("cursor"):
                break
            params = {"_meta": meta, "cursor": cursor}
        return places

    def _hear(self, notice: Notice) -> None:
        if notice.method == LIST_CHANGED["toolsListChanged"]:
            self._listings.clear()


class _Deaf:
    """The way back from a request that no client has made."""

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Nobody hears it."""

    async def ask(self, method: str, params: Mapping[str, Any], *, timeout: float | None) -> dict[str, Any]:  # noqa: ASYNC109  # as the protocol has it
        """Nobody can be asked."""
        del method, params, timeout
        raise RpcError(METHOD_NOT_FOUND, "Nobody can be asked while tools are listed.")
