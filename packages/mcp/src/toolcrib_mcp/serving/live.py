"""The live health of whoever serves a configuration: a small file per process, for others to read.

It is renewed while the process lives, and removed when it ends. A file that a killed process left is seen to be stale.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from toolcrib_mcp.state_files import private_directory

MAX_BYTES: Final = 32 * 1024 * 1024
"""How large a file is read; the findings about 10,000 tools take about 3 MB."""

STALE_AFTER: Final = 60.0
"""Seconds after which a file that nobody has renewed tells nothing; they are renewed every ten."""

_PREFIX: Final = "serving-"
_MAX_DIGITS: Final = 9
_logger = logging.getLogger("toolcrib.mcp")


_MODEL: Final = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Held(BaseModel):
    """What a process that serves holds at one moment: a number that goes up and never comes down is a leak."""

    model_config = _MODEL

    tasks: int = Field(ge=0)
    """Of its event loop."""
    threads: int = Field(ge=0)
    sessions: int = Field(ge=0)
    """Clients that came and have not left; a client of the stateless era has a session only over stdio."""


class LiveStatus(BaseModel):
    """What a process that serves a configuration tells about itself and its servers."""

    model_config = _MODEL

    version: Literal[1] = 1
    pid: int = Field(gt=0)
    mode: str
    address: str
    """`stdio`, or the URL that clients come to."""
    started_at: float
    """Seconds since the epoch."""
    written_at: float
    """Seconds since the epoch."""
    held: Held | None = None
    """Not told by a process of an earlier version."""
    hub: Mapping[str, Any]
    """The status of its servers, as JSON."""


class LiveStatusFile:
    """The file of this process in the directory of a configuration."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / f"{_PREFIX}{os.getpid()}.json"
        self._turn = threading.Lock()
        self._removed = False

    def write(self, status: LiveStatus) -> None:
        """Put the status in place of the one before: a reader sees either, and nobody but the user reads.

        Raises:
            OSError: It cannot be written.
        """
        data = status.model_dump_json(by_alias=True).encode()
        draft = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
        with self._turn:
            if self._removed:
                return
            private_directory(self._path.parent)
            try:
                with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(data)
                draft.replace(self._path)
            except OSError:
                draft.unlink(missing_ok=True)
                raise

    def remove(self) -> None:
        """Take the file away for good, also from a thread that is about to write it."""
        with self._turn, suppress(OSError):
            self._removed = True
            self._path.unlink()


def read_live(directory: Path, *, now: float) -> list[LiveStatus]:
    """The status of every process that serves this configuration, the one that was started last first.

    What a process has left that no longer lives is removed, and what has not been renewed: if its process only slept,
    it writes it again.
    """
    found = []
    for path in sorted(directory.glob(f"{_PREFIX}*.json")):
        status = _read(path) if is_alive(_pid_in(path)) else None
        if status is not None and now - status.written_at <= STALE_AFTER:
            found.append(status)
        else:
            with suppress(OSError):
                path.unlink()
    return sorted(found, key=lambda each: each.started_at, reverse=True)


def is_alive(pid: int) -> bool:
    """Whether this is a process of ours; one of another user cannot be the one that wrote into our directory."""
    if pid <= 0:
        return False  # `kill` takes such a number for a whole group
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _read(path: Path) -> LiveStatus | None:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        return LiveStatus.model_validate_json(data)
    except OSError:
        return None  # it was removed meanwhile, or is not ours to read
    except ValidationError:
        _logger.info("the file `%s` holds no status that this version can read", path.name)
        return None


def _pid_in(path: Path) -> int:
    digits = path.stem.removeprefix(_PREFIX)
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS else 0
