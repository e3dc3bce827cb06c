"""What lies in the directory in which the state of one configuration is kept."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final

ARTIFACTS: Final = "artifacts.db"
"""The database: results that were too large to send, pins, approvals, ledgers, and the heads of the audit."""

MANIFEST: Final = "catalog.json"
"""The tools that the servers are known to have."""

GREETING: Final = "greeting.json"
"""What clients were told at first when this configuration was served last."""


def private_directory(path: Path) -> None:
    """See to it that a directory is there, which nobody else may look into.

    Raises:
        OSError: It cannot be made, something else has its name, or others may write to it: what lies there is trusted.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    facts = path.stat()
    # Neither the directory nor a link to it: somebody else's link leads where they like.
    if {facts.st_uid, path.lstat().st_uid} != {os.geteuid()}:
        raise PermissionError(errno.EPERM, "It belongs to another user", str(path))
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "Others may write to it", str(path))
