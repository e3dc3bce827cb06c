"""The store against its floors: durable commits, writers in turns, and reading as it grows.

uv run python bench/store.py [--quick] [--json]
"""

from __future__ import annotations

import operator
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

from ratios import Row, parser, report
from sqlalchemy import Column, Float, Integer, LargeBinary, MetaData, Table, insert, select, text, update
from sqlalchemy.schema import CreateTable
from store_packs import rows as pack_rows

from toolcrib_store import Artifacts, NewArtifact, Owner, SqlLedger, Store, open_store

_OWNER = Owner(principal="bench")
_NOTES = Table(
    "notes",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("at", Float, nullable=False),
)
_ADD = insert(_NOTES)
_TURN = 5
_WARM_UP = 1_200
_WRITERS, _CHANGES = 8, 100


def durable_commits(folder: Path, rounds: int) -> list[Row]:
    """One row, on the disk when the call returns, against appending as many bytes to a file and `fdatasync`.

    In wall-clock time, for what is measured is a wait; all sides in turns on one disk. `sqlite3 alone` is the same
    commit by the driver, without the store: what is above it is ours.
    """
    rows = []
    for size, name in ((256, "256 B"), (4096, "4 KiB")):
        content = os.urandom(size)
        with (
            open_store(folder / f"commits-{size}.db") as store,
            closing(_plain(folder / f"plain-{size}.db")) as plain,
            (folder / f"log-{size}").open("ab", 0) as log,
        ):
            with store.writing() as connection:
                _NOTES.create(connection)
            ours = partial(_add_note, store, content)
            seconds = _in_turns(
                [ours, partial(_add_plain, plain, content), partial(_append, log.fileno(), content)], rounds=rounds
            )
            overhead = _cpu_of(ours, 200)
        of_ours, of_plain, of_floor = (statistics.median(each) for each in seconds)
        ratio, plain_ratio = (statistics.median(map(operator.truediv, each, seconds[2])) for each in seconds[:2])
        note = (
            f"{of_ours * 1e6:.0f}, {of_plain * 1e6:.0f} and {of_floor * 1e6:.0f} µs; "
            f"{overhead * 1e6:.0f} µs of CPU for each commit of ours"
        )
        rows.append(
            Row(
                id="P12",
                what=f"durable commit of a row of {name}",
                ours=ratio,
                unit="x append, fdatasync",
                target="<= 1.5",
                peers={"sqlite3 alone": round(plain_ratio, 2)},
                note=note,
            )
        )
    return rows


def writers_in_turns(folder: Path) -> list[Row]:
    """Eight writers that each change one row a hundred times, each change only if nobody came before it."""
    with open_store(folder / "turns.db") as store:
        with store.writing() as connection:
            _NOTES.create(connection)
            connection.execute(insert(_NOTES).values(id=1, revision=0, content=b"", at=0.0))
        start = time.perf_counter()
        with ThreadPoolExecutor(_WRITERS) as threads:
            conflicts = sum(threads.map(lambda _: _change(store, _CHANGES), range(_WRITERS)))
        taken = time.perf_counter() - start
        with store.reading() as connection:
            kept = connection.scalar(select(_NOTES.c.revision)) or 0
    wanted = _WRITERS * _CHANGES
    return [
        Row(
            id="G4",
            what=f"{_WRITERS} writers x {_CHANGES} compare-and-sets of one row: kept",
            ours=float(kept),
            unit="changes",
            target=f"== {wanted}",
            note=f"{conflicts} tried again, {wanted / taken:.0f} changes a second",
        )
    ]


def growth(folder: Path, sizes: list[int], rounds: int) -> list[Row]:
    """Putting and reading one artifact, and listing twenty calls, as the store grows: CPU against the smallest."""
    taken: dict[str, dict[int, float]] = {}
    for size in sizes:
        with open_store(folder / f"grown-{size}.db") as store:
            handle = _filled(store, size)
            kept, ledger, numbers = Artifacts(store), SqlLedger(store), count()
            works: dict[str, Callable[[], object]] = {
                "read one artifact": partial(kept.read, handle, owner=_OWNER),
                "put one artifact": partial(_put_another, kept, numbers),
                "first page of a ledger's calls": partial(_page, store),
            }
            for what, work in works.items():
                taken.setdefault(what, {})[size] = _median(work, rounds)
            ledger.close()
    return [
        Row(
            id="-",
            what=f"{what}: {size:,} rows",
            ours=seconds / by_size[sizes[0]],
            unit=f"x {sizes[0]} rows",
            target=None if size == sizes[0] else "<= 3",
            note=f"{seconds * 1e6:.0f} µs of CPU",
        )
        for what, by_size in taken.items()
        for size, seconds in by_size.items()
    ]


