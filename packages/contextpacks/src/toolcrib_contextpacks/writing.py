"""What a write makes of a pack: the next revision, or why there is none. Nothing is read or kept here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from toolcrib_contextpacks.document import Document, Pack, ref_place
from toolcrib_contextpacks.errors import InvalidPack, PackStateRefused
from toolcrib_contextpacks.finalize import check_finalize
from toolcrib_contextpacks.freshness import DEFAULT_TTL_MINUTES
from toolcrib_contextpacks.refs import RefState, hashes_of
from toolcrib_core.wording import quoted

_MINUTE: Final = 60.0


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A document that is to be written, and the source tree as it is now."""

    document: Document
    states: tuple[RefState, ...]
    now: float
    keeps_hashes: bool = False
    """Whether nobody has looked at the references anew, so that drift stays drift."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a write has made."""

    pack: Pack
    created: bool = False
    validated_only: bool = False
    """Whether nothing was kept."""
    renewed: tuple[str, ...] = ()
    """References whose lines had changed since they were written about, and are taken as they are now."""
    stale: tuple[str, ...] = ()
    """References that lead to nothing, which a draft may have."""


def new_pack(draft: Draft, *, pack_id: str, owner: str) -> Written:
    """The first revision of a pack of an owner.

    Raises:
        FinalizeRefused: It is to be finalized, and is not ready.
    """
    document = replace(draft.document, status=draft.document.status or "draft", ttl_minutes=None)
    if document.status == "finalized":
        check_finalize(document, draft.states)
    minutes = draft.document.ttl_minutes or DEFAULT_TTL_MINUTES
    pack = Pack(
        id=pack_id,
        document=document,
        revision=1,
        created_at=draft.now,
        updated_at=draft.now,
        expires_at=draft.now + minutes * _MINUTE,
        ref_hashes=hashes_of(draft.states),
        owner=owner,
    )
    return Written(pack=pack, created=True, stale=_stale(draft))


def next_pack(before: Pack, draft: Draft) -> Written:
    """The next revision of a pack; the pack itself where a finalized one is finalized again as it is.

    Raises:
        InvalidPack: The document has another name than the pack.
        PackStateRefused: The pack is finalized, and the document does not say what it is to be.
        FinalizeRefused: It is to be finalized, and is not ready.
    """
    document = _renamed(before, draft.document)
    if before.status == "finalized" and document.status is None:
        raise PackStateRefused(
            f"The pack {quoted(before.id)} is finalized, and the document does not say what it is to be.",
            hint="Say `status` in the document: 'draft' reopens the pack, 'finalized' checks and finalizes it again.",
            details={
                "current_status": before.status,
                "required_fields": ["document.status"],
                "allowed_statuses": ["draft", "finalized"],
            },
        )
    document = replace(document, status=document.status or "draft")
    if document.status == "finalized":
        check_finalize(document, draft.states)
    if document == before.document and document.status == "finalized" and draft.document.ttl_minutes is None:
        return Written(pack=before, stale=_stale(draft))
    minutes = draft.document.ttl_minutes
    pack = replace(
        before,
        document=document,
        revision=before.revision + 1,
        # Clocks of several hosts differ; the time of a pack does not go back.
        updated_at=max(draft.now, before.updated_at),
        expires_at=before.expires_at if minutes is None else draft.now + minutes * _MINUTE,
        ref_hashes=before.ref_hashes if draft.keeps_hashes else hashes_of(draft.states),
    )
    return Written(pack=pack, renewed=() if draft.keeps_hashes else _renewed(before, draft), stale=_stale(draft))


def _renamed(before: Pack, document: Document) -> Document:
    if document.name not in {None, before.name}:
        raise InvalidPack(
            f"The name of the pack {quoted(before.id)} cannot be changed.",
            hint="Leave `document.name` out, or write a new pack.",
            details={"requested_field": "document.name", "reason": "name is immutable for existing packs"},
        )
    return replace(document, name=before.name, ttl_minutes=None)


def _renewed(before: Pack, draft: Draft) -> tuple[str, ...]:
    """References that are the same as before, to lines that are not."""
    known = {ref_place(section, ref): ref for section, ref in before.document.refs()}
    found = []
    for state in draft.states:
        place = f"{state.section_key}/{state.ref.key}"
        then, digest = known.get(place), before.ref_hashes.get(place)
        same = then is not None and _lines(then) == _lines(state.ref)
        if same and digest is not None and state.digest is not None and digest != state.digest:
            found.append(place)
    return tuple(found)


def _lines(ref: object) -> tuple[object, ...]:
    return tuple(getattr(ref, name) for name in ("path", "line_start", "line_end"))


def _stale(draft: Draft) -> tuple[str, ...]:
    return tuple(f"{each.section_key}/{each.ref.key}" for each in draft.states if each.lines is None)
