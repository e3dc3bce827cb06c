"""Where the master key comes from: the environment, a file that only its owner can read, or the system's keyring."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_runtime.guards.secrets import Secret
from toolcrib_toolsets.errors import MasterKeyUnusable
from toolcrib_toolsets.master_key import MasterKey, new_master_key, read_master_key

KEY_VARIABLE: Final = "TOOLCRIB_MASTER_KEY"
FILE_VARIABLE: Final = "TOOLCRIB_MASTER_KEY_FILE"
PREVIOUS_VARIABLE: Final = "TOOLCRIB_PREVIOUS_MASTER_KEY"
"""The key before, while a rotation is under way."""

SERVICE: Final = "toolcrib"
ACCOUNT: Final = "master-key"
_MAX_FILE: Final = 8192
_INIT_HINT: Final = "Make one with `toolcrib toolset init-key`."


def find_master_key(environ: Mapping[str, str], *, file: Path | None = None, keyring: bool = False) -> MasterKey:
    """The master key: of the file that is named, else of the environment, else of the keyring where that is asked for.

    Raises:
        MasterKeyUnusable: There is none, or it cannot be used.
    """
    named = file or _path(environ.get(FILE_VARIABLE))
    if named is not None:
        return read_master_key(read_key_file(named), source=f"the file {quoted(named.name)}")
    if environ.get(KEY_VARIABLE):
        return read_master_key(_secret(environ[KEY_VARIABLE], f"${KEY_VARIABLE}"), source=f"${KEY_VARIABLE}")
    if keyring:
        return read_master_key(_of_keyring(), source="the keyring")
    raise MasterKeyUnusable(
        "There is no master key to seal keys with.",
        hint=f"Set ${KEY_VARIABLE}, or ${FILE_VARIABLE} to a file that only you can read. {_INIT_HINT}",
    )


def previous_master_key(environ: Mapping[str, str]) -> MasterKey | None:
    """The key before, where the environment has it.

    Raises:
        MasterKeyUnusable: It cannot be used.
    """
    text = environ.get(PREVIOUS_VARIABLE)
    return None if not text else read_master_key(_secret(text, f"${PREVIOUS_VARIABLE}"), source=f"${PREVIOUS_VARIABLE}")


def read_key_file(file: Path) -> Secret:
    """The text of a key file, without the line break at its end.

    Raises:
        MasterKeyUnusable: It is not there, is no plain file, can be read by others, or has no text.
    """
    name = quoted(file.name)
    try:
        # One open file is looked at and read, so that it cannot be another one in between.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as failure:
        raise MasterKeyUnusable(f"The key file {name} cannot be read: {failure.strerror}.", hint=_INIT_HINT) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise MasterKeyUnusable(f"The key file {name} is no plain file.", hint=_INIT_HINT)
        # One of `root` is how a secret is put before a service.
        if facts.st_uid not in {os.geteuid(), 0}:
            raise MasterKeyUnusable(
                f"The key file {name} belongs to another user.",
                hint="Take it over, `chown`, or make a key of your own.",
            )
        if facts.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise MasterKeyUnusable(
                f"The key file {name} can be read by others.", hint="Let only its owner read it: `chmod 600`."
            )
        data = os.read(descriptor, _MAX_FILE + 1)
    finally:
        os.close(descriptor)
    try:
        text = data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        text = ""
    if not text or len(data) > _MAX_FILE:
        raise MasterKeyUnusable(f"The key file {name} holds no key.", hint=_INIT_HINT)
    return _secret(text, f"the file {name}")


def write_key_file(file: Path, key: Secret | None = None) -> None:
    """Write a new master key, or a given one, into a file that only its owner can read; one that is there is kept.

    Raises:
        MasterKeyUnusable: The file is there already, or cannot be written.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise MasterKeyUnusable(
            f"The key file {quoted(file.name)} is there already.",
            hint="Use it: what was sealed under it opens with no other. Or name another file.",
        ) from None
    except OSError as failure:
        raise MasterKeyUnusable(
            f"The key file {quoted(file.name)} cannot be written: {failure.strerror}.",
            hint="Name another file, in a folder that you may write to.",
        ) from None
    with os.fdopen(descriptor, "wb") as opened:
        opened.write((key or new_master_key()).reveal().encode() + b"\n")
        opened.flush()
        os.fsync(descriptor)


def _of_keyring() -> Secret:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise MasterKeyUnusable(
            "The keyring cannot be asked: its package is not installed.",
            hint="Install it: `pip install 'toolcrib-toolsets[keyring]'`.",
        ) from None
    try:
        text = keyring.get_password(SERVICE, ACCOUNT)
    except KeyringError as failure:
        raise MasterKeyUnusable(f"The keyring cannot be asked ({type(failure).__name__}).", hint=_INIT_HINT) from None
    if not text:
        raise MasterKeyUnusable("The keyring has no master key of toolcrib.", hint=_INIT_HINT)
    return _secret(text, "the keyring")


def _secret(text: str, source: str) -> Secret:
    try:
        return Secret(text)
    except ValueError:
        raise MasterKeyUnusable(f"The master key of {source} is no text that can be used.", hint=_INIT_HINT) from None


def _path(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None
