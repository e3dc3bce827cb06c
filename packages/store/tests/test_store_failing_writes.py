"""A write that fails, whichever it is: nothing is half-written, and what follows works."""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from toolcrib_store import (
    ArtifactNotFound,
    Artifacts,
    Owner,
    Store,
    StoreError,
    StoreUnavailable,
    check_store,
    open_store,
)

ANNA = Owner(principal="anna")
OLD = {b"first", b"second" * 60_000}


def put(store: Store, content: bytes) -> str:
    return Artifacts(store).put(content, owner=ANNA, media_type="t", kind="k", source="s").handle


def contents_of(store: Store) -> set[bytes]:
    kept = Artifacts(store)
    return {kept.read(each.handle, owner=ANNA) for each in kept.list(owner=ANNA)}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with open_store(tmp_path / "a.db") as store:
        for content in sorted(OLD):
            put(store, content)
    return tmp_path / "a.db"


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """What a disk without room is to a writer: a write fails in the middle, and the bytes before it are there."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
@pytest.mark.req("CP-17")
@pytest.mark.fault("G7", "G8")
def test_wherever_the_disk_fails_nothing_is_half_written(file: Path, tmp_path: Path) -> None:
    new = b"third" * 4_000
    failed = 0
    for number in range(1_000):
        copy = tmp_path / f"{number}.db"
        shutil.copy(file, copy)
        with open_store(copy) as store:
            try:
                # Twice in every page of the log: at its beginning and in its middle.
                with files_no_larger_than(number * 2048):
                    put(store, new)
            except StoreUnavailable:
                failed += 1
                expected = OLD
            else:
                expected = OLD | {new}
            assert contents_of(store) == expected
        with open_store(copy) as store:
            assert contents_of(store) == expected
            assert check_store(store).ok
            put(store, b"next")
        copy.unlink()
        if expected != OLD:
            break

    assert failed > 15


@pytest.mark.req("CP-17")
@pytest.mark.fault("G8")
def test_whichever_statement_fails_nothing_is_half_written(store_url: str) -> None:
    with open_store(store_url) as store:
        for content in sorted(OLD):
            put(store, content)
        failed = 0
        for number in range(100):
            with failing_at(store, number):
                try:
                    put(store, b"third")
                except OSError:
                    failed += 1
                else:
                    break
            assert contents_of(store) == OLD

        assert failed > 5
        assert contents_of(store) == OLD | {b"third"}
        assert check_store(store).ok


@contextmanager
def failing_at(store: Store, number: int) -> Iterator[None]:
    """Let the statement fail that follows so many others."""
    left = [number]

    def fail(*_: object) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise OSError("the statement failed")

    event.listen(store._writer.engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(store._writer.engine, "before_cursor_execute", fail)


# Root may write everywhere; so it becomes somebody else once everything is imported.
_IN_A_CLOSED_FOLDER = """
import os, sys
from toolcrib_store import Artifacts, StoreError, open_store
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
for name in ("new.db", "old.db"):
    try:
        open_store(sys.argv[1] + "/" + name)
    except StoreError as refused:
        print(refused.code, refused.hint)
"""


@pytest.mark.fault("G7")
def test_a_folder_that_cannot_be_written_is_told() -> None:
    with tempfile.TemporaryDirectory() as name:
        open_store(Path(name) / "old.db").close()
        for path, mode in ((Path(name) / "old.db", 0o444), (Path(name), 0o555)):
            path.chmod(mode)

        told = subprocess.run(
            [sys.executable, "-c", _IN_A_CLOSED_FOLDER, name], capture_output=True, text=True, check=True, timeout=60
        )
        Path(name).chmod(0o700)

    line = "toolbox.store-unavailable Check its folder, and who may write there."
    assert told.stdout.splitlines() == [line, line]


@pytest.mark.fault("G9")
@pytest.mark.slow
@pytest.mark.parametrize("which", ["file", "log"])
def test_bits_that_fall_over_are_noticed_or_do_no_harm_and_nothing_false_is_served(
    file: Path, tmp_path: Path, which: str
) -> None:
    wal = logged(tmp_path, file) if which == "log" else None
    true = OLD | {b"in the log"} if wal else OLD
    harmed = (wal or file).read_bytes()
    chance = random.Random(5)
    noticed = 0
    for number in range(60):
        copy = tmp_path / f"{number}.db"
        shutil.copy(file, copy)
        broken = bytearray(harmed)
        broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        (tmp_path / f"{number}.db-wal" if wal else copy).write_bytes(broken)

        served = noticing(lambda copy=copy: all_that_is_served(copy))

        noticed += served is None
        assert served is None or served <= true
        for each in tmp_path.glob(f"{number}.db*"):
            each.unlink()
    assert noticed > 0 or which == "log"


def logged(folder: Path, file: Path) -> Path:
    """The log of a store that was not closed, with one more write in it; the file is what it was before."""
    with open_store(file) as store:
        put(store, b"in the log")
        shutil.copy(f"{file}-wal", folder / "log")
        shutil.copy(file, folder / "unclosed.db")
    shutil.copy(folder / "unclosed.db", file)
    return folder / "log"


def all_that_is_served(file: Path) -> set[bytes]:
    with open_store(file) as store:
        return contents_of(store)


def noticing(work: Callable[[], set[bytes]]) -> set[bytes] | None:
    try:
        return work()
    except (StoreError, ArtifactNotFound):
        return None
