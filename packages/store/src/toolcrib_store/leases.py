"""Saying every few seconds that the calls which were begun here are still at work."""

from __future__ import annotations

import logging
from threading import Condition, Thread

from sqlalchemy import update

from toolcrib_store.engine import Store
from toolcrib_store.errors import StoreError
from toolcrib_store.tables import CALLS

_AT_ONCE = 500

_logger = logging.getLogger("toolcrib.store")


class Leases:
    """Renews the leases of keys from a thread, which ends when there are none, or when the store is closed."""

    def __init__(self, store: Store, *, holder: str, seconds: float, ttl: float) -> None:
        self._store = store
        self._holder = holder
        self._seconds = seconds
        self._ttl = ttl
        self._held: set[str] = set()
        self._changed = Condition()
        self._thread: Thread | None = None
        self._closed = False

    def hold(self, key: str) -> None:
        """Renew the lease of a key from now on."""
        with self._changed:
            self._held.add(key)
            if self._thread is None and not self._closed:
                self._thread = Thread(target=self._renew_all, name="toolcrib-leases", daemon=True)
                self._thread.start()

    def let_go(self, key: str) -> None:
        """Renew it no longer."""
        with self._changed:
            self._held.discard(key)

    def close(self) -> None:
        """Renew none any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _renew_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(self._seconds / 3)
                if self._closed or self._store.closed or not self._held:
                    self._thread = None
                    return
                keys = sorted(self._held)
            try:
                self._renew(keys)
            except StoreError as failure:
                # The next time may be in time; if not, the outcome of the calls is unknown to others, which is safe.
                _logger.warning("leases of calls were not renewed: %s", failure.message)

    def _renew(self, keys: list[str]) -> None:
        with self._store.writing() as connection:
            until = self._store.now() + self._seconds
            for start in range(0, len(keys), _AT_ONCE):
                own = CALLS.c.key.in_(keys[start : start + _AT_ONCE]) & (CALLS.c.holder == self._holder)
                renewed = {"lease_until": until, "expires_at": until + self._ttl}
                connection.execute(update(CALLS).where(own, CALLS.c.state == "running").values(renewed))
