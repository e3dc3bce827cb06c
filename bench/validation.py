"""How long one validation may hold up every other call, and how much memory it takes, at worst.

    uv run python bench/validation.py [--quick] [--json]

Generated pairs of a schema and a value, the attacks of the fault matrix (K1, K2) among them. Each is registered and
validated in a child process with nothing else, and its CPU time and the growth of its memory are measured.
"""

from __future__ import annotations

import contextlib
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ratios import Row, parser, report

from toolcrib_core import ToolError, validate_arguments
from toolcrib_core.schema.check import check_schema

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packages/core/tests"))

from validation_attacks import ATTACKS

_PAIRS = 10_000
_QUICK = 500
_WORST_MS = 250
_WORST_MB = 64
_BATCH = 100


def pairs(seed: int) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Generated pairs, without end; every third value is large."""
    at = seed
    while True:
        chance = random.Random(at)
        schema = {"type": "object", "properties": {name: _schema(chance, 4) for name in "abc"}}
        yield f"pair {at}", schema, {name: _value(chance, 10 ** chance.choice((1, 2, 4))) for name in "abc"}
        at += 1


def _schema(chance: random.Random, depth: int) -> Any:
    leaf: list[Callable[[], dict[str, Any]]] = [
        lambda: {"enum": [chance.choice((at, f"v{at}", at / 2, {"k": at})) for at in range(chance.choice((3, 500)))]},
        lambda: {
            "pattern": chance.choice((r"^(a|b)*a(a|b){%d}$", r"((a{0,%d}){0,9})*$", r"^[\w.-]{1,%d}$"))
            % chance.choice((5, 50, 200))
        },
        lambda: {"type": chance.choice(("string", "number", "object")), "multipleOf": 0.01},
        lambda: {"required": [f"k{at}" for at in range(chance.choice((2, 300)))], "additionalProperties": False},
        lambda: {"const": [1] * chance.choice((1, 1_000))},
    ]
    if depth == 0:
        return chance.choice(leaf)()
    inner: list[Callable[[], dict[str, Any]]] = [
        lambda: {"items": _schema(chance, depth - 1), "uniqueItems": chance.random() < 0.5},
        lambda: {"additionalProperties": _schema(chance, depth - 1), "propertyNames": _schema(chance, 0)},
        lambda: {
            chance.choice(("anyOf", "oneOf", "allOf")): [
                _schema(chance, depth - 1) for _ in range(chance.choice((2, 8)))
            ]
        },
    ]
    return chance.choice(leaf + inner * 2)()


def _value(chance: random.Random, size: int) -> Any:
    kind = chance.randrange(5)
    if size <= 1 or kind == 0:
        return chance.choice((1, 2.5, None, "ab" * min(size * 50, 20_000), True))
    if kind == 1:
        return ["".join(chance.choices("ab!", k=8)) for _ in range(size)]
    if kind == 2:
        return [chance.choice((at, at + 0.5, {"k": at})) for at in range(size)]
    if kind == 3:
        return {f"k{at}": _value(chance, size // 10) for at in range(min(size, 10))}
    return [_value(chance, size // 10) for _ in range(10)]


def measure(schema: dict[str, Any], arguments: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds of CPU for the check of the schema and for the validation, whichever is more; megabytes grown."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    most = 0.0
    for work in (lambda: check_schema(schema), lambda: validate_arguments(schema, arguments)):
        start = time.process_time()
        with contextlib.suppress(ToolError):
            work()
        most = max(most, time.process_time() - start)
    return 1000 * most, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def _worst_of(source: str, start: int, many: int) -> tuple[str, float, float]:
    """The worst of some pairs, in a process of its own, so that memory is theirs."""
    command = [sys.executable, __file__, "--child", source, str(start), str(many)]
    name, ms, mb = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return str(name), float(ms), float(mb)


def _child(source: str, start: int, many: int) -> None:
    worst = ("", 0.0, 0.0)
    every = iter([ATTACKS[start]()]) if source == "attacks" else islice(pairs(start), many)
    for name, schema, arguments in every:
        ms, mb = measure(schema, arguments)
        worst = (name if ms > worst[1] else worst[0], max(ms, worst[1]), max(mb, worst[2]))
    print(json.dumps(worst))


def main() -> None:
    """Print the rows."""
    if "--child" in sys.argv:
        at = sys.argv.index("--child")
        _child(sys.argv[at + 1], int(sys.argv[at + 2]), int(sys.argv[at + 3]))
        return
    options = parser(__doc__).parse_args()
    rows: list[Row] = []
    for at in range(len(ATTACKS)):
        name, ms, mb = _worst_of("attacks", at, 1)
        rows += [
            Row(id="K1", what=name, ours=ms, unit="ms of CPU", target=f"<= {_WORST_MS}"),
            Row(id="K1", what=name, ours=mb, unit="MB more", target=f"<= {_WORST_MB}"),
        ]
    many = _QUICK if options.quick else _PAIRS
    found = [_worst_of("pairs", start, _BATCH) for start in range(0, many, _BATCH)]
    name, ms, _ = max(found, key=lambda each: each[1])
    rows += [
        Row(id="K2", what=f"{many:,} pairs, the worst: {name}", ours=ms, unit="ms of CPU", target=f"<= {_WORST_MS}"),
        Row(
            id="K2",
            what=f"{many:,} pairs",
            ours=max(each[2] for each in found),
            unit="MB more",
            target=f"<= {_WORST_MB}",
        ),
    ]
    report("validation", rows, as_json=options.json)


if __name__ == "__main__":
    main()