def _add_note(store: Store, content: bytes) -> None:
    with store.writing() as connection:
        connection.execute(_ADD, {"revision": 1, "content": content, "at": 0.0})


def _plain(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", str(CreateTable(_NOTES))):
        connection.execute(statement).close()
    return connection


def _add_plain(connection: sqlite3.Connection, content: bytes) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO notes (revision, content, at) VALUES (1, ?, 0.0)", (content,))
    connection.execute("COMMIT")


def _append(descriptor: int, content: bytes) -> None:
    os.write(descriptor, content)
    os.fdatasync(descriptor)


def _change(store: Store, times: int) -> int:
    """Read outside and compare inside, as an optimistic writer does; gives how often somebody else was first."""
    conflicts = 0
    while times:
        with store.reading() as connection:
            seen = connection.scalar(select(_NOTES.c.revision)) or 0
        with store.writing() as connection:
            changed = update(_NOTES).where(_NOTES.c.id == 1, _NOTES.c.revision == seen).values(revision=seen + 1)
            won = connection.execute(changed).rowcount == 1
        times, conflicts = times - won, conflicts + (not won)
    return conflicts


def _filled(store: Store, size: int) -> str:
    kept = Artifacts(store)
    handle = ""
    for start in range(0, size, 5_000):
        every = [
            NewArtifact(content=b"%d" % number, media_type="text/plain", kind="prose", source="a:b")
            for number in range(start, min(start + 5_000, size))
        ]
        # Owners share the rows, so that no quota is met.
        handle = kept.put_all(every, owner=Owner(principal=f"bench{start}"))[0].handle
    calls = [
        {"key": f"{n:064}", "fingerprint": "f", "state": "finished", "holder": "h", "lease": 0.0, "until": float(n)}
        for n in range(size)
    ]
    statement = (
        "INSERT INTO calls (key, fingerprint, state, holder, lease_until, record, expires_at, seal) "
        "VALUES (:key, :fingerprint, :state, :holder, :lease, x'', :until, x'')"
    )
    with store.writing() as connection:
        connection.execute(text(statement), calls)
    return _put(kept, b"0") or handle


def _put(kept: Artifacts, content: bytes) -> str:
    return kept.put(content, owner=_OWNER, media_type="text/plain", kind="prose", source="a:b").handle


def _put_another(kept: Artifacts, numbers: Iterator[int]) -> str:
    return _put(kept, b"new %d" % next(numbers))


def _page(store: Store) -> int:
    page = "SELECT * FROM calls WHERE state = 'finished' ORDER BY expires_at LIMIT 20"
    with store.reading() as connection:
        return len(connection.execute(text(page)).all())


def _in_turns(works: Sequence[Callable[[], object]], *, rounds: int) -> list[list[float]]:
    """The seconds that each takes, turn by turn.

    The turns are short, because how long a disk takes to sync changes by ten times within seconds when others use it,
    too; and each begins the round in its turn, because a disk remembers who came before.
    """
    # Until the log of a database has come round once, its file grows with every commit; later it is written over.
    for work in works:
        _wall(work, _WARM_UP)
    seconds: list[list[float]] = [[] for _ in works]
    for number in range(rounds):
        for place in range(len(works)):
            which = (place + number) % len(works)
            seconds[which].append(_wall(works[which], _TURN) / _TURN)
    return seconds


def _wall(work: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    return time.perf_counter() - start


def _median(work: Callable[[], object], rounds: int) -> float:
    work()
    return statistics.median(_cpu_of(work, 20) for _ in range(rounds))


def _cpu_of(work: Callable[[], object], repeat: int) -> float:
    start = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - start) / repeat


def main() -> None:
    """Run every part and print it."""
    options = parser((__doc__ or "").splitlines()[0])
    options.add_argument("--folder", type=Path, help="a folder on the disk that is measured")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        folder = Path(name)
        rows = [
            *durable_commits(folder, 30 if chosen.quick else 300),
            *writers_in_turns(folder),
            *growth(folder, [10, 10_000] if chosen.quick else [10, 10_000, 100_000], 5 if chosen.quick else 15),
            *pack_rows(quick=chosen.quick),
        ]
    report("store", rows, as_json=chosen.json)


if __name__ == "__main__":
    main()
