"""The private directory of a child process: its home, its place for temporary files, and gone with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path


def make_home() -> str:
    """A new empty directory that only this user may enter."""
    return tempfile.mkdtemp(prefix="toolcrib-")


def remove_if_empty(home: str) -> bool:
    """Remove the directory unless the child left something in it; tells whether it is gone."""
    try:
        Path(home).rmdir()
    except OSError:
        return False
    return True


def remove_with_contents(home: str) -> None:
    """Remove the directory and all in it; slow if the child left many files."""
    shutil.rmtree(home, ignore_errors=True)
    if Path(home).exists():
        _make_removable(home)
        shutil.rmtree(home, ignore_errors=True)


def _make_removable(home: str) -> None:
    # A child may take its owner's permissions away from a directory; links are left alone, they may lead anywhere.
    for parent, names, _ in os.walk(home):
        for directory in (Path(parent, name) for name in names):
            if not directory.is_symlink():
                directory.chmod(0o700)
