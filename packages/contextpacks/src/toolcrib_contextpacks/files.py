"""Packs as files: to keep a copy, to look at one, or to carry it to another database."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from toolcrib_contextpacks.document import Document, Pack, document_json, is_pack_id, read_document, ref_place
from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_contextpacks.freshness import timestamp
from toolcrib_contextpacks.schemas import MAX_REVISION
from toolcrib_core import JsonObject, ToolError
from toolcrib_core.json_text import parse_json
from toolcrib_core.wording import quoted

FORMAT: Final = "toolcrib-context-pack"
VERSION: Final = 1

_TIMES: Final = ("created_at", "updated_at", "expires_at")
_MEMBERS: Final = frozenset({"format", "version", "id", "revision", *_TIMES, "ref_hashes", "document"})
_HASH: Final = re.compile(r"[0-9a-f]{64}")
# Later than this, a float does not hold microseconds exactly.
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC).timestamp()


def export_pack(pack: Pack) -> str:
    """A pack as the text of a file, exact: `import_pack` gives an equal pack, and exporting that gives equal bytes."""
    about: JsonObject = {
        "format": FORMAT,
        "version": VERSION,
        "id": pack.id,
        "revision": pack.revision,
        **{name: timestamp(getattr(pack, name)) for name in _TIMES},
        "ref_hashes": dict(sorted(pack.ref_hashes.items())),
        "document": document_json(pack.document),
    }
    return json.dumps(about, ensure_ascii=False, indent=2) + "\n"


def import_pack(text: str | bytes, *, max_bytes: int) -> Pack:
    """Read the text of a file that `export_pack` wrote; its document is checked like any other.

    Raises:
        InvalidPack: It is not an exported pack, or another version wrote it.
    """
    try:
        value = parse_json(text)
    except ToolError as refused:
        raise InvalidPack(refused.message, hint=refused.hint, details=refused.details) from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise _refused("it is not a pack that was exported", "format")
    if value.get("version") != VERSION:
        raise _refused("another version has written it", "version")
    unknown = sorted(value.keys() - _MEMBERS)
    if unknown:
        raise _refused(f"it has an unknown member {quoted(unknown[0])}", unknown[0])
    return _pack(value, read_document(_object(value, "document"), max_bytes=max_bytes))


def _pack(value: Mapping[str, Any], document: Document) -> Pack:
    pack_id, revision, hashes = value.get("id"), value.get("revision"), _object(value, "ref_hashes")
    if not isinstance(pack_id, str) or not is_pack_id(pack_id):
        raise _refused("`id` is no id", "id")
    if not isinstance(revision, int) or isinstance(revision, bool) or not 1 <= revision <= MAX_REVISION:
        raise _refused("`revision` is no revision", "revision")
    if not all(isinstance(each, str) and _HASH.fullmatch(each) for each in hashes.values()):
        raise _refused("`ref_hashes` has something that is no hash", "ref_hashes")
    if not hashes.keys() <= {ref_place(section, ref) for section, ref in document.refs()}:
        raise _refused("`ref_hashes` has a key that is no reference of the document", "ref_hashes")
    if document.ttl_minutes is not None:
        raise _refused("`document.ttl_minutes` is given, and `expires_at` says when it expires", "document.ttl_minutes")
    return Pack(
        id=pack_id,
        document=document,
        revision=revision,
        created_at=_time(value, "created_at"),
        updated_at=_time(value, "updated_at"),
        expires_at=_time(value, "expires_at"),
        ref_hashes=hashes,
    )


def _object(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    if not isinstance(found, dict):
        raise _refused(f"`{name}` is missing, or no object", name)
    return found


def _time(value: Mapping[str, Any], name: str) -> float:
    try:
        moment = datetime.fromisoformat(str(value.get(name)))
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise _refused(f"`{name}` is no time", name) from None
    if not 0 <= seconds < _LATEST:
        raise _refused(f"`{name}` is not between the years 1970 and 2200", name)
    return seconds


def _refused(why: str, field: str) -> InvalidPack:
    return InvalidPack(
        f"The file cannot be imported: {why}.",
        hint="Use a file that `toolcrib pack export` wrote.",
        details={"requested_field": field},
    )
