"""A planted secret, and the search for it in everything that was written.

`python -m checks.canary PLACE …` looks for the one in the environment, and fails where it is found.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VARIABLE: Final = "CHAOS_CANARY_SECRET"
"""The environment variable in which it is planted."""

_BLOCK: Final = 1 << 20
_MOST_SHOWN: Final = 20


@dataclass(frozen=True, kw_only=True)
class Search:
    """What was looked through, and where the secret was found."""

    hits: tuple[str, ...] = ()
    searched_bytes: int = 0


def new_canary() -> str:
    """A secret that occurs nowhere else."""
    return f"canary-{secrets.token_hex(16)}"


def search(folder: Path, canary: str) -> Search:
    """Look through a file, or every file below a folder; what cannot be read is passed over."""
    hits, size = [], 0
    for file in _files(folder):
        try:
            found, length = _look(file, canary.encode())
        except OSError:
            continue
        size += length
        if found:
            hits.append(file.relative_to(folder).as_posix() if file != folder else file.name)
    return Search(hits=tuple(sorted(hits)), searched_bytes=size)


def _files(folder: Path) -> Iterator[Path]:
    # Neither links, which may lead out, nor pipes and sockets, which would wait.
    places = folder.rglob("*") if folder.is_dir() else (folder,)
    return (path for path in places if path.is_file() and not path.is_symlink())


def _look(file: Path, wanted: bytes) -> tuple[bool, int]:
    tail, size, found = b"", 0, False
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            tail += block
            found = found or wanted in tail
            tail = tail[-len(wanted) :]
            size += len(block)
    return found, size


def main(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Search folders and files for the secret of the environment, say what was found, and give the exit code."""
    found = [search(Path(each), environ[VARIABLE]) for each in arguments]
    hits = [hit for each in found for hit in each.hits]
    print(f"canary: {len(hits)} hits in {sum(each.searched_bytes for each in found) / 1e6:,.0f} MB")
    for hit in hits[:_MOST_SHOWN]:
        print(f"  {hit}")
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
