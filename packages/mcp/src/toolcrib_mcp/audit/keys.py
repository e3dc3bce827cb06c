"""The key that heads are signed with, the public keys that they are checked with, and digests nobody can guess from."""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import AuditUnusable
from toolcrib_mcp.state_files import Untrusted, private_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_FILE: Final = "audit.key"
PUBLIC_FILE: Final = "audit.pub"
"""The files of a state directory; the second may be given to anybody who is to check the record."""

_MARK: Final = "toolcrib-audit-key-1"
_PUBLIC_MARK: Final = "ed25519"
_SEED_BYTES: Final = 32
_MAX_FILE: Final = 65_536
_LABEL: Final = b"toolcrib audit digests 1"


class AuditKey:
    """Signs heads; and makes digests of what is not written down, under a key of its own."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._digesting = hmac.digest(seed, _LABEL, "sha256")

    def __repr__(self) -> str:
        return "AuditKey(…)"

    @cached_property
    def public(self) -> bytes:
        """The 32 bytes of the public key."""
        return self._private.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> str:
        """The signature of a message, in base64."""
        return base64.b64encode(self._private.sign(message)).decode()

    def digest(self, kind: str, text: str) -> str:
        """HMAC-SHA256 of a text, in hex: equal for equal texts, and without the key nobody can try which text it is."""
        return hmac.digest(self._digesting, f"{kind}:{text}".encode(errors="surrogatepass"), "sha256").hex()

    @cached_property
    def _private(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self._seed)


class PublicKeys:
    """Checks signatures; any of the keys will do, for a lost key is followed by another."""

    def __init__(self, keys: Iterable[bytes]) -> None:
        self._raw = tuple(keys)

    @cached_property
    def _keys(self) -> tuple[Ed25519PublicKey, ...]:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return tuple(map(Ed25519PublicKey.from_public_bytes, self._raw))

    def signed(self, message: bytes, signature: str) -> bool:
        """Whether one of the keys has signed the message."""
        from cryptography.exceptions import InvalidSignature

        try:
            raw = base64.b64decode(signature, validate=True)
        except (ValueError, binascii.Error):
            return False
        # One signature has one text: base64 would read several.
        if base64.b64encode(raw).decode() != signature:
            return False
        for key in self._keys:
            with suppress(InvalidSignature):
                key.verify(raw, message)
                return True
        return False


def open_key(directory: Path) -> AuditKey:
    """The key of a state directory, made the first time; the public key is put beside it.

    Raises:
        AuditUnusable: It cannot be made or read, or others can read it.
    """
    file = directory / KEY_FILE
    try:
        private_file(file)
        if not file.exists():
            _make(file)
        key = AuditKey(_read_seed(file))
        private_file(directory / PUBLIC_FILE)
        _publish(directory / PUBLIC_FILE, key.public)
    except Untrusted as failure:
        raise _untrusted(failure) from None
    except OSError as failure:
        raise AuditUnusable(
            f"The key of the audit, {quoted(KEY_FILE)}, cannot be used: {failure.strerror}.",
            hint="Check the permissions of the state directory.",
        ) from None
    return key


def read_public_keys(file: Path, *, kept: bool = False) -> PublicKeys:
    """The public keys of a file, one a line; `kept` is that of the state directory.

    Raises:
        AuditUnusable: The file cannot be read, or holds no such key; or another user decides what is in a `kept` one.
    """
    try:
        if kept:
            private_file(file)
        return PublicKeys(_public_keys(_read(file)))
    except Untrusted as failure:
        raise _untrusted(failure) from None
    except OSError as failure:
        raise AuditUnusable(
            f"The public key {quoted(file.name)} cannot be read: {failure.strerror}.",
            hint=f"It is made with the first record, as {quoted(PUBLIC_FILE)} in the state directory.",
        ) from None


def _untrusted(failure: Untrusted) -> AuditUnusable:
    return AuditUnusable(
        f"The key of the audit, {quoted(str(failure.filename))}, cannot be trusted: {failure.strerror}.",
        hint=failure.advice,
    )


def _make(file: Path) -> None:
    text = f"{_MARK} {base64.b64encode(secrets.token_bytes(_SEED_BYTES)).decode()}\n"
    draft = _draft(file, text.encode())
    try:
        # A link fails where the name is taken: of two that make a key at once, one is kept, and whole.
        with suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()


def _publish(file: Path, public: bytes) -> None:
    known = _public_keys(_read(file)) if file.exists() else []
    if public in known:
        return
    lines = "".join(f"{_PUBLIC_MARK} {base64.b64encode(each).decode()}\n" for each in [*known, public])
    _draft(file, lines.encode()).replace(file)


def _draft(file: Path, data: bytes) -> Path:
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())
    return draft


def _read_seed(file: Path) -> bytes:
    mark, _, encoded = _read(file, private=True).strip().partition(" ")
    seed = _decoded(encoded)
    if mark != _MARK or len(seed) != _SEED_BYTES:
        raise AuditUnusable(
            f"{quoted(file.name)} holds no key.", hint="Move it away: a new one is made, and old records keep theirs."
        )
    return seed


def _public_keys(text: str) -> list[bytes]:
    found = []
    for line in text.splitlines():
        mark, _, encoded = line.strip().partition(" ")
        if mark == _PUBLIC_MARK and len(key := _decoded(encoded)) == _SEED_BYTES:
            found.append(key)
    if not found:
        raise AuditUnusable("The file of public keys holds none.", hint=f"It has lines as `{_PUBLIC_MARK} <base64>`.")
    return found


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""


def _read(file: Path, *, private: bool = False) -> str:
    # One open file is looked at and read, so that it cannot be another one in between.
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise AuditUnusable(f"{quoted(file.name)} is no plain file.", hint="Move it away.")
        if private and facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise AuditUnusable(
                f"The key {quoted(file.name)} can be read by others.", hint="Let only its owner read it: `chmod 600`."
            )
        return os.read(descriptor, _MAX_FILE).decode("ascii", errors="replace")
    finally:
        os.close(descriptor)
