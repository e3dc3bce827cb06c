"""Every promise is listed once, proved or pending, and no test proves a promise that does not exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from checks.requirement_table import build_rows, render_table, render_totals
from checks.workspace import ROOT
from tests.faults import FAULTS
from tests.real_parts import real_part_missing
from tests.requirements import REQUIREMENTS

pytestmark = pytest.mark.req("AR-9.5")

SPECIFICATIONS = ROOT.parent / "shared"
_REQUIREMENT = re.compile(r"\*\*((?:AR|RT|AD|TP|CP|TS|GW|CL|CT|VW|CN|PX|CO|EN)-\d+(?:\.\d+)?)\*\*")
_FAULT = re.compile(r"^\| ([A-K]\d+) \|", re.MULTILINE)

Pytest = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_pytest(tmp_path: Path) -> Pytest:
    """Runs one test module under the rules of this workspace, in another process."""

    def run(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
        module = tmp_path / "test_planted.py"
        module.write_text(f"import pytest\n\n{source}", "utf-8")
        options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-rs"]
        plugins = ["-p", "conftest", "-p", "pytest_asyncio.plugin", "-p", "pytest_socket", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, *plugins, str(module)]
        variables = {key: value for key, value in os.environ.items() if key != "CI"} | environment
        variables |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(command, cwd=tmp_path, env=variables, check=False, capture_output=True, text=True)

    return run


def test_every_requirement_of_the_specification_is_listed() -> None:
    files = sorted((SPECIFICATIONS / "spec").glob("*.md"))
    if not files:
        real_part_missing("the specification, `../shared/spec` beside this checkout")

    found = [(file.name, found) for file in files for found in _REQUIREMENT.findall(file.read_text("utf-8"))]

    assert sorted((each.source, each.id) for each in REQUIREMENTS if each.source.endswith(".md")) == sorted(found)


def test_every_row_of_the_fault_matrix_is_listed() -> None:
    matrix = SPECIFICATIONS / "faults.md"
    if not matrix.is_file():
        real_part_missing("the fault matrix, `../shared/faults.md` beside this checkout")

    assert [fault.id for fault in FAULTS] == _FAULT.findall(matrix.read_text("utf-8"))


def test_no_promise_is_listed_twice() -> None:
    ids = [each.id for each in REQUIREMENTS] + [each.id for each in FAULTS]

    assert len(ids) == len(set(ids))


def test_a_promise_is_tested_untested_or_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    unbuilt = [replace(each, pending="not yet") if each.id == "GW-9.2" else each for each in REQUIREMENTS]
    monkeypatch.setattr("tests.requirements.REQUIREMENTS", unbuilt)

    rows = {row.id: row.status for row in build_rows({("req", "AR-1.1"): ["a test"], ("fault", "C1"): ["another"]})}

    assert rows["AR-1.1"] == "tested"
    assert rows["AR-1.2"] == "untested"
    assert rows["GW-9.2"] == "pending"
    assert rows["A1"] == "untested"
    assert rows["C1"] == "tested"


def test_the_table_has_a_line_per_promise_and_the_totals_add_up() -> None:
    rows = build_rows({})

    assert len(render_table(rows).splitlines()) == len(REQUIREMENTS) + len(FAULTS)
    assert sum(map(int, re.findall(r"\d+", render_totals(rows)))) == len(rows)


@pytest.mark.parametrize("mark", ['req("AR-99.1")', 'fault("Z1")', 'req("AR-1.1", "AR-1.99")', "req()", 'req("A1")'])
def test_a_mark_that_names_no_promise_stops_the_run(run_pytest: Pytest, mark: str) -> None:
    run = run_pytest(f"@pytest.mark.{mark}\ndef test_x(): pass\n")

    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "test_planted.py::test_x" in run.stderr


def test_a_mark_that_names_promises_passes(run_pytest: Pytest) -> None:
    run = run_pytest('@pytest.mark.req("AR-1.1", "GW-2.3")\n@pytest.mark.fault("A1")\ndef test_x(): pass\n')

    assert run.returncode == pytest.ExitCode.OK


def test_a_misspelt_mark_stops_the_run(run_pytest: Pytest) -> None:
    run = run_pytest('@pytest.mark.requirement("AR-1.1")\ndef test_x(): pass\n')

    assert run.returncode == pytest.ExitCode.INTERRUPTED


MISSING = "from tests.real_parts import real_part_missing\n\ndef test_x(): real_part_missing('no database here')\n"


def test_a_missing_real_part_is_skipped_with_its_reason_on_a_persons_machine(run_pytest: Pytest) -> None:
    run = run_pytest(MISSING)

    assert "1 skipped" in run.stdout
    assert "no database here" in run.stdout


def test_a_missing_real_part_fails_under_ci(run_pytest: Pytest) -> None:
    run = run_pytest(MISSING, CI="true")

    assert run.returncode == pytest.ExitCode.TESTS_FAILED
    assert "no database here" in run.stdout


def test_a_warning_and_a_socket_are_failures(run_pytest: Pytest) -> None:
    warning = "import warnings\ndef test_w(): warnings.warn('careless')\n"
    socket = "import socket\ndef test_s(): socket.socket()\n"

    run = run_pytest(warning + socket)

    assert "2 failed" in run.stdout
