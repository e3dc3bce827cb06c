"""Rows about context packs: writers that lose nothing, latency as packs grow in number, and tokens of each profile.

`bench/store.py` takes them; run alone, it prints them.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ratios import Row, parser, report

from toolcrib_contextpacks import PACKS_LINE, ContextPacks, Pack, PackSettings, RevisionConflict
from toolcrib_contextpacks.rows import row_of
from toolcrib_contextpacks.tables import HISTORY, PACKS
from toolcrib_core.tokens import count_tokens
from toolcrib_store import open_store

_SOURCE = Path(__file__).resolve().parents[1]
_WRITERS, _WRITES = 8, 100
_SIZES = (10, 10_000, 100_000)


def rows(*, quick: bool = False) -> list[Row]:
    """All rows; `quick` leaves the largest size out."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            *_writers(Path(folder)),
            *_latencies(Path(folder), _SIZES[:2] if quick else _SIZES),
            *_tokens(Path(folder)),
        ]


def _writers(folder: Path) -> list[Row]:
    with open_store(folder / "writers.db", lines=[PACKS_LINE]) as store:
        packs = ContextPacks(store)
        pack = packs.write({"sections": []}).pack
        threads = [threading.Thread(target=_write_often, args=(packs, pack.id)) for _ in range(_WRITERS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        kept = packs.get(pack_id=pack.id).revision - 1
    wanted = _WRITERS * _WRITES
    return [
        Row(
            id="CP1",
            what=f"{_WRITERS} writers x {_WRITES} compare-and-sets of one pack, kept",
            ours=kept,
            unit="writes",
            target=f"== {wanted}",
        )
    ]


def _write_often(packs: ContextPacks, pack_id: str) -> None:
    for _ in range(_WRITES):
        while True:
            revision = packs.get(pack_id=pack_id).revision
            try:
                packs.write({"sections": []}, pack_id=pack_id, expected_revision=revision)
            except RevisionConflict:
                continue
            break


def _latencies(folder: Path, sizes: tuple[int, ...]) -> list[Row]:
    made: list[Row] = []
    smallest: dict[str, float] = {}
    for size in sizes:
        with open_store(folder / f"{size}.db", lines=[PACKS_LINE]) as store:
            packs = ContextPacks(store, settings=PackSettings(source_root=_SOURCE))
            some = _fill(packs, store, size)
            works: dict[str, Callable[[], Any]] = {
                "get by name": partial(packs.get, name=some.name),
                "read a page": partial(packs.read, pack_id=some.id),
                "list 50": packs.list,
            }
            for number, (what, work) in enumerate(works.items()):
                seconds = _median(work)
                smallest.setdefault(what, seconds)
                ratio = seconds / smallest[what]
                note = f"{seconds * 1000:.2f} ms of CPU; the ratio is to {sizes[0]} packs"
                made.append(
                    Row(
                        id=f"CP{2 + number}",
                        what=f"{what}, {size:,} packs",
                        ours=ratio,
                        unit="x",
                        target="<= 3",
                        note=note,
                    )
                )
    return made


def _fill(packs: ContextPacks, store: Any, size: int) -> Pack:
    """So many packs, written at once: each as a service would have written it."""
    first = packs.write(_realistic(1)).pack
    with store.writing() as connection:
        for start in range(0, size, 5_000):
            every = [
                replace(
                    first,
                    id=f"pk_{_letters(number)}",
                    document=replace(first.document, name=f"pack-{number}", title=f"Pack {number}"),
                    updated_at=first.updated_at - number,
                )
                for number in range(start, min(size, start + 5_000))
            ]
            connection.execute(PACKS.insert(), [{**row_of(each), "claim": each.name} for each in every])
            connection.execute(
                HISTORY.insert(), [{"pack_id": each.id, "revision": 1, "sections": "{}"} for each in every]
            )
    return packs.get(name=f"pack-{size // 2}")


def _letters(number: int) -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz234567"
    return "".join(alphabet[number >> (5 * place) & 31] for place in range(8))


def _median(work: Callable[[], object]) -> float:
    work()
    taken = []
    for _ in range(30):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def _tokens(folder: Path) -> list[Row]:
    bounds = {"orchestrator": 2_500, "executor": 6_000, "reviewer": 24_000}
    with open_store(folder / "tokens.db", lines=[PACKS_LINE]) as store:
        packs = ContextPacks(store, settings=PackSettings(source_root=_SOURCE))
        pack = packs.write(_realistic(6)).pack
        return [
            Row(
                id=f"CP{5 + number}",
                what=f"tokens of a realistic pack for the {profile}",
                ours=count_tokens(packs.read(pack_id=pack.id, profile=profile).text),
                unit="tokens",
                target=f"<= {bound}",
            )
            for number, (profile, bound) in enumerate(bounds.items())
        ]


def _realistic(parts: int) -> dict[str, Any]:
    """A review of a change: findings with the code they are about."""
    files = sorted((_SOURCE / "packages/core/src/toolcrib_core").glob("*.py"))
    findings = [
        {
            "key": f"finding-{number}",
            "title": f"Finding {number}",
            "description": "The lookup walks the whole table. " * 6
            + "\n\n- [ ] Add an index.\n- [ ] Measure it again.",
            "refs": [
                {
                    "key": f"place-{each}",
                    "path": os.path.relpath(files[(number * 3 + each) % len(files)], _SOURCE),
                    "line_start": 1,
                    "line_end": 30,
                    "why": "The risk is in the loop.",
                    "group": "code",
                }
                for each in range(3)
            ],
        }
        for number in range(parts)
    ]
    scope = {"key": "scope", "title": "Scope", "description": "The lookup of tools by name, and its callers. " * 8}
    quality = {"key": "qa", "title": "QA", "description": "verdict: partial\nOne gap is left: the index is untested."}
    return {
        "title": "Make the lookup fast",
        "brief": "Searching takes too long with many tools. " * 4,
        "tags": ["search", "speed"],
        "sections": [scope, *findings, quality],
    }


if __name__ == "__main__":
    options = parser(__doc__ or "").parse_args()
    report("store_packs", rows(quick=options.quick), as_json=options.json)
