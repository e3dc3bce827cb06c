"""Core against its floors: import, validation, canonical bytes, tokens, registry, cards.

uv run python bench/core.py [--quick] [--json]
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import corpus
import jsonschema
import referencing
from ratios import Row, cpu_seconds, parser, report, times_cheaper

from toolcrib_core import (
    canonical_json,
    count_tokens,
    create_registry,
    make_card,
    render_card,
    serialize_registry,
    validate_arguments,
)
from toolcrib_core.schema.validate import is_valid, iter_violations


def import_cost(rounds: int) -> list[Row]:
    """`import toolcrib_core` against `import pydantic`, CPU of whole processes less that of an empty one."""
    with tempfile.TemporaryDirectory() as bytecode:
        # An environment that forbids bytecode would have every import compiled anew; users' imports are not.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        models = "from pydantic import BaseModel, TypeAdapter"
        ours = "from toolcrib_core import ToolDefinition, create_registry"
        statements = ("pass", "import pydantic", "import toolcrib_core", models, ours)
        for statement in statements:
            _child_cpu(statement, environment)
        taken = [[_child_cpu(statement, environment) for statement in statements] for _ in range(rounds)]
    bare = statistics.median((ours - empty) / (theirs - empty) for empty, theirs, ours, _, _ in taken)
    used = statistics.median((ours - empty) / (theirs - empty) for empty, _, _, theirs, ours in taken)
    return [
        Row(id="P8", what="import toolcrib_core", ours=bare, unit="x import pydantic", target="<= 2"),
        Row(id="P8", what="import definitions and the registry", ours=used, unit="x pydantic models"),
    ]


def validation(rounds: int) -> list[Row]:
    """Valid arguments, and all violations of wrong ones, against prebuilt `jsonschema` validators; median over schemas.

    The fixed cost of a call (the bounds are checked before the engine may look) weighs on tiny arguments, so both sizes
    are shown: single records as in the corpus, and lists of records as bulk calls send them.
    """
    rows = []
    for records, target in ((1, (None, None)), (12, (">= 50", ">= 5"))):
        cases = _validation_cases(records)
        size = statistics.median(len(json.dumps(good)) for _, good, _, _ in cases)
        of = f"({len(cases)} schemas, {size:.0f} byte arguments)"
        valid = statistics.median(_valid_ratio(schema, good, oracle, rounds) for schema, good, _, oracle in cases)
        wrong = statistics.median(_error_ratio(schema, bad, oracle, rounds) for schema, _, bad, oracle in cases)
        rows += [
            Row(id="P6", what=f"validate {of}", ours=valid, unit="x jsonschema", target=target[0]),
            Row(id="P6", what=f"every violation {of}", ours=wrong, unit="x jsonschema", target=target[1]),
        ]
    return rows


def canonical(rounds: int) -> list[Row]:
    """Canonical bytes and their SHA-256 against `json.dumps(sort_keys=True)` and the same hash."""
    values = [row["tool"] for row in corpus.tool_rows()]

    def ours() -> None:
        for value in values:
            hashlib.sha256(canonical_json(value)).hexdigest()

    def floor() -> None:
        for value in values:
            hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    size = sum(len(json.dumps(value)) for value in values) // len(values)
    ratio = times_cheaper(ours, floor, rounds=rounds)
    what = f"canonical bytes + SHA-256 ({size} byte definitions)"
    return [Row(id="P7", what=what, ours=ratio, unit="x json.dumps", target=">= 4")]


def tokens(rounds: int) -> list[Row]:
    """Exactness against tiktoken, and what remembering a count saves."""
    from toolcrib_core.tokens.vocabulary import encoding  # parsed on first use

    source = random.Random(7)
    words = " ".join(row["tool"].get("description") or "" for row in corpus.tool_rows()).split()
    texts = [" ".join(source.choices(words, k=source.randint(1, 40))) for _ in range(5000)]
    wrong = sum(count_tokens(text) != len(encoding().encode_ordinary(text)) for text in texts)
    text = " ".join(words[:30])
    count_tokens(text)
    memo = times_cheaper(lambda: count_tokens(text), lambda: encoding().encode_ordinary(text), rounds=rounds)
    return [
        Row(id="P9", what="token counts that differ from tiktoken (5,000 texts)", ours=wrong, unit="", target="== 0"),
        Row(id="P9", what="a remembered count", ours=memo, unit="x tiktoken", target=">= 100"),
    ]


def registry(rounds: int, sizes: tuple[int, ...]) -> list[Row]:
    """Register, resolve and serialize: cost per definition at each larger size over that at the smallest."""
    # On no registry of packages, so it cannot be installed; its own figures are per 1,000 on some other machine.
    print("armorer is left out: no package index has it", file=sys.stderr)
    tools = {size: corpus.definitions(size) for size in sizes}
    for definition in (each for made in tools.values() for each in made):
        _ = definition.wire_json, definition.digest
    smallest, *larger = sizes
    rows = []
    for what, work in (("register", _register), ("resolve", _resolve), ("serialize", _serialize)):
        taken = [
            {size: _cpu_each(work, made, sizes[-1] // size) for size, made in tools.items()} for _ in range(rounds)
        ]
        for size in larger:
            growth = statistics.median(each[size] / each[smallest] for each in taken)
            what_for = f"{what} at {size:,} definitions, per definition"
            note = f"{statistics.median(each[size] for each in taken) * 1e6:.2f} us of CPU per definition"
            rows.append(Row(id="P10", what=what_for, ours=growth, unit=f"x of {smallest:,}", target="<= 2", note=note))
    return rows


def cards(rounds: int) -> list[Row]:
    """Making and rendering one card against counting the tokens of its line once."""
    tools = corpus.definitions(60)
    lines = [render_card(make_card(tool)) for tool in tools]
    count = iter(range(10**9))
    ratio = 1 / times_cheaper(
        lambda: [render_card(make_card(tool)) for tool in tools],
        # A fresh suffix, or the count would be remembered.
        lambda: [count_tokens(f"{line}{next(count)}") for line in lines],
        rounds=rounds,
    )
    return [Row(id="-", what="make and render a card (counts remembered)", ours=ratio, unit="x one token count")]


def _valid_ratio(schema: Any, good: Any, oracle: Any, rounds: int) -> float:
    validate_arguments(schema, good)
    return times_cheaper(lambda: is_valid(schema, good), lambda: oracle.is_valid(good), rounds=rounds)


def _error_ratio(schema: Any, bad: Any, oracle: Any, rounds: int) -> float:
    return times_cheaper(
        lambda: list(iter_violations(schema, bad)), lambda: list(oracle.iter_errors(bad)), rounds=rounds
    )


def _validation_cases(records: int) -> list[tuple[Any, Any, Any, Any]]:
    cases = []
    for definition in corpus.definitions(60):
        record = json.loads(definition.wire_json)["inputSchema"]
        # A reference would not lead anywhere once its schema stands inside another.
        if records > 1 and "$ref" in json.dumps(record):
            continue
        plain = {"type": "object", "properties": {"records": {"type": "array", "items": record}}}
        good: Any = {"records": [corpus.valid_arguments(record) for _ in range(records)]}
        bad: Any = {"records": [{name: [{}] for name in record.get("properties", {})}] * records}
        if records == 1:
            plain, good, bad = record, good["records"][0], bad["records"][0]
        oracle = jsonschema.Draft202012Validator(plain, registry=referencing.Registry())
        if good and oracle.is_valid(good) and not oracle.is_valid(bad):
            cases.append((definition.replace(input_schema=plain), good, bad, oracle))
    return sorted(cases, key=lambda case: -len(case[0].wire_json))[:20]


def _cpu_each(work: Callable[[list[Any]], Callable[[], object]], tools: list[Any], times: int) -> float:
    """The CPU time of one definition; a small registry is filled as often as makes up for a large one."""
    fresh = [work(tools) for _ in range(times)]
    return cpu_seconds(lambda: [each() for each in fresh]) / (times * len(tools))


def _register(tools: list[Any]) -> Callable[[], object]:
    fresh = create_registry()
    return lambda: [fresh.register(tool) for tool in tools]


def _resolve(tools: list[Any]) -> Callable[[], object]:
    filled = create_registry(tools)
    names = [f"{tool.namespace}:{tool.name}" for tool in tools]
    return lambda: [filled.resolve(name) for name in names]


def _serialize(tools: list[Any]) -> Callable[[], object]:
    filled = create_registry(tools)
    return lambda: serialize_registry(filled)


def _child_cpu(statement: str, environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run every part and print it."""
    options = parser((__doc__ or "").splitlines()[0]).parse_args()
    rounds = 3 if options.quick else 7
    sizes = (1_000, 3_000) if options.quick else (1_000, 10_000, 100_000)
    rows = [
        *import_cost(rounds),
        *validation(rounds),
        *canonical(rounds),
        *tokens(rounds),
        *registry(rounds, sizes),
        *cards(rounds),
    ]
    report("core", rows, as_json=options.json)


if __name__ == "__main__":
    main()
