"""`ContextPacks`: all that can be done with packs, for programs; the two tools and the command line stand on it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import Connection

from toolcrib_contextpacks.document import LOCAL_OWNER, Document, Pack, Status, read_document, with_status
from toolcrib_contextpacks.errors import IdTaken, InvalidPack, PackError, PackStateRefused, PackStoreFailed
from toolcrib_contextpacks.freshness import SOON_SECONDS, Freshness, FreshnessState, freshness
from toolcrib_contextpacks.ids import new_pack_id
from toolcrib_contextpacks.paging import PageRequest, next_place
from toolcrib_contextpacks.profiles import ORCHESTRATOR
from toolcrib_contextpacks.refs import SourceTree
from toolcrib_contextpacks.render import Page, Selection, render_page
from toolcrib_contextpacks.revisions import check_revision
from toolcrib_contextpacks.rows import Heading
from toolcrib_contextpacks.schemas import MAX_TTL_MINUTES
from toolcrib_contextpacks.settings import PackSettings
from toolcrib_contextpacks.shelf import Shelf
from toolcrib_contextpacks.store import (
    Filter,
    add_pack,
    change_pack,
    check_name,
    drop_pack,
    list_packs,
    purge,
    quarantined_packs,
    read_pack,
)
from toolcrib_contextpacks.writing import Draft, Written, new_pack, next_pack
from toolcrib_core.wording import quoted
from toolcrib_store import Store

LISTED: Final = 50
"""How many packs a list has unless the reader says otherwise."""

_TRIES: Final = 8
_MINUTE: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One page of a list of packs."""

    packs: tuple[tuple[Heading, Freshness], ...]
    has_more: bool
    quarantined: int
    """How many packs could not be read and were moved out of the way."""


