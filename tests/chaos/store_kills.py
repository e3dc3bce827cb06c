"""Writers of a store, killed with SIGKILL again and again: what was acknowledged must be there, and nothing damaged.

uv run python -m tests.chaos.store_kills [--rounds 200] [--seed 11] [--postgresql]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

from toolcrib_store import Artifacts, Owner, SqlLedger, Store, check_store, open_store

_OWNER = Owner(principal="p")
_SIZES = (100, 20_000, 600_000)
# About as long as a round of writes takes, so that kills fall everywhere in it.
_LONGEST_WAIT = 0.03


def kill_writers(target: str, rounds: int, *, seed: int = 11) -> dict[str, str]:
    """Start writers one after the other and kill each in the middle; gives the handles of what was acknowledged.

    Each writer is a fork of this process, which has imported everything: so many starts of Python would take minutes.
    """
    chance = random.Random(seed)
    told = b""
    for life in range(rounds):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _write(target, life, writing)
        os.close(writing)
        told += os.read(reading, 1)  # it has begun to write; kill it somewhere in what follows
        for _ in range(chance.randrange(4)):
            told += os.read(reading, chance.randrange(1, 200))
        # Right after an acknowledgement nothing is being written yet: wait a while, another while in every round.
        time.sleep(chance.random() * _LONGEST_WAIT)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while more := os.read(reading, 65536):
            told += more
        os.close(reading)
        told = told[: told.rfind(b"\n") + 1]
    return dict(line.split() for line in told.decode().splitlines())


def judge(target: str, acknowledged: dict[str, str]) -> dict[str, object]:
    """What became of the writes that were acknowledged."""
    with open_store(target) as store:
        kept, ledger = Artifacts(store), SqlLedger(store)
        lost = [name for name, handle in acknowledged.items() if not _is_there(kept, ledger, name, handle)]
        report = check_store(store)
        unfinished = _unfinished(store, acknowledged)
    return {
        "acknowledged": len(acknowledged),
        "unfinished": unfinished,
        "lost": lost,
        "problems": list(report.problems),
    }


def _write(target: str, life: int, pipe: int) -> NoReturn:
    chance = random.Random(life)
    store = open_store(target)
    kept, ledger = Artifacts(store), SqlLedger(store)
    number = 0
    while True:
        name = f"{life}-{number}"
        content = f"{name}:".encode() + b"x" * chance.choice(_SIZES)
        handle = kept.put(content, owner=_OWNER, media_type="t", kind="k", source="s").handle
        asyncio.run(_record(ledger, name, handle))
        os.write(pipe, f"{name} {handle}\n".encode())
        number += 1


async def _record(ledger: SqlLedger, name: str, handle: str) -> None:
    await ledger.begin(name, "f", repeatable=False)
    await ledger.finish(name, handle.encode())


def _unfinished(store: Store, acknowledged: dict[str, str]) -> int:
    """How many rounds were killed between their first write and the acknowledgement: the kills that are a test."""
    kept = Artifacts(store)
    begun = {kept.read(each.handle, owner=_OWNER, stop=40).partition(b":")[0] for each in kept.list(owner=_OWNER)}
    return len(begun - {name.encode() for name in acknowledged})


def _is_there(kept: Artifacts, ledger: SqlLedger, name: str, handle: str) -> bool:
    standing = asyncio.run(ledger.begin(name, "f", repeatable=False))
    begins = kept.read(handle, owner=_OWNER, stop=40).startswith(f"{name}:".encode())
    return begins and standing.record == handle.encode()


def main() -> int:
    """Kill, judge, and print the judgement in one line."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--seed", type=int, default=11, help="of the moments at which writers are killed")
    options.add_argument("--postgresql", action="store_true", help="a server is started for it")
    options.add_argument("--target", help="a file or an address, which is filled; a new one otherwise")
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with ExitStack() as holding:
        target = chosen.target
        if target is None and chosen.postgresql:
            from tests.postgresql import running_server

            target = holding.enter_context(holding.enter_context(running_server()).database())
        elif target is None:
            target = str(Path(holding.enter_context(tempfile.TemporaryDirectory())) / "store.db")
        judgement = judge(target, kill_writers(target, chosen.rounds, seed=chosen.seed))
    lost, problems = judgement["lost"], judgement["problems"]
    if chosen.json:
        sys.stdout.write(json.dumps(judgement))
    else:
        told = f"{judgement['acknowledged']} acknowledged writes, {judgement['unfinished']} killed in the middle"
        counts = f"{told}, {len(lost)} lost, {len(problems)} corrupt"  # type: ignore[arg-type]  # both are lists
        sys.stdout.write(f"kill -9 x {chosen.rounds}: {counts}\n")
    return 1 if lost or problems else 0


if __name__ == "__main__":
    sys.exit(main())
