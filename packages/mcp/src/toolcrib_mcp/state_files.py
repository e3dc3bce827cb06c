"""What lies in the directory in which the state of one configuration is kept."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from pathlib import Path
from typing import Final

from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError

ARTIFACTS: Final = "artifacts.db"
"""The database: results that were too large to send, pins, approvals, ledgers, and the heads of the audit."""

MANIFEST: Final = "catalog.json"
"""The tools that the servers are known to have."""

GREETING: Final = "greeting.json"
"""What clients were told at first when this configuration was served last."""


class Untrusted(PermissionError):
    """Another user decides what lies there, or could: it says what runs, so it is not used."""

    def __init__(self, reason: str, path: Path, *, advice: str) -> None:
        super().__init__(errno.EPERM, reason, str(path))
        self.advice = advice
        """What makes it usable again."""


def private_directory(path: Path) -> None:
    """See to it that a directory is there, which nobody else may look into.

    Raises:
        Untrusted: It is a link, belongs to another user, or others may write to it: what lies there is trusted.
        OSError: It cannot be made, or something else has its name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink():
        path.mkdir(mode=0o700, exist_ok=True)
    _refuse_others(path, path.lstat())


def private_file(path: Path) -> None:
    """See to it that a file of the state directory, if it is there, is a plain one that no other user can change.

    Raises:
        Untrusted: It is a link, no plain file, belongs to another user, or others may write to it.
        OSError: It cannot be looked at.
    """
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return
    _refuse_others(path, facts)
    if not stat.S_ISREG(facts.st_mode):
        raise Untrusted("It is no plain file", path, advice="Move it away.")


def check_state(directory: Path) -> None:
    """See to it that a state directory, and the database in it, are this user's alone.

    Raises:
        ConfigError: They are not, or cannot be used; the hint says what to do.
    """
    place = directory
    try:
        private_directory(directory)
        for place in (directory / ARTIFACTS, *(directory / f"{ARTIFACTS}{end}" for end in ("-wal", "-shm"))):
            private_file(place)
    except Untrusted as failure:
        raise ConfigError(
            f"{quoted(str(place))} cannot be trusted with what is kept: {failure.strerror}. Nothing is served.",
            hint=failure.advice,
        ) from None
    except OSError as failure:
        raise ConfigError(
            f"{quoted(str(place))} cannot be used: {failure.strerror}.", hint="Name another with `--state-dir`."
        ) from None


def _refuse_others(path: Path, facts: os.stat_result) -> None:
    if stat.S_ISLNK(facts.st_mode):
        raise Untrusted("It is a link", path, advice="Put what it leads to in its place, or name another state folder.")
    if facts.st_uid != os.geteuid():
        advice = f"Look at what it holds, then take it over: `chown -R {os.geteuid()} {shlex.quote(str(path))}`"
        raise Untrusted("It belongs to another user", path, advice=advice)
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        advice = f"Look at what it holds, then: `chmod go-w {shlex.quote(str(path))}`"
        raise Untrusted("Others may write to it", path, advice=advice)
