"""Packs as `input` answers with them: plain JSON, whose document can be written back as it is."""

from __future__ import annotations

from toolcrib_contextpacks.document import Pack, document_json
from toolcrib_contextpacks.freshness import Freshness, timestamp
from toolcrib_contextpacks.packs import Listed
from toolcrib_contextpacks.quoting import one_line
from toolcrib_contextpacks.rows import Heading
from toolcrib_contextpacks.writing import Written
from toolcrib_core import JsonObject


def pack_json(pack: Pack, fresh: Freshness, *, with_document: bool = False) -> JsonObject:
    """A pack as one object; `with_document` adds the `document`, ready to be changed and written back."""
    told: JsonObject = {
        "id": pack.id,
        "name": pack.name,
        **document_json(pack.document),
        "status": pack.status,
        "revision": pack.revision,
        "created_at": timestamp(pack.created_at),
        "updated_at": timestamp(pack.updated_at),
        **freshness_json(fresh),
    }
    if pack.ref_hashes:
        told["ref_hashes"] = dict(pack.ref_hashes)
    if with_document:
        told["document"] = document_json(pack.document)
    return told


def written_json(written: Written, fresh: Freshness) -> JsonObject:
    """What a write has made, or would have made."""
    told = pack_json(written.pack, fresh)
    if written.validated_only:
        told["validated_only"] = True
        if written.created:
            del told["id"]  # nobody has it yet
    if written.renewed:
        told["renewed_refs"] = list(written.renewed)
    if written.stale:
        told["stale_refs"] = list(written.stale)
    return told


def list_json(listed: Listed) -> JsonObject:
    """A list of packs."""
    told: JsonObject = {
        "count": len(listed.packs),
        "has_more": listed.has_more,
        "packs": [_heading_json(heading, fresh) for heading, fresh in listed.packs],
    }
    if listed.quarantined:
        told["quarantined"] = listed.quarantined
    return told


def list_markdown(listed: Listed) -> str:
    """A list of packs for a reader."""
    lines = ["# Context packs", ""]
    lines += [_heading_line(heading, fresh) for heading, fresh in listed.packs] or ["No context packs found."]
    if listed.has_more:
        lines += ["", "There are more: give `offset`, or a `query`."]
    if listed.quarantined:
        lines += ["", f"{listed.quarantined} packs could not be read and were set aside."]
    return "\n".join([*lines, ""])


def freshness_json(fresh: Freshness) -> JsonObject:
    """How fresh something is, as every list and read tells it."""
    told: JsonObject = {
        "expires_at": fresh.expires_at,
        "ttl_remaining": fresh.remaining,
        "ttl_remaining_seconds": fresh.seconds,
        "freshness_state": fresh.state,
    }
    if fresh.warning:
        told["warning"] = fresh.warning
    return told


def _heading_json(heading: Heading, fresh: Freshness) -> JsonObject:
    return {
        "id": heading.id,
        "name": heading.name,
        "title": heading.title,
        "status": heading.status,
        "revision": heading.revision,
        "updated_at": timestamp(heading.updated_at),
        **freshness_json(fresh),
    }


def _heading_line(heading: Heading, fresh: Freshness) -> str:
    name = f" `{one_line(heading.name).replace('`', chr(39))}`" if heading.name else ""
    title = one_line(heading.title or heading.name or "Untitled")
    warning = f" [warning: {fresh.warning}]" if fresh.warning else ""
    return (
        f"- `{heading.id}`{name} — {title} ({heading.status}, revision `{heading.revision}`, "
        f"freshness_state `{fresh.state}`, expires_at `{fresh.expires_at}`, ttl_remaining `{fresh.remaining}`){warning}"
    )
