"""Which approvals are spent, in the database: each is good for one call, also after a restart and on another host."""

from __future__ import annotations

import asyncio
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from toolcrib_store.engine import Store
from toolcrib_store.marks import APPROVALS, raise_mark, read_mark
from toolcrib_store.tables import SPENT_APPROVALS

_KNOWN: Final = select(SPENT_APPROVALS.c.approval_id).where(SPENT_APPROVALS.c.approval_id == bindparam("approval_id"))
_ADD: Final = insert(SPENT_APPROVALS)


class SqlSpentApprovals:
    """Writes down that an approval was used; give it to the `Approvals` of the runtime as their `ledger`.

    Whoever shares a secret shares this too.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def spend(self, approval_id: str, expires_at: float) -> bool:
        """Whether this is the first time: True exactly once for an id, however many ask at once, in any process.

        What was answered True is on the disk. After `expires_at` (seconds since the epoch) the approval may be
        forgotten, and counts as spent from then on.

        Raises:
            StoreError: The database failed.
        """
        return await asyncio.to_thread(self._spend, approval_id, expires_at)

    def _spend(self, approval_id: str, expires_at: float) -> bool:
        approval = {"approval_id": approval_id}
        with self._store.writing() as connection:
            # When somebody sets the clock back, what was forgotten must not become usable again.
            if expires_at <= read_mark(connection, APPROVALS) or connection.scalar(_KNOWN, approval) is not None:
                return False
            connection.execute(_ADD, {**approval, "expires_at": expires_at})
            return True


def forget_approvals(connection: Connection, now: float, limit: int) -> int:
    """Forget up to so many approvals that have expired; gives how many."""
    oldest = (
        select(SPENT_APPROVALS.c.approval_id, SPENT_APPROVALS.c.expires_at)
        .where(SPENT_APPROVALS.c.expires_at <= now)
        .order_by(SPENT_APPROVALS.c.expires_at, SPENT_APPROVALS.c.approval_id)
        .limit(limit)
        .subquery()
    )
    until: float | None = connection.scalar(select(func.max(oldest.c.expires_at)))
    if until is None:
        return 0
    gone = connection.execute(
        delete(SPENT_APPROVALS).where(SPENT_APPROVALS.c.approval_id.in_(select(oldest.c.approval_id)))
    ).rowcount
    raise_mark(connection, APPROVALS, until)
    return gone
