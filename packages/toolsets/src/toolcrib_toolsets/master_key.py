"""The master key, under which all other keys are sealed: made, read and named, and shown to nobody."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Callable
from typing import Final, NoReturn, final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.errors import MasterKeyUnusable

PREFIX: Final = "tcmk_"
"""What a master key that was made here begins with."""

MIN_PASSPHRASE: Final = 20
"""Characters that a master key of somebody's own has at least."""

_MADE = re.compile(rf"{PREFIX}([A-Za-z0-9_-]{{43}})")
_ROUNDS: Final = 600_000
_PASSPHRASE_SALT: Final = b"toolcrib:toolsets:passphrase:v1"
_KEY_PURPOSE: Final = b"toolcrib:toolsets:kek:v1"
_ID_PURPOSE: Final = b"toolcrib:toolsets:key-id:v1"
_PLACEHOLDERS = re.compile(
    r"change.?me|your.{0,40}key|example|placeholder|passw(or)?d|secret.?key|xxxx|<.*>", re.IGNORECASE
)
_FEWEST_DIFFERENT: Final = 8


@final
class MasterKey:
    """A master key: 32 bytes, and an id that tells it from others and says nothing about it."""

    __slots__ = ("_ask", "id")
    id: str
    _ask: Callable[[], bytes]

    def __init__(self, material: bytes) -> None:
        object.__setattr__(self, "_ask", lambda: material)
        object.__setattr__(self, "id", _derived(material, _ID_PURPOSE)[:4].hex())

    def material(self) -> bytes:
        """The bytes; keep them in no variable."""
        return self._ask()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a master key does not change")

    def __repr__(self) -> str:
        return f"MasterKey({self.id})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a master key is not pickled")


def new_master_key() -> Secret:
    """The text of a new master key."""
    return Secret(PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("="))


def read_master_key(text: Secret, *, source: str) -> MasterKey:
    """The master key of a text: one that `new_master_key` made, or a passphrase of 20 characters and more.

    `source` is where it comes from, for the reader of an error. A passphrase is stretched, which takes a moment.

    Raises:
        MasterKeyUnusable: It is too short, too simple, or a placeholder that was never replaced.
    """
    made = _MADE.fullmatch(text.reveal())
    if made is not None:
        return MasterKey(_derived(base64.urlsafe_b64decode(made[1] + "="), _KEY_PURPOSE))
    fault = _fault(text)
    if fault is not None:
        raise MasterKeyUnusable(
            f"The master key of {source} cannot be used: {fault}.", hint="Make one with `toolcrib toolset init-key`."
        )
    stretched = PBKDF2HMAC(algorithm=SHA256(), length=32, salt=_PASSPHRASE_SALT, iterations=_ROUNDS)
    return MasterKey(stretched.derive(text.reveal().encode()))


def _fault(text: Secret) -> str | None:
    shown = text.reveal()
    if shown.startswith(PREFIX):
        return "it begins like one that was made here, but is not whole"
    if len(shown) < MIN_PASSPHRASE:
        return f"it has fewer than {MIN_PASSPHRASE} characters"
    if _PLACEHOLDERS.search(shown):
        return "it is a placeholder"
    if len(set(shown)) < _FEWEST_DIFFERENT:
        return "it repeats a few characters"
    return None


def _derived(material: bytes, purpose: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose).derive(material)
