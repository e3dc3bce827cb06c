"""`Ledger`: which calls were begun under an idempotency key, and how they ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from toolcrib_core.wording import count
from toolcrib_runtime.clock import SYSTEM_CLOCK, Clock
from toolcrib_runtime.errors import LedgerFull
from toolcrib_runtime.policy.bounds import check_number
from toolcrib_runtime.policy.replays import MAX_KEPT_BYTES, Kept

DAY: Final = 86_400.0
"""The seconds for which a key is remembered, unless somebody says otherwise."""

State: TypeAlias = Literal["fresh", "running", "finished", "unknown", "conflict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a ledger knows about a key.

    `fresh`: nothing; it is yours now, and you owe it an end. `running`: a call that `settled` can wait for has it.
    `finished`: it came to an end, which `record` holds. `unknown`: it was begun, and nobody knows how it ended.
    `conflict`: it was used with another fingerprint.
    """

    state: State
    record: bytes | None = None


class KnownStanding(Protocol):
    """A `Standing`, of whichever class: a ledger may live in a package that does not know this one."""

    @property
    def state(self) -> State:
        """See `Standing`."""

    @property
    def record(self) -> bytes | None:
        """The end of a finished call."""


class Ledger(Protocol):
    """Remembers calls by key. It may be shared by toolboxes, and, if it is a store, by processes.

    Keys and fingerprints are 64 hexadecimal digits, records are JSON text. What was begun must be on record before
    `begin` returns, and `begin` is atomic: of any number of callers with one key exactly one gets `fresh`.
    """

    async def begin(self, key: str, fingerprint: str, *, repeatable: bool) -> KnownStanding:
        """Claim the key, or say why not; with `repeatable`, a key whose outcome is unknown is fresh again.

        If it raises or is cancelled, the key is not claimed.
        """

    async def settled(self, key: str) -> None:
        """Wait until a `running` key has come to an end, or to where its end can no longer be recorded."""

    async def finish(self, key: str, record: bytes) -> None:
        """Record the end of the call: every later one is given the same."""

    async def forget(self, key: str) -> None:
        """Nothing has happened: the key is free again."""

    async def abandon(self, key: str) -> None:
        """Nobody knows what has happened. A key that is never ended must come to the same."""


class MemoryLedger:
    """A ledger for one process, as long as that lives.

    It is bounded. When it is full, the finished call that was not asked for longest is forgotten first. A call whose
    outcome is unknown stays for the ttl at least, so that it is not run again by accident: if the ledger is full of
    such calls, and of running ones, new keys are refused.
    """

    def __init__(
        self,
        *,
        max_entries: int = 10_000,
        ttl: float = DAY,
        max_bytes: int = MAX_KEPT_BYTES,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        check_number("ttl", ttl, least=1)
        self._max_entries = max_entries
        self._ttl = ttl
        self._clock = clock
        self._finished: Kept[_Finished] = Kept(max_entries=max_entries, max_bytes=max_bytes)
        self._running: dict[str, _Running] = {}
        self._unknown: dict[str, _Unknown] = {}  # by age
        self._lock = Lock()

    async def begin(self, key: str, fingerprint: str, *, repeatable: bool) -> Standing:
        """See `Ledger.begin`.

        Raises:
            LedgerFull: There is no room, and nothing that may be forgotten.
        """
        with self._lock:
            now = self._clock.monotonic()
            finished = self._finished.get(key, now=now)
            known = finished or self._running.get(key) or self._unknown.get(key)
            if known is not None and known.fingerprint != fingerprint:
                return Standing(state="conflict")
            if finished is not None:
                return Standing(state="finished", record=finished.record)
            if key in self._running:
                return Standing(state="running")
            if key in self._unknown and not repeatable:
                return Standing(state="unknown")
            if self._unknown.pop(key, None) is None:
                self._make_room(now)
            self._running[key] = _Running(fingerprint=fingerprint)
            return Standing(state="fresh")

    async def settled(self, key: str) -> None:
        """See `Ledger.settled`."""
        with self._lock:
            running = self._running.get(key)
            if running is None:
                return
            waiter = asyncio.get_running_loop().create_future()
            running.waiters[waiter] = None
        try:
            await waiter
        finally:
            running.waiters.pop(waiter, None)

    async def finish(self, key: str, record: bytes) -> None:
        """See `Ledger.finish`."""
        with self._lock:
            ended = self._running.pop(key)
            until = self._clock.monotonic() + self._ttl
            self._finished.put(key, _Finished(ended.fingerprint, record), size=len(record), until=until)
        _wake(ended.waiters)

    async def forget(self, key: str) -> None:
        """See `Ledger.forget`."""
        with self._lock:
            ended = self._running.pop(key)
        _wake(ended.waiters)

    async def abandon(self, key: str) -> None:
        """See `Ledger.abandon`."""
        with self._lock:
            ended = self._running.pop(key)
            self._unknown[key] = _Unknown(ended.fingerprint, self._clock.monotonic() + self._ttl)
        _wake(ended.waiters)

    def _make_room(self, now: float) -> None:
        open_keys = len(self._running) + len(self._unknown)
        if open_keys + len(self._finished) < self._max_entries or self._finished.drop_oldest():
            return
        oldest = next(iter(self._unknown), None)
        if oldest is None or self._unknown[oldest].kept_until > now:
            raise _full(self._max_entries)
        del self._unknown[oldest]


class _Finished(NamedTuple):
    fingerprint: str
    record: bytes


class _Unknown(NamedTuple):
    fingerprint: str
    kept_until: float


@dataclass(slots=True)
class _Running:
    fingerprint: str
    waiters: dict[asyncio.Future[None], None] = field(default_factory=dict)


def _wake(waiters: Iterable[asyncio.Future[None]]) -> None:
    for waiter in list(waiters):
        # Whoever waits may do so on the loop of another thread, and that loop may be closed by now.
        with contextlib.suppress(RuntimeError):
            waiter.get_loop().call_soon_threadsafe(_release, waiter)


def _release(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _full(max_entries: int) -> LedgerFull:
    return LedgerFull(
        f"The ledger holds {count(max_entries, 'call')} that run or whose outcome nobody knows, and takes no more.",
        hint="Nothing was run. Try again later, or give the toolbox a larger ledger.",
        details={"maxEntries": max_entries},
    )
