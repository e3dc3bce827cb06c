"""A pytest plugin that writes down every case of the fault matrix: its rows, its outcome, and the processes it started.

`pytest -p checks.fault_recorder --fault-record FILE`; with workers, each counts and the one that leads them writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

_ROWS: Final = "fault-rows"
_PROCESSES: Final = "processes"
# Raised once for each process that Python code starts itself; what that process starts is not seen.
_STARTS: Final = frozenset({"subprocess.Popen", "os.fork", "os.forkpty"})

_started = 0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write."""
    parser.addoption("--fault-record", default=None, help="a file for the outcome of every case with a `fault` mark")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count, and to write where this is the process that leads."""
    sys.addaudithook(_count)
    file = config.getoption("--fault-record")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(FaultRecord(Path(file)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Mark the case with its rows; they travel with its reports."""
    rows = sorted({str(each) for mark in item.iter_markers("fault") for each in mark.args})
    item.user_properties.append((_ROWS, rows))
    item.stash[_BEFORE] = _started
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Mark the case with the number of processes that it started."""
    try:
        return (yield)
    finally:
        item.user_properties.append((_PROCESSES, _started - item.stash[_BEFORE]))


class FaultRecord:
    """What became of every case."""

    def __init__(self, file: Path) -> None:
        self.cases: dict[str, dict[str, Any]] = {}
        self._file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take one phase of a case in: it survives when none fails, and proves nothing when one is skipped."""
        properties = dict(report.user_properties)
        case = self.cases.setdefault(
            report.nodeid, {"rows": properties.get(_ROWS, []), "outcome": "passed", "processes": 0, "said": ""}
        )
        if report.failed or (report.skipped and case["outcome"] == "passed"):
            case["outcome"] = report.outcome
        case["processes"] = properties.get(_PROCESSES, 0)
        if report.when == "call":
            case["said"] = report.capstdout

    def pytest_sessionfinish(self) -> None:
        """Write all of it."""
        self._file.write_text(json.dumps(self.cases), "utf-8")


_BEFORE: Final = pytest.StashKey[int]()


def _count(event: str, _: tuple[Any, ...]) -> None:
    global _started  # noqa: PLW0603  # an audit hook is given nothing of ours
    if event in _STARTS:
        _started += 1
