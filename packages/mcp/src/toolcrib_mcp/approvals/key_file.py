"""The key that approvals are signed with, and what is kept of calls is sealed with: one file for a state directory."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError

KEY_FILE: Final = "approvals.key"
"""The name of the file in the directory of a configuration."""

_BYTES: Final = 32
_NEW_HINT: Final = "Remove it and a new one is made; what waits for an approval is then asked for again."


class StateKey:
    """32 random bytes, from which a key is derived for each purpose; without a file it lives as long as the process."""

    __slots__ = ("_derive",)

    def __init__(self, material: bytes | None = None) -> None:
        material = secrets.token_bytes(_BYTES) if material is None else material
        if len(material) != _BYTES:
            raise ValueError(f"a key has {_BYTES} bytes")

        def derive(purpose: bytes) -> bytes:
            return HKDF(algorithm=SHA256(), length=_BYTES, salt=None, info=purpose).derive(material)

        # A function and not the key is kept: what dumps objects would list and print the key.
        self._derive = derive

    def derived(self, purpose: str) -> bytes:
        """The key for one purpose: from none of them the others can be found."""
        return self._derive(f"toolcrib:{purpose}:v1".encode())


def state_key(directory: Path | None) -> StateKey:
    """The key of a state directory, made if there is none; of any number of processes that make it, one does.

    Raises:
        ConfigError: The file cannot be written, belongs to somebody else, can be read by others, or is no key.
    """
    if directory is None:
        return StateKey()
    file = directory / KEY_FILE
    found = _read(file)
    if found is None:
        _make(file)
        found = _read(file)
    if found is None:
        raise ConfigError(f"The key file {quoted(file.name)} cannot be kept.", hint="Name another state directory.")
    return StateKey(found)


def _read(file: Path) -> bytes | None:
    name = quoted(file.name)
    try:
        # One open file is looked at and read, so that it cannot be another one in between.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as failure:
        raise ConfigError(f"The key file {name} cannot be read: {failure.strerror}.", hint=_NEW_HINT) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ConfigError(f"The key file {name} is no plain file.", hint=_NEW_HINT)
        if facts.st_uid != os.geteuid():
            raise ConfigError(f"The key file {name} belongs to another user.", hint=_NEW_HINT)
        if facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise ConfigError(
                f"The key file {name} is open to others.",
                hint=f"Whoever has read it can allow calls. {_NEW_HINT}",
            )
        data = os.read(descriptor, _BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) != _BYTES:
        raise ConfigError(f"The key file {name} holds no key.", hint=_NEW_HINT)
    return data


def _make(file: Path) -> None:
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as opened:
            opened.write(secrets.token_bytes(_BYTES))
            opened.flush()
            os.fsync(opened.fileno())
        # A link, unlike a renaming, leaves a file that is there: whoever comes second takes the key of the first.
        with suppress(FileExistsError):
            os.link(draft, file)
        _sync(file.parent)
    except OSError as failure:
        raise ConfigError(
            f"The key file {quoted(file.name)} cannot be written: {failure.strerror}.",
            hint="Name another state directory.",
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