class ContextPacks:
    """The packs of one database, or with `of` those of one owner. The calls block, and may come from any thread.

    Every method raises a `PackError`, whose `kind`, `reason` and `details` are those of the contract.
    """

    def __init__(
        self, store: Store, *, settings: PackSettings | None = None, new_id: Callable[[], str] = new_pack_id
    ) -> None:
        self.settings = settings or PackSettings()
        self._shelf = Shelf(store, grace_seconds=self.settings.grace_seconds)
        self._owner: str | None = None
        self._new_id = new_id
        self._tree = SourceTree(self.settings.source_root, max_bytes=self.settings.max_source_bytes)

    def of(self, owner: str) -> ContextPacks:
        """The packs of one owner: those of others are not found, and new ones are the owner's."""
        own = copy.copy(self)
        own._owner = owner  # noqa: SLF001  # of this class
        return own

    def list(
        self,
        *,
        status: str | None = None,
        freshness_state: FreshnessState | None = None,
        query: str | None = None,
        limit: int = LISTED,
        offset: int = 0,
    ) -> Listed:
        """The packs that fit, the latest first; those that have expired only where they are asked for."""
        now = self._shelf.now()
        after, until = self._lifetimes(freshness_state, now)
        wanted = Filter(
            owner=self._owner, after=after, until=until, status=status, query=query, limit=limit, offset=offset
        )
        with self._shelf.reading() as connection:
            found = list_packs(connection, wanted)
            # What is set aside has no owner any more: it is for the user of this machine to look at.
            aside = quarantined_packs(connection) if self._owner in {None, LOCAL_OWNER} else 0
        shown = tuple((each, freshness(each.expires_at, now=now)) for each in found[:limit])
        return Listed(packs=shown, has_more=len(found) > limit, quarantined=aside)

    def get(
        self,
        *,
        pack_id: str | None = None,
        name: str | None = None,
        freshness_state: FreshnessState | None = None,
    ) -> Pack:
        """One pack, as data.

        A name means a pack that has not expired, if there is one; with `freshness_state`, one of that freshness.

        Raises:
            PackNotFound: There is none, or it is past its grace period.
            AmbiguousPack: The name fits several.
            PackStateRefused: It has another freshness than was asked for.
            PackUnreadable: It is not what was written; it was set aside.
        """
        return self._selected(pack_id, name, state=freshness_state).pack

    def freshness_of(self, pack: Pack) -> Freshness:
        """How fresh a pack is now."""
        return freshness(pack.expires_at, now=self._shelf.now())

    def write(
        self,
        document: Mapping[str, Any] | Document,
        *,
        pack_id: str | None = None,
        name: str | None = None,
        expected_revision: int | None = None,
        validate_only: bool = False,
    ) -> Written:
        """Make a pack, or replace all of one that was named; with `validate_only`, check and keep nothing.

        Raises:
            InvalidPack: The document breaks the contract.
            PackConflict: Its name is taken.
            PackNotFound: The pack that is to be replaced is not there.
            RevisionConflict: It is not the revision that was expected.
            PackStateRefused: It is finalized, and the document does not say what it is to be.
            FinalizeRefused: The document says `finalized`, and is not ready for that.
        """
        read = document if isinstance(document, Document) else self._read(document)
        draft = Draft(document=read, states=self._tree.look(read), now=self._shelf.now())
        if pack_id is None and name is None:
            return self._create(draft, validate_only=validate_only)
        with self._shelf.reading() if validate_only else self._shelf.writing() as connection:
            before = self._shelf.find(connection, pack_id, name, owner=self._owner)
            check_revision(connection, before, expected_revision)
            written = next_pack(before, draft)
            if validate_only and before.expires_at <= draft.now < written.pack.expires_at:
                check_name(connection, written.pack, now=draft.now)
            if not validate_only and written.pack is not before:
                self._change(connection, written.pack, before=before)
        return replace(written, validated_only=validate_only)

    def set_status(
        self,
        status: Status,
        *,
        pack_id: str | None = None,
        name: str | None = None,
        expected_revision: int | None = None,
    ) -> Written:
        """Finalize a pack or reopen it, as it is; what has drifted in the source tree stays marked.

        Raises:
            PackError: As `write`.
        """
        selected = self._selected(pack_id, name).pack
        document = with_status(selected.document, status)
        draft = Draft(
            document=document,
            states=self._tree.look(document, selected.ref_hashes),
            now=self._shelf.now(),
            keeps_hashes=True,
        )
        with self._shelf.writing() as connection:
            before = self._shelf.find(connection, selected.id, None, owner=self._owner)
            # What was looked at is what is changed: somebody may have written meanwhile.
            check_revision(connection, before, expected_revision or selected.revision)
            written = next_pack(before, draft)
            if written.pack is not before:
                self._change(connection, written.pack, before=before)
        return written

    def ttl(
        self,
        *,
        pack_id: str | None = None,
        name: str | None = None,
        ttl_minutes: int | None = None,
        extend_minutes: int | None = None,
        expected_revision: int | None = None,
    ) -> Pack:
        """Let a pack live `ttl_minutes` from now, or `extend_minutes` from the later of now and its expiry.

        The document stays as it is, and so do `revision` and `updated_at`.

        Raises:
            InvalidPack: It would live longer than a pack may.
            PackNotFound: There is none.
            PackConflict: It has expired, and another pack has its name by now.
            RevisionConflict: It is not the revision that was expected.
        """
        with self._shelf.writing() as connection:
            before = self._shelf.find(connection, pack_id, name, owner=self._owner)
            check_revision(connection, before, expected_revision)
            now = self._shelf.now()
            if ttl_minutes is not None:
                expires_at = now + ttl_minutes * _MINUTE
            else:
                expires_at = max(now, before.expires_at) + (extend_minutes or 0) * _MINUTE
            _check_expiry(expires_at, now)
            pack = replace(before, expires_at=expires_at)
            self._change(connection, pack, before=before)
        return pack

    def delete(
        self, *, pack_id: str | None = None, name: str | None = None, expected_revision: int | None = None
    ) -> str:
        """Delete a pack now; gives its id.

        Raises:
            PackNotFound: No pack has the id or the name.
            RevisionConflict: It is not the revision that was expected.
        """
        with self._shelf.writing() as connection:
            chosen = self._shelf.choose(connection, pack_id, name, owner=self._owner).id
            if expected_revision is not None:
                check_revision(connection, read_pack(connection, chosen), expected_revision)
            drop_pack(connection, chosen)
        return chosen

    def read(
        self,
        *,
        pack_id: str | None = None,
        name: str | None = None,
        status: str | None = None,
        freshness_state: FreshnessState | None = None,
        profile: str | None = None,
        limit: int | None = None,
        offset: int = 0,
        page_token: str | None = None,
        contains: str | None = None,
    ) -> Page:
        """One page of a pack as Markdown.

        A name means a pack that has not expired, if there is one; with `freshness_state`, one of that freshness.

        Raises:
            PackNotFound: There is none.
            AmbiguousPack: The name fits several.
            PackStateRefused: It has another status or freshness than was asked for.
            InvalidPack: The page token is not one for this pack, revision and request.
        """
        selection = self._selected(pack_id, name, state=freshness_state)
        pack, key, expected = selection.pack, self._shelf.page_key(), None
        fresh = self.freshness_of(pack)
        _check_status(pack, status)
        asked = PageRequest(
            profile=profile or ORCHESTRATOR.name, limit=limit, contains=(contains or "").strip() or None, status=status
        )
        if page_token is not None:
            said = {"profile": profile, "limit": limit, "contains": asked.contains, "status": status}
            place = next_place(page_token, pack_id=pack.id, revision=pack.revision, said=said, key=key)
            _check_status(pack, place.request.status)
            asked, offset, expected = place.request, place.offset, place.chunks
        states = self._tree.look(pack.document, pack.ref_hashes)
        return render_page(selection, states, fresh, request=asked, offset=offset, expected=expected, key=key)

    def adopt(self, pack: Pack, *, shares_name: bool = False) -> Pack:
        """Add a pack from elsewhere with its id, revision and times; to adopt the same pack again changes nothing.

        `shares_name` lets it have the name of another one; which is meant is then decided whenever the name is used.

        Raises:
            PackConflict: A different pack has its id, or one that has not expired has its name.
        """
        with self._shelf.writing() as connection:
            now = self._shelf.now()
            try:
                known = read_pack(connection, pack.id)
            except PackError:
                known = None
            if known is not None and self.is_over(known):
                drop_pack(connection, known.id)
                known = None
            # Whose it is does not travel with it.
            pack = replace(pack, owner=self._owner or (pack.owner if known is None else known.owner))
            if known != pack:
                add_pack(connection, pack, now=now, shares_name=shares_name)
        return pack

    def renewed(self, pack: Pack, *, ttl_minutes: int) -> Pack:
        """The pack with so many minutes to live from now; nothing is kept."""
        return replace(pack, expires_at=self._shelf.now() + ttl_minutes * _MINUTE)

    def is_over(self, pack: Pack) -> bool:
        """Whether a pack is past its grace period."""
        return pack.expires_at <= self._shelf.alive_after()

    def sweep(self) -> int:
        """Forget the packs that are past their grace period; gives how many."""
        gone = 0
        while True:
            with self._shelf.writing() as connection:
                some = purge(connection, dead_at=self._shelf.alive_after())
            gone += some
            if not some:
                return gone

    def _create(self, draft: Draft, *, validate_only: bool) -> Written:
        written = new_pack(draft, pack_id=self._new_id(), owner=self._owner or LOCAL_OWNER)
        if validate_only:
            with self._shelf.reading() as connection:
                check_name(connection, written.pack, now=draft.now)
            return replace(written, validated_only=True)
        for _ in range(_TRIES):
            with self._shelf.writing() as connection, suppress(IdTaken):
                add_pack(connection, written.pack, now=draft.now)
                return written
            written = new_pack(draft, pack_id=self._new_id(), owner=self._owner or LOCAL_OWNER)
        raise PackStoreFailed("No id was found that no pack has.", hint="Try again.")

    def _change(self, connection: Connection, pack: Pack, *, before: Pack) -> None:
        if not change_pack(connection, pack, before=before, now=self._shelf.now()):
            raise PackStoreFailed("Another writer changed the pack meanwhile.", hint="Try again.")

    def _read(self, document: Mapping[str, Any]) -> Document:
        return read_document(document, max_bytes=self.settings.max_pack_bytes)

    def _selected(self, pack_id: str | None, name: str | None, *, state: FreshnessState | None = None) -> Selection:
        with self._shelf.reading() as connection:
            chosen = self._shelf.choose(connection, pack_id, name, owner=self._owner, state=state)
            pack = read_pack(connection, chosen.id)
        _check_freshness(pack, self.freshness_of(pack), state)
        return Selection(pack=pack, by=chosen.by)

    def _lifetimes(self, state: FreshnessState | None, now: float) -> tuple[float, float | None]:
        match state:
            case "expired":
                return self._shelf.alive_after(now), now
            case "expiring_soon":
                return now, now + SOON_SECONDS
            case "fresh":
                return now + SOON_SECONDS, None
        return now, None


def _check_expiry(expires_at: float, now: float) -> None:
    if expires_at > now + MAX_TTL_MINUTES * _MINUTE:
        raise InvalidPack(
            f"The pack would live longer than {MAX_TTL_MINUTES:,} minutes from now.",
            hint="Give fewer `extend_minutes`, or `ttl_minutes`, which count from now.",
            details={"requested_field": "extend_minutes", "allowed_minutes": MAX_TTL_MINUTES},
        )


def _check_freshness(pack: Pack, fresh: Freshness, wanted: FreshnessState | None) -> None:
    if wanted is not None and wanted != fresh.state:
        raise PackStateRefused(
            f"The pack {quoted(pack.id)} has the freshness '{fresh.state}', expected '{wanted}'.",
            hint="Leave `freshness` out to read it all the same.",
            details={"current_freshness": fresh.state, "requested_freshness": wanted},
        )


def _check_status(pack: Pack, wanted: str | None) -> None:
    if wanted is not None and wanted != pack.status:
        raise PackStateRefused(
            f"The pack {quoted(pack.id)} has the status '{pack.status}', expected '{wanted}'.",
            hint="Leave `status` out to read it all the same.",
            details={"current_status": pack.status, "requested_status": wanted},
        )
