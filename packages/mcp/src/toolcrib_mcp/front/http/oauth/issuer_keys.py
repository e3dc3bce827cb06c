"""Where an issuer's keys come from: a file or a URL, read when they are needed and kept for a while."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_core import ToolError, ToolErrorCategory
from toolcrib_core.wording import quoted
from toolcrib_mcp.config.grants import network_for
from toolcrib_mcp.errors import ConfigError, GatewayError
from toolcrib_mcp.front.http.oauth.key_set import KeySet, read_key_set
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.guards.net import GuardedClient, NetGrant
from toolcrib_runtime.guards.net.urls import parse_url

if TYPE_CHECKING:
    from jwt import PyJWK

FRESH_SECONDS: Final = 300.0
"""After so long keys are read again, while the known ones still count."""

KEPT_SECONDS: Final = 3600.0
"""So long they count where they cannot be read again; then nobody comes in."""

RETRY_SECONDS: Final = 30.0
"""How long it is between two readings at least, whatever tokens name."""

_FETCH_SECONDS = 5.0
_MAX_BYTES = 1024 * 1024
_OK = 200
_logger = logging.getLogger("toolcrib.mcp")


class IssuerKeys:
    """The keys of one issuer. Those that are known count until others were read in their place, within bounds."""

    def __init__(self, read: Callable[[], Awaitable[bytes]], *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._read = read
        self._clock = clock
        self._keys: KeySet | None = None
        self._read_at = 0.0
        self._tried_at: float | None = None
        self._reading: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> PyJWK | None:
        """The key that a token names in its header, if the issuer has it.

        Raises:
            GatewayError: The keys cannot be read, and none that are known still count.
        """
        keys = self._known()
        if keys is None:
            await self._read_again()
            keys = self._known()
        elif self._clock.monotonic() - self._read_at > FRESH_SECONDS:
            self._begin()
        if keys is not None and not keys.knows(kid):
            await self._read_again()
            keys = self._known()
        if keys is None:
            raise GatewayError(
                "The keys of the authorization server cannot be read.",
                category=ToolErrorCategory.UNAVAILABLE,
                hint="Try again later; if it stays so, check `http.oauth.jwks` of the configuration.",
            )
        return keys.find(kid, algorithm)

    def _known(self) -> KeySet | None:
        return self._keys if self._clock.monotonic() - self._read_at <= KEPT_SECONDS else None

    async def _read_again(self) -> None:
        reading = self._begin()
        if reading is not None:
            # Shared: one client that goes away does not stop it for the others.
            await asyncio.shield(reading)

    def _begin(self) -> asyncio.Task[None] | None:
        """The reading that is under way or begins now; none where the last one is too recent."""
        now = self._clock.monotonic()
        if self._reading is None and (self._tried_at is None or now - self._tried_at >= RETRY_SECONDS):
            self._tried_at = now
            self._reading = asyncio.create_task(self._replace())
        return self._reading

    async def _replace(self) -> None:
        try:
            self._keys = read_key_set(await self._read())
            self._read_at = self._clock.monotonic()
        except (ToolError, OSError, ValueError) as error:
            _logger.warning("the keys of the authorization server cannot be read: %s", error)
        finally:
            self._reading = None


def keys_at(
    place: str, *, directory: Path | None = None, network: NetGrant | None = None, clock: Clock = SYSTEM_CLOCK
) -> IssuerKeys:
    """The keys in a file, relative to `directory`, or at a URL, reached with `network` or what the URL itself names.

    Raises:
        ConfigError: There is no such file, or the URL may not be reached.
    """
    if place.startswith(("http://", "https://")):
        grant = network_for(place, network)
        _check(place, grant)
        return IssuerKeys(lambda: _fetch(place, grant), clock=clock)
    file = (directory or Path.cwd()) / Path(place).expanduser()
    if not file.is_file():
        raise ConfigError(
            f"There is no file {quoted(place)} with the keys of the authorization server.",
            hint="Name a JWKS file, as seen from the configuration, or its URL.",
            details={"place": "http.oauth.jwks"},
        )
    return IssuerKeys(lambda: asyncio.to_thread(_read_file, file), clock=clock)


def _check(url: str, grant: NetGrant) -> None:
    try:
        parse_url(url, grant)
    except ToolError as error:
        raise ConfigError(
            f"The keys of the authorization server cannot be read from there: {error.message}",
            hint=error.hint or "Name a URL of https.",
            details={"place": "http.oauth.jwks"},
        ) from error


async def _fetch(url: str, grant: NetGrant) -> bytes:
    async with GuardedClient(grant) as client:
        answer = await client.fetch("GET", url, seconds=_FETCH_SECONDS, max_bytes=_MAX_BYTES, follow_redirects=False)
    if answer.status != _OK:
        raise ValueError(f"the answer has the status {answer.status}")
    return answer.body


def _read_file(file: Path) -> bytes:
    with file.open("rb") as opened:
        document = opened.read(_MAX_BYTES + 1)
    if len(document) > _MAX_BYTES:
        raise ValueError(f"the file is larger than the {_MAX_BYTES} bytes that are read")
    return document
