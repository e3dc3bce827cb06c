"""The requests that a front works on: bounded in number, and ended in good order when the front closes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from toolcrib_mcp.front.http.exchange import Exchange, Stop
from toolcrib_mcp.front.http.replies import no_room

_STOPPING_SECONDS = 5.0


class UnderWay:
    """All exchanges that are not over."""

    def __init__(self, max_requests: int) -> None:
        self._max = max_requests
        self._exchanges: set[Exchange] = set()
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()

    def check_room(self, request_id: str | int | None = None) -> None:
        """Refuse a request that is one too many, or comes too late.

        Raises:
            Refusal: It is, or does.
        """
        if self._closing:
            raise no_room("The server is shutting down.", request_id)
        if len(self._exchanges) >= self._max:
            raise no_room("The server works on too many requests at once.", request_id)

    @contextmanager
    def holding(self, exchange: Exchange) -> Iterator[None]:
        """Count an exchange for as long as it takes."""
        self._exchanges.add(exchange)
        self._idle.clear()
        try:
            yield
        finally:
            self._exchanges.discard(exchange)
            if not self._exchanges:
                self._idle.set()

    async def aclose(self, *, drain: float) -> None:
        """Take no more requests, end the streams that only listen, and give the rest some seconds before they end."""
        self._closing = True
        for exchange in list(self._exchanges):
            if exchange.farewell is not None:
                exchange.stop(Stop.ENDED)
        await self._until_none(drain)
        for exchange in list(self._exchanges):
            exchange.stop(Stop.ENDED)
        await self._until_none(_STOPPING_SECONDS)

    async def _until_none(self, seconds: float) -> None:
        waiting = asyncio.create_task(self._idle.wait())
        await asyncio.wait([waiting], timeout=seconds)
        waiting.cancel()
