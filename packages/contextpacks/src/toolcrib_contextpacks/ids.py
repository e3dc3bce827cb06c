"""New ids of packs."""

from __future__ import annotations

import secrets
from typing import Final

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"


def new_pack_id() -> str:
    """An id that nobody can foresee: `pk_` and eight of a-z and 2-7."""
    return "pk_" + "".join(secrets.choice(_ALPHABET) for _ in range(8))
