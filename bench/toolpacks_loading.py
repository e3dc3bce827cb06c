"""Loading a folder of packs against reading the same files with PyYAML's C loader, which checks nothing.

uv run python bench/toolpacks_loading.py [--quick] [--json]
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import yaml
from ratios import Row, cpu_seconds, parser, report

from toolcrib_toolpacks import ToolpackLoader

_PACKS, _PACKS_QUICK = 1_000, 100
_ROUNDS = 5
_FILE = """\
id: bench.tool_{number}
version: 1.0.0
title: Tool number {number}
description: Looks up entry {number} of a catalogue and gives its name, its price and where it is kept.
tags: [bench, lookup]
deterministic: true
timeoutMs: 5000
limits: {{maxInputBytes: 65536, maxOutputBytes: 262144}}
inputSchema:
  type: object
  properties:
    key: {{type: string, minLength: 1, maxLength: 64, description: What is looked up.}}
    language: {{type: string, enum: [en, de, fr, es], default: en, description: The language of the answer.}}
    limit: {{type: integer, minimum: 1, maximum: 100, default: 10, description: How many entries at most.}}
    filters:
      type: array
      items:
        type: object
        properties: {{field: {{type: string}}, value: {{type: string}}}}
        required: [field, value]
        additionalProperties: false
  required: [key]
  additionalProperties: false
outputSchema:
  type: object
  properties:
    name: {{type: string}}
    price: {{type: number}}
    place: {{$ref: schemas/place.json}}
  required: [name]
execution:
  kind: cli
  cmd: [lookup, --json, "--key={{{{ input.key }}}}", "--language={{{{ input.language | default('en') }}}}"]
caps: {{subprocess: true, filesystem: {{read: [data]}}}}
env: {{passthrough: [LANG], set: {{MODE: bench}}}}
templating: {{engine: jinja2, cacheKey: "{{{{ input.key }}}}"}}
risk: {{effects: read, idempotent: true, dataSensitivity: public}}
metadata: {{owner: bench, number: {number}}}
"""
_PLACE = '{"type": "object", "properties": {"shelf": {"type": "string"}, "row": {"type": "integer"}}}'


def rows(*, quick: bool = False) -> list[Row]:
    """The cost of a file, as a multiple of what PyYAML takes to read it."""
    number = _PACKS_QUICK if quick else _PACKS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schemas").mkdir()
        (folder / "schemas/place.json").write_text(_PLACE)
        for each in range(number):
            (folder / f"tool_{each}.tool.yaml").write_text(_FILE.format(number=each))
        loader = ToolpackLoader()
        loader.load_dir(folder)
        mine, other = [], []
        for _ in range(2 if quick else _ROUNDS):
            mine.append(cpu_seconds(lambda: loader.load_dir(folder)))
            other.append(cpu_seconds(lambda: _read_all(folder)))
    ratio = statistics.median(one / two for one, two in zip(mine, other, strict=True))
    per_file = statistics.median(mine) / number * 1e6
    return [
        Row(
            id="TL1",
            what=f"loading {number:,} packs, checked, per file",
            ours=ratio,
            unit="x CSafeLoader",
            target="<= 6",
            note=f"{per_file:.0f} us of CPU a file, {statistics.median(other) / number * 1e6:.0f} us for PyYAML alone.",
        )
    ]


def _read_all(folder: Path) -> None:
    for path in sorted(folder.rglob("*.tool.yaml")):
        yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)  # noqa: TID251  # what is compared with


if __name__ == "__main__":
    chosen = parser(__doc__ or "").parse_args()
    report("toolpacks_loading", rows(quick=chosen.quick), as_json=chosen.json)
