"""`ResultRedactor`: results and errors without secrets, and without a copy where there are none."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from toolcrib_core import ToolError
from toolcrib_core.wording import count, quoted
from toolcrib_mcp.errors import UpstreamFailed
from toolcrib_mcp.redaction.walking import has_encoded, redact_in_place
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.rpc.codec import decode, encode_message
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_runtime.guards.secrets.needles import Needles

IN_THREAD_BYTES: Final = 256 * 1024
"""A result of so many bytes is searched in a thread, where there is a choice."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Redacted:
    """A result without secrets, and how many were taken out; without any, it is the very result that was given."""

    result: dict[str, Any]
    count: int
    size: int
    """In bytes of JSON, as it came."""
    ascii: bool
    """Whether it is known to have ASCII only."""


class ResultRedactor:
    """Takes the secrets that it was told of out of results and errors, and with `known_formats` what looks like one.

    The module's own text says what is promised. More secrets may be added at any time. It takes time in proportion to
    the result alone while nothing is found: the number of secrets does not count.
    """

    def __init__(self, secrets: Iterable[Secret] = (), *, known_formats: bool = False) -> None:
        self._secrets = tuple(secrets)
        self._needles = Needles(self._secrets)
        self._known_formats = known_formats

    def add(self, *secrets: Secret) -> None:
        """Take these out, too, from the next result on."""
        self._secrets = (*self._secrets, *(each for each in secrets if each not in self._secrets))
        self._needles = Needles(self._secrets)

    def redact(self, result: dict[str, Any], *, server: str) -> Redacted:
        """The result of a server without secrets; the result that was given is never changed."""
        return self._redacted(result, _encoded(result), server)

    def redact_definitions(self, said: dict[str, Any], *, server: str) -> dict[str, Any]:
        """What a server lists or says of itself, without the secrets that are known: what looks like one may stay."""
        encoded = _encoded(said)
        found = self._needles.every() if encoded.escaped else self._needles.within(encoded.data)
        if not found and not has_encoded(encoded.data):
            return said
        copy: dict[str, Any] = _decoded(encoded.data)
        taken = redact_in_place(copy, found=found, needles=self._needles, known_formats=False)
        if not taken:
            return said
        _LOG.info("%s taken out of what the server %s says of itself", count(taken, "secret"), quoted(server))
        return copy

    async def redact_off_loop(self, result: dict[str, Any], *, server: str) -> Redacted:
        """As `redact`, with the work on a large result in a thread."""
        encoded = _encoded(result)
        if len(encoded.data) < IN_THREAD_BYTES:
            return self._redacted(result, encoded, server)
        return await asyncio.to_thread(self._redacted, result, encoded, server)

    def redact_failure(self, failure: ToolError | RpcError, *, server: str) -> int:
        """Take secrets out of an error, in place, and tell how many: it is on its way to whoever reads it."""
        said: dict[str, Any] = {"message": failure.message}
        if isinstance(failure, RpcError):
            said["data"] = failure.data
        else:
            said |= {"hint": failure.hint, "details": failure.details}
        if isinstance(failure, UpstreamFailed):
            said |= {"rpc_message": failure.rpc_message, "rpc_data": failure.rpc_data}
        redacted = self.redact(said, server=server)
        if redacted.count:
            vars(failure).update(redacted.result)
            failure.args = (failure.message,)
        return redacted.count

    def _redacted(self, result: dict[str, Any], encoded: _Encoded, server: str) -> Redacted:
        needles = self._needles
        found = needles.every() if encoded.escaped else needles.within(encoded.data)
        if not found and not self._known_formats and not has_encoded(encoded.data):
            return Redacted(result, 0, len(encoded.data), encoded.ascii)
        copy = _decoded(encoded.data)
        taken = redact_in_place(copy, found=found, needles=needles, known_formats=self._known_formats)
        if not taken:
            return Redacted(result, 0, len(encoded.data), encoded.ascii)
        _LOG.info("%s taken out of what the server %s answered", count(taken, "secret"), quoted(server))
        return Redacted(copy, taken, len(encoded.data), encoded.ascii)


class _Encoded(NamedTuple):
    """A result as JSON; if it is escaped, with more than quotes and backslashes so, it cannot be searched as it is."""

    data: bytes
    escaped: bool

    @property
    def ascii(self) -> bool:
        return not self.escaped and self.data.isascii()


def _encoded(result: dict[str, Any]) -> _Encoded:
    try:
        return _Encoded(orjson.dumps(result), escaped=False)
    except TypeError:
        # What JSON has and orjson has not: integers beyond 64 bits, lone surrogates, more than 254 levels.
        return _Encoded(_encoded_slowly(result), escaped=True)


def _encoded_slowly(result: dict[str, Any]) -> bytes:
    try:
        return encode_message(result)
    except (TypeError, ValueError):
        # The details of an error may be anything.
        return json.dumps(result, default=str, skipkeys=True).encode()


def _decoded(data: bytes) -> Any:
    try:
        return decode(data)
    except ValueError:
        return json.loads(data)
