"""Document vectors on disk, so that a tool is embedded once and not on every start."""

from __future__ import annotations

import logging
import sqlite3
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_BUSY_SECONDS = 5.0
# SQLite's own bound on parameters of one statement was 999 for long.
_CHUNK = 500
_CHECKSUM_BYTES = 4
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    embedder TEXT NOT NULL,
    digest TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (embedder, digest)
)
"""


class SqliteVectorCache:
    """Vectors by embedder and digest, in one SQLite file that processes and threads may share.

    A cache never stands in the way: a damaged file is thrown away, a locked or unwritable one is passed over, and a
    vector whose checksum is wrong counts as absent. The oldest vectors leave when there are more than `max_vectors`.
    """

    def __init__(self, path: Path | None = None, *, max_vectors: int = 100_000) -> None:
        self._path = path or user_cache_path("toolcrib") / "vectors.sqlite"
        self._max_vectors = max_vectors
        self._lock = threading.Lock()

    def load(self, embedder: str, digests: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are there, by digest."""
        return self._guarded(lambda connection: _select(connection, embedder, digests)) or {}

    def store(self, embedder: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep these vectors, by digest."""
        rows = [(embedder, digest, _pack(vector)) for digest, vector in vectors.items()]
        self._guarded(lambda connection: _insert(connection, rows, self._max_vectors))

    def _guarded(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result | None:
        with self._lock:
            try:
                return self._attempt(action)
            except sqlite3.OperationalError as failure:
                _log.warning("The vector cache `%s` is passed over: %s.", self._path.name, failure)
            except sqlite3.DatabaseError:
                _log.warning("The vector cache `%s` is damaged and starts afresh.", self._path.name)
                self._discard()
            except OSError as failure:
                _log.warning("The vector cache `%s` is passed over: %s.", self._path.name, failure.strerror)
            return None

    def _attempt(self, action: Callable[[sqlite3.Connection], _Result]) -> _Result:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._path, timeout=_BUSY_SECONDS)) as connection, connection:
            connection.execute(_TABLE)
            return action(connection)

    def _discard(self) -> None:
        for suffix in ("", "-journal", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _select(connection: sqlite3.Connection, embedder: str, digests: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    found: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(digests), _CHUNK):
        chunk = digests[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        statement = f"SELECT digest, vector FROM vectors WHERE embedder = ? AND digest IN ({marks})"  # noqa: S608  # only question marks are put in
        for digest, packed in connection.execute(statement, (embedder, *chunk)):
            vector = _unpack(packed)
            if vector is not None:
                found[digest] = vector
    return found


def _insert(connection: sqlite3.Connection, rows: Sequence[tuple[str, str, bytes]], max_vectors: int) -> None:
    connection.executemany("INSERT OR REPLACE INTO vectors (embedder, digest, vector) VALUES (?, ?, ?)", rows)
    connection.execute(
        "DELETE FROM vectors WHERE number <= (SELECT number FROM vectors ORDER BY number DESC LIMIT 1 OFFSET ?)",
        (max_vectors,),
    )


def _pack(vector: NDArray[np.float32]) -> bytes:
    data = np.asarray(vector, dtype="<f4").tobytes()
    return zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "little") + data


def _unpack(packed: object) -> NDArray[np.float32] | None:
    if not isinstance(packed, bytes) or (len(packed) - _CHECKSUM_BYTES) % 4:
        return None
    data = packed[_CHECKSUM_BYTES:]
    if zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "little") != packed[:_CHECKSUM_BYTES]:
        return None
    return np.frombuffer(data, dtype="<f4").astype(np.float32)
