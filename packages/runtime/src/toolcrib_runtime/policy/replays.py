"""What a call gave, written down, so that an equal call can be given the same again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

import orjson

from toolcrib_core import JsonObject, JsonValue, ToolError, digest
from toolcrib_runtime.policy.bounds import check_whole

if TYPE_CHECKING:
    from toolcrib_runtime.invocation import Invocation

MAX_KEPT_BYTES: Final = 64 * 1024 * 1024
"""How much of what calls gave is kept in memory, unless somebody says otherwise."""

_T = TypeVar("_T")


class Asker(NamedTuple):
    """On whose behalf a call is made: what one was given is never given to another."""

    tenant: str | None
    user: str | None


class Kept(Generic[_T]):
    """Things by key, within a number of entries and of bytes; the one that was not used for longest goes first."""

    def __init__(self, *, max_entries: int, max_bytes: int = MAX_KEPT_BYTES) -> None:
        check_whole("max_entries", max_entries, least=1)
        check_whole("max_bytes", max_bytes, least=1)
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[Hashable, _Entry[_T]] = OrderedDict()
        # A toolbox may be used from several threads, each with a loop of its own.
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: Hashable, thing: _T, *, size: int, until: float) -> None:
        """Keep a thing until the clock reads `until`, at most; the newest also if it alone is over the bound."""
        with self._lock:
            self._drop(key)
            while self._entries and (len(self._entries) >= self._max_entries or self._bytes + size > self._max_bytes):
                self._drop(next(iter(self._entries)))
            self._entries[key] = _Entry(thing, size, until)
            self._bytes += size

    def get(self, key: Hashable, *, now: float) -> _T | None:
        """What is kept under the key; None if there is nothing, or nothing any more."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if now >= entry.until:
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return entry.thing

    def drop_oldest(self) -> bool:
        """Make room for something else; False if there is nothing to drop."""
        with self._lock:
            if not self._entries:
                return False
            self._drop(next(iter(self._entries)))
            return True

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._bytes -= entry.size


def asker_of(invocation: Invocation) -> Asker:
    """The tenant and the user that the call is made for."""
    context = invocation.options.context
    tenant = context.tenant if context is not None else None
    return Asker(tenant=tenant.id if tenant is not None else None, user=invocation.principal)


def arguments_digest(invocation: Invocation) -> str:
    """The SHA-256 of the canonical arguments: neither the order of keys nor the spelling of numbers counts."""
    return digest(orjson.loads(invocation.snapshot))


def recorded(value: JsonValue, blocks: tuple[JsonObject, ...] | None) -> bytes:
    """A value, and the content blocks that came with it, as JSON text."""
    return orjson.dumps({"value": value} if blocks is None else {"value": value, "blocks": blocks})


def recorded_failure(error: ToolError) -> bytes:
    """An error as JSON text; what a tool put into its details may not be JSON, and is then kept as text."""
    return orjson.dumps({"error": error.to_dict()}, default=str, option=orjson.OPT_NON_STR_KEYS)


def replay(invocation: Invocation, record: bytes, *, source: Literal["cache", "ledger"]) -> JsonValue:
    """Answer the call with what was recorded: every time a copy, which belongs to whoever gets it.

    Raises:
        ToolError: A failure was recorded.
    """
    kept: dict[str, Any] = orjson.loads(record)
    invocation.source = source
    invocation.emit("replayed", source=source)
    if "error" in kept:
        raise ToolError.from_dict(kept["error"])
    blocks = kept.get("blocks")
    invocation.blocks = None if blocks is None else tuple(blocks)
    value: JsonValue = kept["value"]
    return value


class _Entry(NamedTuple, Generic[_T]):
    thing: _T
    size: int
    until: float
