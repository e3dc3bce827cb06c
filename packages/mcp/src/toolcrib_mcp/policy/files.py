"""Files of a policy that are read while others write them: one writer at a time, and never half a file."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

FileState: TypeAlias = tuple[int, int, int, int]
"""What changes whenever a file does."""


def file_state(path: Path | None) -> FileState | None:
    """The state of the file that a path leads to; `None` where there is none."""
    if path is None:
        return None
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        return -1, -1, -1, -1  # there may be one: reading it says what is wrong
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder: of two writers that take it, none overwrites what the other has added."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, text: str, *, mode: int) -> None:
    """Write a file as a whole; whoever reads it sees the old text or the new one."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def toml_value(value: str | list[str]) -> str:
    """A text, or a list of texts, as TOML: what JSON writes is TOML, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
