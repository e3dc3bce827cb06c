"""What is kept of calls, closed to whoever reads the database: AES-256-GCM, bound to the row that it lies in."""

from __future__ import annotations

import os
from typing import Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from toolcrib_mcp.approvals.key_file import StateKey

_FORM: Final = b"\x01"
_NONCE: Final = 12


class Seals:
    """Seals under the key for one purpose."""

    __slots__ = ("_cipher", "_purpose")

    def __init__(self, key: StateKey, *, purpose: str) -> None:
        self._purpose = purpose
        self._cipher = AESGCM(key.derived(purpose))

    def seal(self, content: bytes, *, row: str) -> bytes:
        """The content, closed; twice the same gives nothing that is alike."""
        nonce = os.urandom(_NONCE)
        return _FORM + nonce + self._cipher.encrypt(nonce, content, self._bound(row))

    def unseal(self, sealed: bytes, *, row: str) -> bytes | None:
        """What was sealed for this row; `None` if it was altered, moved here, or sealed under another key."""
        form, nonce, closed = sealed[:1], sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
        if form != _FORM or len(nonce) != _NONCE:
            return None
        try:
            return self._cipher.decrypt(nonce, closed, self._bound(row))
        except InvalidTag:
            return None

    def _bound(self, row: str) -> bytes:
        return orjson.dumps([self._purpose, row])
