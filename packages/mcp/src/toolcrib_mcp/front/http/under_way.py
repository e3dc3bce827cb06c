"""The requests that a front works on: bounded in number and size, in all and for each principal."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from toolcrib_mcp.front.http.exchange import Exchange, Stop
from toolcrib_mcp.front.http.replies import no_room
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.service import Identity

MAX_BODIES: Final = 32
"""How many bodies of the largest size may be held at once."""

MAX_PRINCIPAL_BODIES: Final = 8
"""Of one principal."""

_STOPPING_SECONDS = 5.0


class UnderWay:
    """All exchanges that are not over."""

    def __init__(self, settings: HttpFrontSettings) -> None:
        self._max = settings.max_requests
        self._max_each = settings.max_principal_requests
        self._max_body = settings.max_body
        self._of: Counter[str] = Counter()
        self._read: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._all_bytes = 0
        self._exchanges: set[Exchange] = set()
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()

    def check_room(self, principal: Identity | None, request_id: str | int | None = None) -> None:
        """Refuse a request that is one too many, or comes too late.

        Raises:
            Refusal: It is, or does.
        """
        if self._closing:
            raise no_room("The server is shutting down.", request_id)
        if len(self._exchanges) >= self._max:
            raise no_room("The server works on too many requests at once.", request_id)
        if principal is not None and self._of[principal.name] >= self._max_each:
            raise no_room("You have too many requests under way.", request_id)

    @contextmanager
    def holding(self, exchange: Exchange, principal: Identity | None) -> Iterator[None]:
        """Count an exchange for as long as it takes.

        Raises:
            Refusal: It is one too many.
        """
        self.check_room(principal, exchange.request_id)
        self._exchanges.add(exchange)
        _add(self._of, principal, 1)
        self._idle.clear()
        try:
            yield
        finally:
            _add(self._of, principal, -1)
            self._exchanges.discard(exchange)
            if not self._exchanges:
                self._idle.set()

    @contextmanager
    def reading(self, principal: Identity | None) -> Iterator[None]:
        """Count a body while it comes; not among the requests, for one of these may wait for the answer that it is.

        Raises:
            Refusal: Too many of this principal come at once.
        """
        if principal is not None and self._read[principal.name] >= self._max_each:
            raise no_room("You send too many requests at once.")
        _add(self._read, principal, 1)
        try:
            yield
        finally:
            _add(self._read, principal, -1)

    @contextmanager
    def weighing(self, principal: Identity | None) -> Iterator[Callable[[int], None]]:
        """Count the bytes of a request until it is over; give the size of each part, which may be refused."""
        held = 0

        def weigh(size: int) -> None:
            nonlocal held
            own = 0 if principal is None else self._bytes[principal.name] + size
            if own > MAX_PRINCIPAL_BODIES * self._max_body or self._all_bytes + size > MAX_BODIES * self._max_body:
                raise no_room("Too much is sent at once.")
            held += size
            self._all_bytes += size
            _add(self._bytes, principal, size)

        try:
            yield weigh
        finally:
            self._all_bytes -= held
            _add(self._bytes, principal, -held)

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


def _add(counter: Counter[str], principal: Identity | None, amount: int) -> None:
    if principal is None:
        return
    counter[principal.name] += amount
    if not counter[principal.name]:
        del counter[principal.name]
