"""Sealing keys: AES-256-GCM under a key of its own for each row, bound to its row, owner, type, settings and field.

What is kept of a key is three texts: `v1:<key id>:<ciphertext and tag>`, salt and nonce, in base64. The key of a row is
derived from the master key by HKDF with the salt of that row, so that no two seals share one.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from toolcrib_core.wording import quoted
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.errors import MasterKeyUnusable, OldSealFormat, UnknownKeyId, UnsealingFailed, WrongMasterKey
from toolcrib_toolsets.master_key import MasterKey

VERSION: Final = "v1"
_SALT: Final = 32
_NONCE: Final = 12
_TAG: Final = 16
_ROW_PURPOSE: Final = b"toolcrib:toolsets:row:v1"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a sealed key belongs; it opens nowhere else."""

    row: str
    owner: str
    toolset_type: str
    settings: str
    """The digest of what the instance is set to: the settings say where the key is sent, and in which header."""
    field: str = "api_key"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """A sealed key, as it is kept."""

    text: str
    salt: str
    nonce: str

    @property
    def key_id(self) -> str:
        """Which master key it was sealed under.

        Raises:
            OldSealFormat: It does not say, as the form that is read here would.
        """
        return _parts(self.text)[0]


class Sealing(Protocol):
    """What seals keys and opens them; see `Sealer`."""

    def seal(self, secret: Secret, place: Place) -> Sealed:
        """Seal a secret for its place."""

    def unseal(self, sealed: Sealed, place: Place) -> Secret:
        """What was sealed for this place."""


class Unkeyed:
    """For those who have no master key and need none: whatever would need one says so."""

    def __init__(self, why: MasterKeyUnusable) -> None:
        self._why = why

    def seal(self, secret: Secret, place: Place) -> Sealed:
        """Refuse.

        Raises:
            MasterKeyUnusable: Always.
        """
        del secret, place  # whatever they are
        raise self._why

    def unseal(self, sealed: Sealed, place: Place) -> Secret:
        """Refuse.

        Raises:
            MasterKeyUnusable: Always.
        """
        del sealed, place  # whatever they are
        raise self._why


class Sealer:
    """Seals under one master key, and opens what was sealed under any that is held.

    `known` are the ids of all keys that the database has had: they tell a key that was not given apart from one that
    never was.
    """

    def __init__(self, current: MasterKey, *, others: Iterable[MasterKey] = (), known: Collection[str] = ()) -> None:
        self.current = current
        self._held: Mapping[str, MasterKey] = MappingProxyType({each.id: each for each in (*others, current)})
        self._known = frozenset(known)

    @property
    def held(self) -> frozenset[str]:
        """The ids of the keys that are held."""
        return frozenset(self._held)

    def seal(self, secret: Secret, place: Place) -> Sealed:
        """Seal a secret for its place; twice the same gives nothing that is alike."""
        salt, nonce = os.urandom(_SALT), os.urandom(_NONCE)
        bound = _bound(self.current.id, place)
        closed = AESGCM(_row_key(self.current, salt)).encrypt(nonce, secret.reveal().encode(), bound)
        return Sealed(text=f"{VERSION}:{self.current.id}:{_base64(closed)}", salt=_base64(salt), nonce=_base64(nonce))

    def unseal(self, sealed: Sealed, place: Place) -> Secret:
        """What was sealed for this place.

        Raises:
            OldSealFormat: It has a form that is not read here.
            WrongMasterKey: The database has had its master key, but it was not given.
            UnknownKeyId: The database has never had its master key.
            UnsealingFailed: It was altered, or it was sealed for another place.
        """
        key_id, closed = _parts(sealed.text)
        key = self._held.get(key_id)
        if key is None:
            raise _not_held(key_id, known=key_id in self._known)
        salt, nonce, closed_bytes = _bytes(sealed.salt), _bytes(sealed.nonce), _bytes(closed)
        if len(salt) != _SALT or len(nonce) != _NONCE or len(closed_bytes) < _TAG:
            raise _altered()
        try:
            opened = AESGCM(_row_key(key, salt)).decrypt(nonce, closed_bytes, _bound(key_id, place))
        except InvalidTag:
            raise _altered() from None
        return Secret(opened.decode())


def _row_key(master: MasterKey, salt: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=salt, info=_ROW_PURPOSE).derive(master.material())


def _bound(key_id: str, place: Place) -> bytes:
    # A list of JSON and not a join: no owner can be written so that it runs into the next part.
    parts = (place.row, place.owner, place.toolset_type, place.settings, place.field)
    return orjson.dumps([VERSION, key_id, *parts])


def _parts(text: str) -> tuple[str, str]:
    version, _, rest = text.partition(":")
    key_id, found, closed = rest.partition(":")
    if version != VERSION or not found:
        raise OldSealFormat(
            "A key was sealed in a form that this version does not read.",
            hint="Give the toolset instance its key anew, or use the version that wrote it.",
        )
    return key_id, closed


def _not_held(key_id: str, *, known: bool) -> WrongMasterKey | UnknownKeyId:
    if known:
        return WrongMasterKey(
            f"A key was sealed under the master key {quoted(key_id)}, which was not given.",
            hint="Give the master key that this database was used with; a new one comes in by `rotate-key` only.",
            details={"keyId": key_id},
        )
    return UnknownKeyId(
        "A key names a master key that this database has never had.",
        hint="It was altered, or comes from another database. Give the toolset instance its key anew.",
    )


def _altered() -> UnsealingFailed:
    return UnsealingFailed(
        "A sealed key was altered, or belongs to another toolset instance, type or settings.",
        hint="Give the toolset instance its key anew, and find out who writes to the database.",
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _altered() from None
