"""Which tests prove which requirement and which row of the fault matrix."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

import pytest

from checks.workspace import ROOT


@dataclass(frozen=True, kw_only=True)
class Row:
    """One promise and the tests that claim to prove it."""

    id: str
    kind: str
    """`req` or `fault`, as the marker is called."""
    text: str
    source: str
    pending: str | None
    note: str | None = None
    deviation: str | None = None
    tests: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """`pending` while it is not built, `deviates` where that is on purpose, else `tested` or `untested`."""
        if self.pending is not None:
            return "pending"
        if self.deviation is not None:
            return "deviates"
        return "tested" if self.tests else "untested"


def build_rows(claims: Mapping[tuple[str, str], Iterable[str]]) -> list[Row]:
    """Every requirement, then every fault, with the tests that `claims` holds under its kind and id."""
    from tests.faults import FAULTS
    from tests.requirements import REQUIREMENTS

    rows = [
        Row(
            id=each.id,
            kind="req",
            text=each.text,
            source=each.source,
            pending=each.pending,
            note=each.note,
            deviation=each.deviation,
            tests=sorted(claims.get(("req", each.id), ())),
        )
        for each in REQUIREMENTS
    ]
    return rows + [
        Row(
            id=each.id,
            kind="fault",
            text=f"{each.fault}: {each.expected}",
            source="faults.md",
            pending=each.pending,
            tests=sorted(claims.get(("fault", each.id), ())),
        )
        for each in FAULTS
    ]


def collect_claims() -> dict[tuple[str, str], set[str]]:
    """Every `req` and `fault` mark of the test suite, by kind and id, found by collecting and not by running.

    Raises:
        RuntimeError: The suite does not collect; the message holds what pytest printed.
    """
    collector = _Collector()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", str(ROOT)], plugins=[collector])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(printed.getvalue())
    return collector.claims


def render_table(rows: Iterable[Row]) -> str:
    """One line per promise: id, status, number of tests, and its beginning."""
    return "\n".join(f"{row.id:<7} {row.status:<8} {len(row.tests):>4}  {_shown(row)}" for row in rows)


def render_totals(rows: Iterable[Row]) -> str:
    """How many promises have each status, in one line."""
    counts = Counter(row.status for row in rows)
    return "promises: " + ", ".join(
        f"{counts[status]} {status}" for status in ("tested", "pending", "deviates", "untested")
    )


def main(arguments: list[str] | None = None) -> int:
    """Print the table; with `--check`, 1 when a promise that is not pending has no test."""
    parser = argparse.ArgumentParser(prog="scripts/requirements", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object per promise, in an array")
    parser.add_argument("--check", action="store_true", help="print only what is built but has no test, and fail on it")
    options = parser.parse_args(arguments)
    try:
        rows = build_rows(collect_claims())
    except RuntimeError as failure:
        print(f"error: the tests do not collect\n{failure}", file=sys.stderr)
        return 1
    untested = [row for row in rows if row.status == "untested"]
    shown = untested if options.check else rows
    if options.json:
        print(json.dumps([asdict(row) | {"status": row.status} for row in shown]))
    else:
        print(*filter(None, (render_table(shown), render_totals(rows))), sep="\n")
    return 1 if options.check and untested else 0


class _Collector:
    def __init__(self) -> None:
        self.claims: dict[tuple[str, str], set[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for kind in ("req", "fault"):
                for mark in item.iter_markers(kind):
                    for claimed in mark.args:
                        # Without the parameters: one promise in a test's name is one proof.
                        self.claims.setdefault((kind, claimed), set()).add(item.nodeid.partition("[")[0])


def _shown(row: Row) -> str:
    reason = row.pending or row.deviation or row.note
    return f"[{reason}] {row.text}"[:100] if reason else row.text[:100]


if __name__ == "__main__":
    sys.exit(main())
