"""Compare and set: what a conflict says to the one who came second."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection, bindparam, delete, insert, select

from toolcrib_contextpacks.document import Pack, section_json
from toolcrib_contextpacks.errors import RevisionConflict
from toolcrib_contextpacks.freshness import timestamp
from toolcrib_contextpacks.tables import HISTORY
from toolcrib_core.schema.canonical import digest
from toolcrib_core.wording import quoted

KEPT: Final = 32
"""How many revisions back it is known which sections have changed."""

MAX_CHANGED: Final = 12
"""How many changed sections a conflict names."""

# Built once: to build a statement takes several times as long as to execute it.
_ADD = insert(HISTORY)
_FORGET = delete(HISTORY).where(HISTORY.c.pack_id == bindparam("of_pack"), HISTORY.c.revision <= bindparam("until"))


def remember(connection: Connection, pack: Pack) -> None:
    """Keep what the sections of this revision are known by, and forget what is too old."""
    sections = json.dumps(_digests(pack))
    connection.execute(_ADD, {"pack_id": pack.id, "revision": pack.revision, "sections": sections})
    connection.execute(_FORGET, {"of_pack": pack.id, "until": pack.revision - KEPT})


def check_revision(connection: Connection, pack: Pack, expected: int | None) -> None:
    """Refuse to change a pack that is not the one that was read.

    Raises:
        RevisionConflict: It has another revision than was expected.
    """
    if expected is None or expected == pack.revision:
        return
    base = connection.scalar(
        select(HISTORY.c.sections).where(HISTORY.c.pack_id == pack.id, HISTORY.c.revision == expected)
    )
    now = _digests(pack)
    changed = sorted(now) if base is None else _changed(json.loads(base), now)
    guidance = f"re-read latest pack via input action='get', merge intent, retry with expected_revision={pack.revision}"
    raise RevisionConflict(
        f"The pack {quoted(pack.id)} has revision {pack.revision}, not {expected}.",
        hint=f"Read it again with action='get', merge, and retry with expected_revision={pack.revision}.",
        details={
            "expected_revision": expected,
            "current_revision": pack.revision,
            "actual_revision": pack.revision,
            "last_updated_at": timestamp(pack.updated_at),
            "changed_section_keys": changed[:MAX_CHANGED],
            "changed_section_count": len(changed),
            "changed_sections_known": base is not None,
            "guidance": guidance,
        },
    )


def _digests(pack: Pack) -> dict[str, str]:
    return {section.key: digest(section_json(section))[:16] for section in pack.document.sections}


def _changed(base: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(key for key in base.keys() | now.keys() if base.get(key) != now.get(key))
