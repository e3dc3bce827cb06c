"""One other converter on the same schemas: `adapters_peer_worker.py NAME ROUNDS` prints its ratio as JSON.

It runs in the peer's own environment; the floor is a copy of the schemas through `json` in the same process.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any

from lossiness_peer_worker import PEERS
from ratios import times_cheaper


def copy_ratio(work: Callable[[], object], schemas: list[dict[str, Any]], *, rounds: int) -> float:
    """How many copies of the schemas the work costs."""
    return times_cheaper(lambda: [json.loads(json.dumps(each)) for each in schemas], work, rounds=rounds)


def main() -> None:
    """Measure every way of the peer."""
    schemas = json.load(sys.stdin)
    found = {}
    for label, convert in PEERS[sys.argv[1]]().items():
        usable = [each for each in schemas if _works(convert, each)]
        ratio = copy_ratio(
            lambda convert=convert, usable=usable: [convert(each) for each in usable], usable, rounds=int(sys.argv[2])
        )
        found[f"{label} ({len(usable)} of {len(schemas)})"] = round(ratio, 2)
    print(json.dumps(found))


def _works(convert: Callable[[dict[str, Any]], object], schema: dict[str, Any]) -> bool:
    try:
        convert(copy.deepcopy(schema))
    except Exception:  # noqa: BLE001  # whatever it raises, it did not convert
        return False
    return True


if __name__ == "__main__":
    main()
