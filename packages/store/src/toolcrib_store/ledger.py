"""`SqlLedger`: which calls were begun under an idempotency key and how they ended, for many processes and restarts."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from itertools import chain, repeat
from threading import Lock
from typing import Final, TypeVar

from sqlalchemy import Connection, bindparam, delete, func, select, update

from toolcrib_core.wording import count
from toolcrib_store.calls import Call, CallStanding, standing_of
from toolcrib_store.engine import Store
from toolcrib_store.errors import QuotaExceeded
from toolcrib_store.faults import damaged
from toolcrib_store.leases import Leases
from toolcrib_store.tables import CALLS
from toolcrib_store.upserting import upsert

DAY: Final = 86_400.0
LEASE_SECONDS: Final = 15.0
"""For how long a process that has stopped answering is believed to be still at work."""

# Built once: to build a statement takes several times as long as to execute it.
_KNOWN = select(CALLS).where(CALLS.c.key == bindparam("of_key"))
_STANDS = select(CALLS.c.state, CALLS.c.lease_until).where(CALLS.c.key == bindparam("of_key"))
_OWN = (CALLS.c.key == bindparam("of_key")) & (CALLS.c.holder == bindparam("of_holder"))
_FINGERPRINT = select(CALLS.c.fingerprint).where(_OWN)
_END = update(CALLS).where(_OWN)
_FORGET = delete(CALLS).where(_OWN)

_POLL_SECONDS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)

_T = TypeVar("_T")


class SqlLedger:
    """A ledger of calls in the database; give it to a toolbox of the runtime as its `ledger`.

    What was begun is on the disk before the call is run, so that no crash makes it run twice. A process that holds a
    key says every few seconds that it lives. When it stops saying so, the outcome of its calls is unknown, and such a
    call is run again only if it may be run twice. Ends are remembered for `ttl` seconds.
    """

    def __init__(
        self,
        store: Store,
        *,
        ttl: float = DAY,
        max_entries: int = 100_000,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._store = store
        self._ttl = ttl
        self._max_entries = max_entries
        self._lease_seconds = lease_seconds
        self._holder = uuid.uuid4().hex
        self._leases = Leases(store, holder=self._holder, seconds=lease_seconds, ttl=ttl)
        self._running: dict[str, Future[None]] = {}
        self._lock = Lock()
        # Counting takes longer the more there is; so it is done now and then, and the bound is kept within a hundredth.
        self._until_counted = 0

    async def begin(self, key: str, fingerprint: str, *, repeatable: bool) -> CallStanding:
        """Claim the key, or say why not; with `repeatable`, a key whose outcome is unknown is fresh again.

        If it raises or is cancelled, the key is not claimed.

        Raises:
            QuotaExceeded: There is no room, and nothing that may be forgotten.
            StoreError: The database failed.
        """
        claiming = asyncio.ensure_future(_in_thread(lambda: self._claim(key, fingerprint, repeatable=repeatable)))
        try:
            standing = await asyncio.shield(claiming)
        except asyncio.CancelledError:
            await asyncio.wait({claiming})
            if claiming.exception() is None and claiming.result().state == "fresh":
                await self.forget(key)
            raise
        if standing.state == "fresh":
            with self._lock:
                self._running[key] = Future()
            self._leases.hold(key)
        return standing

    async def settled(self, key: str) -> None:
        """Wait until a running key has come to an end, or to where its end can no longer be recorded.

        Raises:
            StoreError: The database failed.
        """
        with self._lock:
            running = self._running.get(key)
        if running is not None:
            await asyncio.shield(asyncio.wrap_future(running))
            return
        # Another process has it, which can tell us nothing but through the database.
        for seconds in chain(_POLL_SECONDS, repeat(_POLL_SECONDS[-1])):
            if not await _in_thread(lambda: self._is_running(key)):
                return
            await asyncio.sleep(seconds)

    async def finish(self, key: str, record: bytes) -> None:
        """Record the end of the call: every later one is given the same.

        Raises:
            StoreError: The database failed; the outcome of the call is then unknown to all.
        """
        until = self._store.now() + self._ttl
        await self._end(key, lambda connection: self._set(connection, key, "finished", record, until))

    async def forget(self, key: str) -> None:
        """Nothing has happened: the key is free again.

        Raises:
            StoreError: The database failed; the outcome of the call is then unknown to all.
        """
        await self._end(key, lambda connection: connection.execute(_FORGET, self._own(key)))

    async def abandon(self, key: str) -> None:
        """Nobody knows what has happened.

        Raises:
            StoreError: The database failed; which comes to the same.
        """
        until = self._store.now() + self._ttl
        await self._end(key, lambda connection: self._set(connection, key, "unknown", None, until))

    def close(self) -> None:
        """Stop saying that the calls of this ledger are at work."""
        self._leases.close()

    async def _end(self, key: str, change: Callable[[Connection], object]) -> None:
        self._leases.let_go(key)
        with self._lock:
            running = self._running.pop(key, None)
        try:
            await _in_thread(lambda: self._write(change))
        finally:
            if running is not None:
                running.set_result(None)

    def _write(self, change: Callable[[Connection], object]) -> None:
        with self._store.writing() as connection:
            change(connection)

    def _claim(self, key: str, fingerprint: str, *, repeatable: bool) -> CallStanding:
        now = self._store.now()
        with self._store.writing() as connection:
            row = connection.execute(_KNOWN, {"of_key": key}).mappings().one_or_none()
            known = None if row is None else Call.of(row)
            if known is not None and not known.is_whole:
                raise damaged(self._store.name)
            standing = standing_of(known, fingerprint, now=now, repeatable=repeatable)
            if standing.state == "fresh":
                if known is None:
                    self._make_room(connection, now)
                until = now + self._lease_seconds
                claimed = Call.sealed(key, fingerprint, "running", lease_until=until, expires_at=until + self._ttl)
                upsert(connection, CALLS, {**claimed._asdict(), "holder": self._holder}, key=["key"])
        return standing

    def _is_running(self, key: str) -> bool:
        with self._store.reading() as connection:
            row = connection.execute(_STANDS, {"of_key": key}).one_or_none()
        return row is not None and row.state == "running" and row.lease_until > self._store.now()

    def _set(self, connection: Connection, key: str, state: str, record: bytes | None, until: float) -> None:
        # If the key was given to somebody else meanwhile, the end is theirs to record.
        own = self._own(key)
        fingerprint: str | None = connection.scalar(_FINGERPRINT, own)
        if fingerprint is not None:
            ended = Call.sealed(key, fingerprint, state, record=record, lease_until=0.0, expires_at=until)
            connection.execute(_END, ended._asdict() | own)

    def _own(self, key: str) -> dict[str, str]:
        return {"of_key": key, "of_holder": self._holder}

    def _make_room(self, connection: Connection, now: float) -> None:
        if self._until_counted > 0:
            self._until_counted -= 1
            return
        self._until_counted = self._max_entries // 100
        wanted = (connection.scalar(select(func.count()).select_from(CALLS)) or 0) + 1 + self._until_counted
        surplus = wanted - self._max_entries
        if surplus > 0:
            surplus -= forget_calls(connection, now, surplus)
        if surplus > 0:
            surplus -= _drop_oldest_finished(connection, surplus)
        if surplus > self._until_counted:
            self._until_counted = 0
            raise _full(self._max_entries)


def forget_calls(connection: Connection, now: float, limit: int) -> int:
    """Forget up to so many calls that need not be remembered any more; gives how many."""
    old = select(CALLS.c.key).where(CALLS.c.expires_at <= now).order_by(CALLS.c.expires_at, CALLS.c.key).limit(limit)
    return connection.execute(delete(CALLS).where(CALLS.c.key.in_(old))).rowcount


def _drop_oldest_finished(connection: Connection, number: int) -> int:
    finished = select(CALLS.c.key).where(CALLS.c.state == "finished").order_by(CALLS.c.expires_at).limit(number)
    return connection.execute(delete(CALLS).where(CALLS.c.key.in_(finished))).rowcount


def _full(max_entries: int) -> QuotaExceeded:
    return QuotaExceeded(
        f"The ledger holds {count(max_entries, 'call')} that run or whose outcome nobody knows, and takes no more.",
        hint="Nothing was run. Try again later, or give the toolbox a larger ledger.",
        details={"quota": "ledger", "limit": max_entries},
    )


async def _in_thread(work: Callable[[], _T]) -> _T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # A coroutine that is closed outside its loop cannot wait; what is to be recorded is recorded all the same.
        return work()
    return await asyncio.to_thread(work)
