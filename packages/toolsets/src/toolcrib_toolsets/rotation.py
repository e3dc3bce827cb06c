"""Master keys over time: which one is in use, and how rows come from one to the next while everybody works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, insert, select, update

from toolcrib_core.wording import listed, quoted
from toolcrib_store import Store
from toolcrib_toolsets.errors import WrongMasterKey
from toolcrib_toolsets.master_key import MasterKey
from toolcrib_toolsets.rows import read_row, sealed_columns
from toolcrib_toolsets.sealing import Sealer
from toolcrib_toolsets.tables import CURRENT, MASTER_KEYS, RETIRED, TOOLSETS

BATCH: Final = 100
"""Rows that are sealed anew in one transaction; nobody waits longer for their turn."""


@dataclass(frozen=True, kw_only=True)
class Rotation:
    """How far a rotation has come."""

    key_id: str
    """The key that rows are sealed under from now on."""
    resealed: int
    left: int
    """Rows that are still sealed under another key."""


def has_master_key(store: Store) -> bool:
    """Whether a database has a master key of its own; one that was only looked at has none yet.

    Raises:
        StoreError: The database failed.
    """
    with store.reading() as connection:
        return connection.scalar(select(func.count()).select_from(MASTER_KEYS)) != 0


def open_sealer(store: Store, current: MasterKey, *, previous: MasterKey | None = None) -> Sealer:
    """A sealer for a database; the first master key that comes is taken for its own.

    `previous` opens what a rotation has not reached yet.

    Raises:
        WrongMasterKey: The database is sealed under another key, which was not given.
        StoreError: The database failed.
    """
    given = [current] if previous is None else [current, previous]
    with store.writing() as connection:
        states = {each.key_id: each.state for each in connection.execute(select(MASTER_KEYS))}
        if not states:
            connection.execute(insert(MASTER_KEYS).values(key_id=current.id, state=CURRENT, created_at=store.now()))
            states = {current.id: CURRENT}
    in_use = [key_id for key_id, state in states.items() if state == CURRENT]
    if not {key.id for key in given} & set(in_use):
        raise WrongMasterKey(
            f"This database is sealed under the master key {listed(in_use)}, and {quoted(current.id)} was given.",
            hint="Give the master key that it was used with; `toolcrib toolset rotate-key` brings in a new one.",
            details={"needed": in_use, "given": [key.id for key in given]},
        )
    sealing = next(key for key in given if key.id in in_use)
    return Sealer(sealing, others=given, known=states)


def rotate(
    store: Store,
    old: MasterKey,
    new: MasterKey,
    *,
    batch: int = BATCH,
    on_batch: Callable[[Rotation], None] | None = None,
) -> Rotation:
    """Seal every row under a new master key. It may be stopped at any moment, and goes on when it is called again.

    While it is under way both keys must be given to whoever opens the database; every row opens with one of them.

    Raises:
        WrongMasterKey: The database is sealed under neither.
        SealingError: A row cannot be opened; it stays as it is, and so does what comes after it.
        StoreError: The database failed.
    """
    with store.writing() as connection:
        states = {each.key_id: each.state for each in connection.execute(select(MASTER_KEYS))}
        if states and not {old.id, new.id} & {key for key, state in states.items() if state == CURRENT}:
            raise WrongMasterKey(
                f"This database is not sealed under the master key {quoted(old.id)}.",
                hint="Give the master key that this database was used with.",
            )
        if states.get(new.id) != CURRENT:
            connection.execute(MASTER_KEYS.delete().where(MASTER_KEYS.c.key_id == new.id))
            connection.execute(insert(MASTER_KEYS).values(key_id=new.id, state=CURRENT, created_at=store.now()))
    sealer = Sealer(new, others=[old], known={*states, new.id})
    resealed = 0
    while True:
        done, left = _reseal(store, sealer, batch)
        resealed += done
        progress = Rotation(key_id=new.id, resealed=resealed, left=left)
        if on_batch is not None:
            on_batch(progress)
        if not left:
            break
    return progress


def _reseal(store: Store, sealer: Sealer, batch: int) -> tuple[int, int]:
    """One batch; when nothing is left, every other key is retired in the same transaction."""
    # A key id without a key is nothing to seal, and would never become less.
    elsewhere = (TOOLSETS.c.encrypted_api_key.is_not(None), TOOLSETS.c.key_id != sealer.current.id)
    with store.writing() as connection:
        found = connection.execute(select(TOOLSETS).where(*elsewhere).order_by(TOOLSETS.c.id).limit(batch)).all()
        for each in found:
            row = read_row(each)
            if row.sealed is None:  # pragma: no cover  # a key id without a key
                continue
            again = sealer.seal(sealer.unseal(row.sealed, row.place), row.place)
            connection.execute(update(TOOLSETS).where(TOOLSETS.c.id == row.id).values(**sealed_columns(again)))
        left = connection.scalar(select(func.count()).select_from(TOOLSETS).where(*elsewhere)) or 0
        if not left:
            connection.execute(
                update(MASTER_KEYS).where(MASTER_KEYS.c.key_id != sealer.current.id).values(state=RETIRED)
            )
        return len(found), left
