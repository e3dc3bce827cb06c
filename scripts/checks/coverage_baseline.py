"""Line coverage of all packages against the reviewed value in coverage-baseline.json."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from checks.workspace import ROOT

BASELINE = ROOT / "coverage-baseline.json"
REPORT = ROOT / ".coverage.json"
_KEY = "line_coverage_percent"


class CoverageError(Exception):
    """The baseline or the report does not say what it must."""


def read_baseline(text: str) -> float:
    """The reviewed line coverage in percent, from the text of coverage-baseline.json.

    Raises:
        CoverageError: It is not a number with 0 < x <= 100.
    """
    value = _object(text, "the baseline").get(_KEY)
    # `true` is an int and NaN compares false with everything: both would pass a careless test.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 100:  # noqa: PLR2004  # percent
        raise CoverageError(f"`{_KEY}` in the baseline must be a number with 0 < x <= 100, not {json.dumps(value)}")
    return float(value)


def read_total(text: str) -> float:
    """The total line coverage in percent, from the JSON report of coverage.py.

    Branches do not count here, so the figure is made of lines and not read from `percent_covered`.

    Raises:
        CoverageError: The report has no totals, or saw no line.
    """
    totals = _object(text, "the report").get("totals")
    match totals:
        case {"covered_lines": int(covered), "num_statements": int(statements)} if 0 <= covered <= statements > 0:
            return 100 * covered / statements
        case _:
            raise CoverageError("the report has no totals of covered lines: did the tests run with coverage?")


def verdict(total: float, baseline: float) -> str | None:
    """What is wrong with a total, or nothing: only a fall below the baseline is wrong."""
    if total >= baseline:
        return None
    return f"line coverage fell to {_shown(total)} %, below the reviewed {_shown(baseline)} %"


def main(arguments: list[str] | None = None) -> int:
    """Print the verdict on a report; 1 when coverage fell or a file is malformed."""
    parser = argparse.ArgumentParser(prog="scripts/coverage", description=__doc__)
    parser.add_argument("--report", type=Path, default=REPORT, help="JSON report of coverage.py")
    parser.add_argument("--baseline", type=Path, default=BASELINE)
    options = parser.parse_args(arguments)
    try:
        baseline = read_baseline(options.baseline.read_text(encoding="utf-8"))
        total = read_total(options.report.read_text(encoding="utf-8"))
    except (CoverageError, OSError) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    problem = verdict(total, baseline)
    print(f"error: {problem}" if problem else f"line coverage {_shown(total)} %, reviewed {_shown(baseline)} %")
    return 1 if problem else 0


def _object(text: str, what: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as failure:
        raise CoverageError(f"{what} is not JSON: {failure}") from failure
    if not isinstance(value, dict):
        raise CoverageError(f"{what} must be a JSON object")
    return value


def _shown(percent: float) -> str:
    # Rounded down: 89.999 must not be shown as a 90 that is below 90.
    return f"{math.floor(percent * 100) / 100:.2f}"


if __name__ == "__main__":
    sys.exit(main())
