"""A pack as a row of the database, and back: what is read is what was written, or it is not believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolcrib_contextpacks.document import Document, Pack, document_json, stored_document
from toolcrib_contextpacks.errors import PackTooNew, PackUnreadable
from toolcrib_core.schema.canonical import canonical_json
from toolcrib_core.wording import quoted
from toolcrib_store.seals import seal

FORM: Final = 1
"""The form that the body of a row has; a row of a later one is left alone."""

_SEALED: Final = (
    *("id", "owner", "name", "title", "status", "revision", "created_at", "updated_at", "expires_at", "form", "body"),
)


@dataclass(frozen=True, kw_only=True)
class Heading:
    """What a list shows of a pack."""

    id: str
    name: str | None
    title: str | None
    status: str
    revision: int
    updated_at: float
    expires_at: float


def row_of(pack: Pack) -> dict[str, Any]:
    """The pack as a row, all but who may claim its name."""
    document = pack.document
    body = canonical_json({"document": document_json(document), "ref_hashes": dict(pack.ref_hashes)}).decode()
    row = {
        "id": pack.id,
        "owner": pack.owner,
        "name": document.name,
        "title": document.title,
        "status": pack.status,
        "searched": _searched(document),
        "revision": pack.revision,
        "created_at": pack.created_at,
        "updated_at": pack.updated_at,
        "expires_at": pack.expires_at,
        "form": FORM,
        "body": body,
    }
    return {**row, "seal": _seal(row)}


def pack_of(row: Mapping[Any, Any]) -> Pack:
    """The pack that a row is.

    Raises:
        PackUnreadable: The row is not what was written.
        PackTooNew: A newer version of this package has written it.
    """
    pack_id = str(row["id"])
    form = row["form"]
    if isinstance(form, int) and form > FORM:
        raise PackTooNew(
            f"The pack {quoted(pack_id)} was written by a newer version of toolcrib.",
            hint="Install that version; the pack was left as it is.",
            details={"id": pack_id, "form": form, "known_form": FORM},
        )
    try:
        body = row["body"].decode() if isinstance(row["body"], bytes) else row["body"]
        if _seal({**row, "body": body}) != row["seal"]:
            raise ValueError("it is not what was written")  # noqa: TRY301  # all that is wrong ends below
        read = json.loads(body)
        return Pack(
            id=pack_id,
            document=stored_document(read["document"]),
            revision=int(row["revision"]),
            created_at=float(row["created_at"]),
            updated_at=float(row["updated_at"]),
            expires_at=float(row["expires_at"]),
            ref_hashes=dict(read["ref_hashes"]),
            owner=str(row["owner"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as failure:
        reason = str(failure) if type(failure) is ValueError else f"its content is malformed ({type(failure).__name__})"
        raise PackUnreadable(
            f"The pack {quoted(pack_id)} cannot be read: {reason}.",
            hint="It was set aside, not deleted: `toolcrib store` shows what is in quarantine. Write the pack anew.",
            details={"id": pack_id, "reason": reason},
        ) from None


def heading_of(row: Mapping[Any, Any]) -> Heading:
    """What a list shows of a row."""
    names = Heading.__dataclass_fields__
    return Heading(**{name: row[name] for name in names})


def folded(text: str) -> str:
    """Text as it is looked for."""
    return " ".join(text.casefold().split())


def _searched(document: Document) -> str:
    parts = (document.title, document.name, document.brief, *document.tags)
    return folded(" ".join(each for each in parts if each))


def _seal(row: Mapping[Any, Any]) -> bytes:
    return seal(*(row[name] for name in _SEALED))
