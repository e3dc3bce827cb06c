"""The key that replicas sign and seal with: made by the first of them, and kept sealed in the database they share."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from toolcrib_mcp.approvals.key_file import StateKey
from toolcrib_mcp.approvals.sealing import Seals
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.shared.notes import Notes

if TYPE_CHECKING:
    from toolcrib_store import Store

_BYTES: Final = 32
_NAME: Final = "state"


def shared_key(store: Store, sealed_with: Sequence[StateKey]) -> StateKey:
    """The key of a database, made if there is none; of any number of replicas that make it, one does.

    What was sealed with a later one of `sealed_with` is sealed with the first one from then on.

    Raises:
        ConfigError: The key in the database is sealed with something else.
        StoreError: The database failed.
    """
    notes = Notes(store, kind="key")
    seals = [Seals(each, purpose="shared:key") for each in sealed_with]
    made = seals[0].seal(secrets.token_bytes(_BYTES), row=_NAME)
    before, added = notes.add("", {_NAME: made})
    sealed = (before | added)[_NAME]
    for place, each in enumerate(seals):
        material = each.unseal(sealed, row=_NAME)
        if material is not None:
            if place:
                notes.change("", seals[0].seal(material, row=_NAME), key=_NAME)
            return StateKey(material)
    raise ConfigError(
        f"The key in the database `{store.name}` is sealed under another master key.",
        hint="Give every replica the master key that the first one had; while it is being changed, "
        "the one before it as $TOOLCRIB_PREVIOUS_MASTER_KEY.",
    )
