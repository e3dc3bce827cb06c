"""Prints how two texts differ: reads `before` and `after` as JSON, prints JSON."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from typing import Any


def compare(before: str, after: str, *, context: int = 3) -> dict[str, Any]:
    """The unified diff of two texts, and the share of lines that they have in common."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, "before", "after", n=context)
    return {
        "same": before == after,
        "similarity": round(difflib.SequenceMatcher(a=old, b=new).ratio(), 4),
        "diff": "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines),
    }


def main() -> None:
    """Read the input, print the answer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--context", type=int, default=3)
    options = parser.parse_args()
    given = json.load(sys.stdin)
    json.dump(compare(given["before"], given["after"], context=options.context), sys.stdout)


if __name__ == "__main__":
    main()
