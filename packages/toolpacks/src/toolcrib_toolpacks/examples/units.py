"""Converts a quantity from one unit to another: reads JSON, prints JSON, knows what `data/units.json` lists."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def convert(value: float, source: str, target: str, known: dict[str, dict[str, list[float]]]) -> float:
    """The quantity in the other unit; a unit is so many base units per one, and an offset.

    Raises:
        ValueError: A unit is not known, or the two do not measure the same.
    """
    for units in known.values():
        if source in units and target in units:
            factor, offset = units[source]
            base = value * factor + offset
            factor, offset = units[target]
            return round((base - offset) / factor, 10)
    every = sorted(unit for units in known.values() for unit in units)
    raise ValueError(f"cannot convert {source!r} to {target!r}; the units are {', '.join(every)}")


def main() -> None:
    """Read the input, print the answer."""
    given: dict[str, Any] = json.load(sys.stdin)
    known = json.loads(Path("data/units.json").read_text(encoding="utf-8"))
    value = convert(given["value"], given["from"], given["to"], known)
    json.dump({"value": value, "unit": given["to"]}, sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(str(error))
