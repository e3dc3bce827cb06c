"""`Shelf`: the database under `ContextPacks`; what is still alive in it, and its failures as the contract says them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection

from toolcrib_contextpacks.document import Pack, is_pack_id
from toolcrib_contextpacks.errors import PackStoreFailed, PackUnreadable
from toolcrib_contextpacks.freshness import FreshnessState
from toolcrib_contextpacks.resolution import Chosen
from toolcrib_contextpacks.store import Wanted, choose_pack, known_page_key, make_page_key, read_pack, set_aside
from toolcrib_store import Store, StoreError


class Shelf:
    """The packs of one database, each until its grace period is over."""

    def __init__(self, store: Store, *, grace_seconds: float) -> None:
        self._store = store
        self._grace_seconds = grace_seconds
        self._page_key: bytes | None = None

    def now(self) -> float:
        """The time by the clock of the store."""
        return self._store.now()

    def alive_after(self, now: float | None = None) -> float:
        """What expires after this time can still be had."""
        return (self.now() if now is None else now) - self._grace_seconds

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read by."""
        with self._told(), self._store.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection to write by; what was written counts at the end of the block."""
        with self._told(), self._store.writing() as connection:
            yield connection

    def choose(
        self,
        connection: Connection,
        pack_id: str | None,
        name: str | None,
        *,
        owner: str | None,
        state: FreshnessState | None = None,
    ) -> Chosen:
        """Which pack of an owner, or of all, an id or a name means; a name that has the form of an id is one.

        Raises:
            PackNotFound: There is none.
            AmbiguousPack: The name fits several.
        """
        if pack_id is None and name is not None and is_pack_id(name.strip()):
            pack_id = name.strip()
        now = self.now()
        wanted = Wanted(pack_id=pack_id, name=(name or "").strip(), owner=owner, state=state)
        return choose_pack(connection, wanted, now=now, alive_after=self.alive_after(now))

    def find(self, connection: Connection, pack_id: str | None, name: str | None, *, owner: str | None) -> Pack:
        """The pack that an id or a name means.

        Raises:
            PackError: As `choose`, or it cannot be read.
        """
        return read_pack(connection, self.choose(connection, pack_id, name, owner=owner).id)

    def page_key(self) -> bytes:
        """What the tokens of pages are signed with, the same for whoever shares the database."""
        if self._page_key is None:
            with self.reading() as connection:
                self._page_key = known_page_key(connection)
        if self._page_key is None:
            with self.writing() as connection:
                self._page_key = make_page_key(connection)
        return self._page_key

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the database fails with, as the contract says it; what cannot be read is set aside."""
        try:
            yield
        except PackUnreadable as unreadable:
            self._set_aside(unreadable)
            raise
        except StoreError as failure:
            raise PackStoreFailed(
                failure.message,
                category=failure.category,
                hint=failure.hint,
                retryable=failure.retryable,
                details={**failure.details, "store_code": failure.code},
            ) from failure

    def _set_aside(self, unreadable: PackUnreadable) -> None:
        # Whether or not it can be moved now, whoever asked is told that it cannot be read.
        with suppress(StoreError), self._store.writing() as connection:
            set_aside(connection, str(unreadable.details["id"]), unreadable, now=self.now())
