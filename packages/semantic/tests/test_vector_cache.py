from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from toolcrib_semantic import SqliteVectorCache

ONE = np.array([0.25, -0.5, 1.0], dtype=np.float32)
OTHER = np.array([1.0, 2.0, 3.0], dtype=np.float32)

STORE_ONE_HUNDRED = """
import sys, numpy as np
from pathlib import Path
from toolcrib_semantic import SqliteVectorCache
cache, start = SqliteVectorCache(Path(sys.argv[1])), int(sys.argv[2])
for number in range(start, start + 100):
    cache.store("model", {str(number): np.full(3, number, dtype=np.float32)})
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.sqlite"


def _loaded(cache: SqliteVectorCache, *digests: str) -> dict[str, list[float]]:
    return {digest: vector.tolist() for digest, vector in cache.load("model", digests).items()}


def test_a_stored_vector_comes_back_exactly_in_another_process_life(path: Path) -> None:
    SqliteVectorCache(path).store("model", {"a": ONE, "b": OTHER})

    assert _loaded(SqliteVectorCache(path), "a", "b", "c") == {"a": ONE.tolist(), "b": OTHER.tolist()}


def test_vectors_of_another_embedder_are_not_given(path: Path) -> None:
    cache = SqliteVectorCache(path)
    cache.store("another model", {"a": ONE})

    assert _loaded(cache, "a") == {}


def test_a_vector_stored_again_is_replaced(path: Path) -> None:
    cache = SqliteVectorCache(path)
    cache.store("model", {"a": ONE})
    cache.store("model", {"a": OTHER})

    assert _loaded(cache, "a") == {"a": OTHER.tolist()}


def test_the_oldest_vectors_leave_when_there_are_too_many(path: Path) -> None:
    cache = SqliteVectorCache(path, max_vectors=2)

    for digest in "abc":
        cache.store("model", {digest: ONE})

    assert _loaded(cache, *"abc") == {"b": ONE.tolist(), "c": ONE.tolist()}


def test_more_digests_than_one_statement_takes_are_found(path: Path) -> None:
    cache = SqliteVectorCache(path)
    digests = [str(number) for number in range(1_234)]
    cache.store("model", dict.fromkeys(digests, ONE))

    assert len(_loaded(cache, *digests)) == 1_234


def test_a_file_that_is_not_a_database_is_thrown_away(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_bytes(b"damaged" * 1_000)
    cache = SqliteVectorCache(path)

    with caplog.at_level(logging.WARNING):
        before = _loaded(cache, "a")
    cache.store("model", {"a": ONE})

    assert before == {}
    assert "is damaged and starts afresh" in caplog.text
    assert _loaded(cache, "a") == {"a": ONE.tolist()}


@pytest.mark.parametrize("blob", [b"", bytes(16), bytes(15)], ids=["empty", "wrong checksum", "cut off"])
def test_a_damaged_vector_counts_as_absent(path: Path, blob: bytes) -> None:
    cache = SqliteVectorCache(path)
    cache.store("model", {"a": ONE, "b": OTHER})
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE vectors SET vector = ? WHERE digest = 'a'", (blob + b"\x01",))

    assert _loaded(cache, "a", "b") == {"b": OTHER.tolist()}


def test_a_place_that_cannot_be_written_to_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_bytes(b"")
    cache = SqliteVectorCache(tmp_path / "file" / "vectors.sqlite")

    with caplog.at_level(logging.WARNING):
        cache.store("model", {"a": ONE})

    assert "is passed over" in caplog.text
    assert _loaded(cache, "a") == {}


def test_a_path_that_is_no_file_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = SqliteVectorCache(tmp_path)

    with caplog.at_level(logging.WARNING):
        loaded = _loaded(cache, "a")

    assert loaded == {}
    assert "is passed over: unable to open database file" in caplog.text


def test_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", STORE_ONE_HUNDRED, str(path), str(start)]) for start in (0, 100)]

    codes = [writer.wait(timeout=60) for writer in writers]

    assert codes == [0, 0]
    assert len(_loaded(SqliteVectorCache(path), *(str(number) for number in range(200)))) == 200


def test_threads_may_share_a_cache(path: Path) -> None:
    cache = SqliteVectorCache(path)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: cache.store("model", {str(number): ONE}), range(40)))

    assert len(_loaded(cache, *(str(number) for number in range(40)))) == 40
