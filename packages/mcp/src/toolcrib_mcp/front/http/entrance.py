"""Who comes in, and how often: counted by principal and by address, before anything of a body is read."""

from __future__ import annotations

import hashlib
from typing import Final

from toolcrib_mcp.front.http.bearer import Bearers
from toolcrib_mcp.front.http.headers import Headers
from toolcrib_mcp.front.http.rates import MAX_BUCKETS, Rates
from toolcrib_mcp.front.http.replies import Event, Refusal, Scope, Send
from toolcrib_mcp.front.http.settings import HttpFrontSettings
from toolcrib_mcp.front.service import Identity
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock

_UNKNOWN: Final = 401
_CANNOT_TELL: Final = 503


class Entrance:
    """Lets requests in.

    A request whose token was good before is only counted for its principal. Any other is counted for its address, too,
    until its token turns out to be good: so those who guess at full speed use up what their address has, and clients
    behind the same address go on.
    """

    def __init__(self, settings: HttpFrontSettings, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._bearers = Bearers(settings)
        self._asks_who = settings.asks_who
        self._rates = Rates(settings.requests_per_minute, clock=clock)
        self._strangers = Rates(settings.unauthenticated_per_minute, what="requests without a known token", clock=clock)
        self._met: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._met)

    async def admit(self, headers: Headers, scope: Scope) -> Identity | None:
        """Who the client is; `None` where clients need not say.

        Raises:
            Refusal: It may not come in, or not so often.
        """
        if self._asks_who:
            met = self._take(headers, scope)
            try:
                principal = await self._bearers.identity(headers)
            except Refusal as refusal:
                self._settle(headers, scope, refusal.status, met=met)
                raise
            self._settle(headers, scope, None, met=met)
        else:
            principal = None
        self._rates.take(principal, scope)
        return principal

    async def admit_to_mount(self, headers: Headers, scope: Scope, send: Send) -> Send:
        """Count a request to an application that asks itself who its clients are, by what it answers.

        Raises:
            Refusal: The principal, or the address, sends too many.
        """
        met = self._take(headers, scope)
        self._rates.take(await self._known(headers), scope)

        async def sending(event: Event) -> None:
            if event["type"] == "http.response.start":
                self._settle(headers, scope, event["status"], met=met)
            await send(event)

        return sending

    async def identity(self, headers: Headers) -> Identity | None:
        """Who the client of a request is that was let in before.

        Raises:
            Refusal: Its token is no longer good.
        """
        return await self._bearers.identity(headers)

    async def _known(self, headers: Headers) -> Identity | None:
        try:
            return await self._bearers.identity(headers)
        except Refusal:
            return None

    def _take(self, headers: Headers, scope: Scope) -> bool:
        """Count the request for its address, unless its token was good before; whether it was."""
        token = _digest(headers)
        if token in self._met:
            return True
        self._strangers.take(None, scope)
        return False

    def _settle(self, headers: Headers, scope: Scope, status: int | None, *, met: bool) -> None:
        token = _digest(headers)
        if status == _UNKNOWN or token is None:
            self._met.pop(token or b"", None)
            return
        if not met:
            self._strangers.give_back(None, scope)
        if status != _CANNOT_TELL:
            self._met.pop(token, None)
            self._met[token] = None
            if len(self._met) > MAX_BUCKETS:
                del self._met[next(iter(self._met))]


def _digest(headers: Headers) -> bytes | None:
    sent = headers.get(b"authorization")
    return None if sent is None else hashlib.sha256(sent.encode("latin-1")).digest()
