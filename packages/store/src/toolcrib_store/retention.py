"""Forgetting what nobody may ask for any more, a little at a time, so that no writer waits long."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, TypeAlias

from sqlalchemy import Connection, delete, select

from toolcrib_store.approvals import forget_approvals
from toolcrib_store.blobs import drop_unused
from toolcrib_store.engine import Store
from toolcrib_store.errors import StoreError
from toolcrib_store.ledger import forget_calls
from toolcrib_store.marks import CLOCK, raise_mark
from toolcrib_store.tables import ARTIFACTS

AT_ONCE: Final = 1_000
"""How many rows are forgotten in one transaction."""

Sweep: TypeAlias = Callable[[Connection, float, int], int]
"""Given a connection that writes, the time and a number, forgets so many rows at most and gives how many."""

_logger = logging.getLogger("toolcrib.store")


def sweep_store(store: Store, *, more: Mapping[str, Sweep] | None = None) -> dict[str, int]:
    """Forget what has expired; gives the number of rows by what they were.

    `more` are the sweeps of packages that keep their tables in the store.

    Raises:
        StoreError: The database failed; what was forgotten before stays so.
    """
    sweeps: dict[str, Sweep] = {
        "artifacts": _forget_artifacts,
        "calls": forget_calls,
        "approvals": forget_approvals,
        **(more or {}),
    }
    now = store.now()
    with store.writing() as connection:
        # Whoever opens the store later knows from it how late it has been.
        raise_mark(connection, CLOCK, now)
    return {name: _swept(store, sweep, now) for name, sweep in sweeps.items()}


@contextlib.asynccontextmanager
async def sweeping(
    store: Store, *, every: float = 60.0, more: Mapping[str, Sweep] | None = None
) -> AsyncIterator[None]:
    """Sweep now and then, in the background, as long as the block lasts."""
    task = asyncio.create_task(_keep_sweeping(store, every, more))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _keep_sweeping(store: Store, every: float, more: Mapping[str, Sweep] | None) -> None:
    while True:
        sweeping_now = asyncio.ensure_future(asyncio.to_thread(sweep_store, store, more=more))
        try:
            await asyncio.shield(sweeping_now)
        except StoreError as failure:
            _logger.warning("the store was not swept: %s", failure.message)
        except asyncio.CancelledError:
            # The thread still has the database, which is closed next.
            with contextlib.suppress(StoreError):
                await sweeping_now
            raise
        await asyncio.sleep(every)


def _swept(store: Store, sweep: Sweep, now: float) -> int:
    gone = 0
    while True:
        with store.writing() as connection:
            some = sweep(connection, now, AT_ONCE)
        gone += some
        if some < AT_ONCE:
            return gone


def _forget_artifacts(connection: Connection, now: float, limit: int) -> int:
    old = select(ARTIFACTS.c.id).where(ARTIFACTS.c.expires_at <= now).order_by(ARTIFACTS.c.expires_at).limit(limit)
    gone = connection.execute(delete(ARTIFACTS).where(ARTIFACTS.c.id.in_(old))).rowcount
    drop_unused(connection)
    return gone
