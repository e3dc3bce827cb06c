"""`subscriptions/listen`: a request that stays open while a modern client wants to be told of changes."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Mapping
from typing import Any, Final

from toolcrib_mcp.front.envelope import INVALID_PARAMS
from toolcrib_mcp.front.feed import LIST_CHANGED, RESOURCE_UPDATED, Notice
from toolcrib_mcp.front.service import Channel, Service
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams.eras import ACKNOWLEDGED

LISTEN: Final = "subscriptions/listen"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

MAX_WAITING: Final = 1024
"""How many different changes wait for a client that does not read; then its stream ends, and it asks anew."""

MAX_RESOURCES: Final = 256
"""How many resources one stream may watch."""

_numbers = itertools.count(1)
_logger = logging.getLogger("toolcrib.mcp")


async def listen(
    service: Service, params: Mapping[str, Any], *, request_id: str | int, channel: Channel
) -> Mapping[str, Any]:
    """Tell the client what it asked to be told, until it leaves or falls behind.

    A resource that cannot be watched is left out of what the client is told that it will hear of.

    Raises:
        RpcError: It does not say what it wants to be told.
    """
    flags, uris = _wanted(params)
    listener = f"listen-{next(_numbers)}"
    changes = _Changes({LIST_CHANGED[flag] for flag in flags}, listener)
    meta = {META_SUBSCRIPTION: request_id}
    # Before anything is awaited: what changes while the client is told that it will be told is not lost.
    stop = service.feed.subscribe(changes.hear)
    watched: list[str] = []
    try:
        honoured: dict[str, Any] = dict.fromkeys(flags, True)
        if seen := [uri for uri in uris if await _watch(service, listener, uri, watched)]:
            honoured["resourceSubscriptions"] = seen
        await channel.notify(ACKNOWLEDGED, {"notifications": honoured, "_meta": meta})
        while (notice := await changes.next()) is not None:
            theirs = notice.params.get("_meta")
            merged = {**theirs, **meta} if isinstance(theirs, Mapping) else meta
            await channel.notify(notice.method, {**notice.params, "_meta": merged})
    finally:
        stop()
        for uri in watched:
            await _unwatch(service, listener, uri)
    return {"_meta": meta}


class _Changes:
    """What has changed and was not told yet; a change that waits already is not told twice."""

    def __init__(self, methods: set[str], listener: str) -> None:
        self._methods = methods
        self._listener = listener
        self._waiting: dict[tuple[str, str], Notice] = {}
        self._behind = False
        self._news = asyncio.Event()

    def hear(self, notice: Notice) -> None:
        """Keep a notice if the client wants it; the one too many ends the stream."""
        if self._behind or not self._is_wanted(notice):
            return
        self._waiting[notice.method, str(notice.params.get("uri"))] = notice
        if len(self._waiting) > MAX_WAITING:
            self._behind = True
            self._waiting.clear()
        self._news.set()

    async def next(self) -> Notice | None:
        """The change that has waited longest; nothing once the client has fallen behind."""
        while not self._waiting and not self._behind:
            self._news.clear()
            await self._news.wait()
        return None if self._behind else self._waiting.pop(next(iter(self._waiting)))

    def _is_wanted(self, notice: Notice) -> bool:
        if notice.method == RESOURCE_UPDATED:
            return notice.to is not None and self._listener in notice.to
        return notice.to is None and notice.method in self._methods


async def _watch(service: Service, listener: str, uri: str, watched: list[str]) -> bool:
    # Noted before: a subscription that is cancelled half-way is taken back, too.
    watched.append(uri)
    try:
        await service.subscribe(listener, uri)
    except RpcError:
        watched.remove(uri)
        return False
    return True


async def _unwatch(service: Service, listener: str, uri: str) -> None:
    try:
        await service.unsubscribe(listener, uri)
    except Exception:
        # The others are to be taken back as well.
        _logger.exception("a subscription of a client that has left could not be taken back")


def _wanted(params: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    wanted = params.get("notifications")
    if not isinstance(wanted, Mapping):
        raise RpcError(INVALID_PARAMS, "`notifications` must be an object that says what to tell.")
    uris = wanted.get("resourceSubscriptions") or []
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris) or len(uris) > MAX_RESOURCES:
        raise RpcError(INVALID_PARAMS, f"`resourceSubscriptions` must be a list of at most {MAX_RESOURCES} URIs.")
    return [flag for flag in LIST_CHANGED if wanted.get(flag) is True], list(dict.fromkeys(uris))
