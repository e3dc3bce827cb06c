"""Packs in the database: found, listed, put, changed by compare and set, and forgotten when their time is over."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    and_,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
    update,
)

from toolcrib_contextpacks.document import Pack
from toolcrib_contextpacks.errors import IdTaken, PackConflict, PackTooNew, PackUnreadable
from toolcrib_contextpacks.freshness import FreshnessState
from toolcrib_contextpacks.resolution import EXACT_ID, Chosen, choose, unknown_id
from toolcrib_contextpacks.revisions import remember
from toolcrib_contextpacks.rows import Heading, folded, heading_of, pack_of, row_of
from toolcrib_contextpacks.tables import PACKS, SETTINGS
from toolcrib_core.wording import quoted
from toolcrib_store import upsert
from toolcrib_store.quarantining import Unreadable, quarantine
from toolcrib_store.tables import QUARANTINE

_HEADING: Final = tuple(PACKS.c[name] for name in Heading.__dataclass_fields__)
_AT_ONCE: Final = 200
_PAGE_KEY: Final = "page_key"

# Built once: to build a statement takes several times as long as to execute it.
_IS_ALIVE: Final = PACKS.c.expires_at > bindparam("alive_after")
_IS_OWN: Final = PACKS.c.owner == bindparam("of_owner")
_ALIVE: Final = select(PACKS.c.id).where(PACKS.c.id == bindparam("of_id"), _IS_ALIVE)
_OWN_ALIVE: Final = _ALIVE.where(_IS_OWN)
_CALLED: Final = select(*_HEADING).where(PACKS.c.name == bindparam("of_name"), _IS_ALIVE)
_OWN_CALLED: Final = _CALLED.where(_IS_OWN)
_HOLDER: Final = (
    select(PACKS.c.id)
    .where(_IS_OWN, PACKS.c.name == bindparam("of_name"), PACKS.c.expires_at > bindparam("of_now"))
    .order_by(PACKS.c.id)
    .limit(1)
)
_RELEASE: Final = (
    update(PACKS)
    .where(_IS_OWN, PACKS.c.claim == bindparam("of_name"), PACKS.c.expires_at <= bindparam("of_now"))
    .values(claim=None)
)
_ADD: Final = insert(PACKS)
_CHANGE: Final = update(PACKS).where(PACKS.c.id == bindparam("of_id"), PACKS.c.revision == bindparam("of_revision"))


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which packs a list has; `after` and `until` bound when they expire."""

    owner: str | None
    """Whose; `None` for those of all owners."""
    after: float
    until: float | None = None
    status: str | None = None
    query: str | None = None
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A pack, by its id or its name; `state` is the freshness that a name is to mean, if that was said."""

    pack_id: str | None
    name: str | None
    owner: str | None
    """Whose; `None` for one of any owner."""
    state: FreshnessState | None = None


def choose_pack(connection: Connection, wanted: Wanted, *, now: float, alive_after: float) -> Chosen:
    """Which pack an id or a name means, of those whose grace period is not over.

    Raises:
        PackNotFound: There is none.
        AmbiguousPack: The name fits several.
    """
    pack_id, name = wanted.pack_id, wanted.name
    asked: dict[str, Any] = {"alive_after": alive_after}
    if wanted.owner is not None:
        asked["of_owner"] = wanted.owner
    if pack_id is not None:
        alive = _ALIVE if wanted.owner is None else _OWN_ALIVE
        if connection.scalar(alive, {**asked, "of_id": pack_id}) is None:
            raise unknown_id(pack_id)
        return Chosen(pack_id, EXACT_ID)
    called = _CALLED if wanted.owner is None else _OWN_CALLED
    rows = connection.execute(called, {**asked, "of_name": name}).mappings()
    return choose(name or "", [heading_of(row) for row in rows], now=now, state=wanted.state)


def read_pack(connection: Connection, pack_id: str) -> Pack:
    """One pack.

    Raises:
        PackNotFound: No pack has the id.
        PackUnreadable: Its row is not what was written.
        PackTooNew: A newer version has written it.
    """
    row = connection.execute(_by_id(connection.dialect.name), {"of_id": pack_id}).mappings().one_or_none()
    if row is None:
        raise unknown_id(pack_id)
    return pack_of(row)


def list_packs(connection: Connection, wanted: Filter) -> list[Heading]:
    """The packs that fit, the latest first; one more than the limit where there are more."""
    conditions: list[ColumnElement[bool]] = [PACKS.c.expires_at > wanted.after]
    if wanted.owner is not None:
        conditions.append(PACKS.c.owner == wanted.owner)
    if wanted.until is not None:
        conditions.append(PACKS.c.expires_at <= wanted.until)
    if wanted.status is not None:
        conditions.append(PACKS.c.status == wanted.status)
    if wanted.query and folded(wanted.query):
        conditions.append(PACKS.c.searched.contains(folded(wanted.query), autoescape=True))
    latest = (PACKS.c.updated_at.desc(), PACKS.c.revision.desc(), PACKS.c.id)
    page = select(*_HEADING).where(and_(*conditions)).order_by(*latest).limit(wanted.limit + 1).offset(wanted.offset)
    return [heading_of(row) for row in connection.execute(page).mappings()]


def add_pack(connection: Connection, pack: Pack, *, now: float, shares_name: bool = False) -> None:
    """Add a new pack; `shares_name` lets it have the name of another one.

    Raises:
        PackConflict: Its id is taken, or its name by a pack that has not expired.
    """
    # There is one writer at a time: no other process takes the id between this check and the insert.
    if connection.scalar(select(PACKS.c.id).where(PACKS.c.id == pack.id)) is not None:
        raise IdTaken(
            f"A pack has the id {quoted(pack.id)} already, and is not the same.",
            hint="Delete that pack first, or replace its document with `expected_revision`.",
            details={"id": pack.id},
        )
    connection.execute(_ADD, {**row_of(pack), "claim": _claim_name(connection, pack, now=now, shares_name=shares_name)})
    remember(connection, pack)


def check_name(connection: Connection, pack: Pack, *, now: float) -> None:
    """Refuse the name of another pack of the same owner that has not expired.

    Raises:
        PackConflict: It is taken.
    """
    taken = _holder(connection, pack, now)
    if taken is not None:
        raise _name_taken(pack.name or "", taken)


def change_pack(connection: Connection, pack: Pack, *, before: Pack, now: float) -> bool:
    """Replace `before`; False if that revision is no longer the current one.

    Raises:
        PackConflict: The pack had expired, is to live again, and another one has its name by now.
    """
    values = row_of(pack)
    if before.expires_at <= now < pack.expires_at:
        values["claim"] = _claim_name(connection, pack, now=now)
    if connection.execute(_CHANGE, {**values, "of_id": pack.id, "of_revision": before.revision}).rowcount != 1:
        return False
    if pack.revision != before.revision:
        remember(connection, pack)
    return True


def drop_pack(connection: Connection, pack_id: str) -> bool:
    """Forget a pack; False if there is none."""
    return connection.execute(delete(PACKS).where(PACKS.c.id == pack_id)).rowcount == 1


def purge(connection: Connection, *, dead_at: float) -> int:
    """Forget packs that expired at this time or before, a few of them; gives how many. What is unreadable is kept."""
    gone = 0
    for row in list(_rows(connection, PACKS.c.expires_at <= dead_at, limit=_AT_ONCE)):
        try:
            pack_of(row)
        except PackTooNew:
            pass  # whoever wrote it knows what it is, and it is past its time all the same
        except PackUnreadable as unreadable:
            set_aside(connection, str(row["id"]), unreadable, now=dead_at)
            continue
        gone += drop_pack(connection, str(row["id"]))
    return gone


def set_aside(connection: Connection, pack_id: str, why: PackUnreadable, *, now: float) -> bool:
    """Move a row that cannot be read out of the way, unless somebody has written it anew."""
    rows = list(_rows(connection, PACKS.c.id == pack_id))
    try:
        for row in rows:
            pack_of(row)
    except PackUnreadable:
        what = f"a context pack cannot be read: {why.details['reason']}"
        return bool(quarantine(connection, Unreadable(table=PACKS, where=PACKS.c.id == pack_id, what=what), now=now))
    return False


def quarantined_packs(connection: Connection) -> int:
    """How many packs have been moved out of the way."""
    return connection.scalar(select(func.count()).select_from(QUARANTINE).where(QUARANTINE.c.source == PACKS.name)) or 0


def known_page_key(connection: Connection) -> bytes | None:
    """The key that page tokens are signed with, if one was made."""
    value = connection.scalar(select(SETTINGS.c.value).where(SETTINGS.c.name == _PAGE_KEY))
    return None if value is None else bytes.fromhex(value)


def make_page_key(connection: Connection) -> bytes:
    """The key that page tokens are signed with; one is made where there is none."""
    known = known_page_key(connection)
    if known is not None:
        return known
    key = secrets.token_bytes(32)
    upsert(connection, SETTINGS, {"name": _PAGE_KEY, "value": key.hex()}, key=("name",))
    return key


def _rows(
    connection: Connection, where: ColumnElement[bool], *, limit: int | None = None
) -> Iterator[Mapping[Any, Any]]:
    yield from connection.execute(_whole(connection.dialect.name).where(where).limit(limit)).mappings()


@cache
def _by_id(dialect: str) -> Select[Any]:
    return _whole(dialect).where(PACKS.c.id == bindparam("of_id"))


@cache
def _whole(dialect: str) -> Select[Any]:
    columns: Sequence[Any] = [column for column in PACKS.columns if column.name not in {"body", "claim"}]
    # SQLite may hold text that is none; as bytes it can be looked at all the same.
    body = cast(PACKS.c.body, LargeBinary).label("body") if dialect == "sqlite" else PACKS.c.body
    return select(*columns, body)


def _claim_name(connection: Connection, pack: Pack, *, now: float, shares_name: bool = False) -> str | None:
    """Take the name of a pack for it, from expired packs too; None if it claims none.

    Raises:
        PackConflict: Another pack has the name, and has not expired.
    """
    if pack.name is None or pack.expires_at <= now:
        return None
    connection.execute(_RELEASE, {"of_owner": pack.owner, "of_name": pack.name, "of_now": now})
    taken = _holder(connection, pack, now)
    if taken is None:
        return pack.name
    if shares_name:
        return None
    raise _name_taken(pack.name, taken)


def _name_taken(name: str, pack_id: str) -> PackConflict:
    return PackConflict(
        f"Another pack has the name {quoted(name)} and has not expired: {quoted(pack_id)}.",
        hint="Choose another name, or update that pack by its id with `expected_revision`.",
        details={"name": name, "id": pack_id, "requested_field": "document.name"},
    )


def _holder(connection: Connection, pack: Pack, now: float) -> str | None:
    """The pack of the same owner that has the name and has not expired."""
    if pack.name is None:
        return None
    asked = {"of_owner": pack.owner, "of_name": pack.name, "of_now": now}
    holder: str | None = connection.scalar(_HOLDER, asked)
    return holder
