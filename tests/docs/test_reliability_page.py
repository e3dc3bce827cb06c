"""The page of the fault matrix has every row with its tests, and the page of the benches is what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checks import bench_suite, reliability_page
from checks.bench_charts import charts_of
from checks.bench_page import render_page
from checks.chaos_outcome import ChaosOutcome
from checks.reliability_page import find_claims
from checks.workspace import ROOT
from tests.faults import FAULTS

SOURCE = """
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.fault("A1")]
CASES = [pytest.param(1, marks=pytest.mark.fault("A2"))]

@pytest.mark.fault("A3", "A4")
async def test_a(): ...

@pytest.mark.parametrize("case", CASES)
def test_b(case): ...

@pytest.mark.fault("A5")
class TestC:
    def test_d(self): ...

@pytest.mark.fault("A6")
def not_a_test(): ...
"""


def test_the_page_of_the_fault_matrix_is_current() -> None:
    assert reliability_page.main(["--check"]) == 0, "run `scripts/docs --renew`"


def test_tests_are_found_by_the_marks_of_module_class_function_and_parameters(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(SOURCE, "utf-8")
    (tmp_path / "test_y.py").write_text("def test_z(): ...", "utf-8")

    found = find_claims(sorted(tmp_path.glob("*.py")))

    assert found == {
        "A1": {"test_x.py::test_a", "test_x.py::test_b", "test_x.py::test_d"},
        "A2": {"test_x.py::test_b"},
        "A3": {"test_x.py::test_a"},
        "A4": {"test_x.py::test_a"},
        "A5": {"test_x.py::test_d"},
    }


def test_a_row_says_how_its_cases_ended_or_why_there_are_none() -> None:
    outcome = ChaosOutcome(rows={"A1": {"passed": 7, "failed": 1, "skipped": 2}}, cases={"passed": 7, "failed": 1})

    page = reliability_page.render_page(outcome, {"A1": ["test_x.py::test_a"], "A2": ["test_x.py::test_b"]})

    rows = {
        fault.id: next(line for line in page.splitlines() if line.startswith(f"| {fault.id} |")) for fault in FAULTS
    }
    assert (
        "| 7 of 8 survived, 2 skipped | <details><summary>1 tests</summary>`test_x.py::test_a`</details> |"
        in rows["A1"]
    )
    assert "| not in the last run |" in rows["A2"]
    assert "| **no test** |  |" in rows["A3"]
    pending = [fault for fault in FAULTS if fault.pending]
    assert all(f"| not built: {fault.pending} |" in rows[fault.id] for fault in pending)
    assert "faults: 1 rows, 8 cases, 7 survived" in page
    assert "The last run was not kept." in reliability_page.render_page(None, {})


def test_the_page_is_written_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reliability_page, "ROOT", tmp_path)
    monkeypatch.setattr(reliability_page, "PAGE", tmp_path / "reliability.md")

    assert reliability_page.main(["--check"]) == 1
    assert reliability_page.main([]) == 0
    assert reliability_page.main(["--check"]) == 0
    assert capsys.readouterr().err == "written: reliability.md\n"


def test_the_page_of_the_benches_is_made_of_the_figures_that_were_kept() -> None:
    machine = json.loads(bench_suite.FIGURES.read_text("utf-8"))["machine"]
    page = render_page(bench_suite.read_record(bench_suite.FIGURES), machine=machine)

    assert bench_suite.PAGE.read_text("utf-8") == page, "run `scripts/bench --page`"


def test_every_chart_of_the_page_is_a_picture_that_loads_nothing() -> None:
    names = {each.name for each in charts_of(bench_suite.read_record(bench_suite.FIGURES))}

    shown = set(re.findall(r"\(assets/(\w+)\.svg\)", bench_suite.PAGE.read_text("utf-8")))
    assert shown == names
    for name in names:
        text = (ROOT / "docs" / "assets" / f"{name}.svg").read_text("utf-8")
        root = ElementTree.fromstring(text)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        links = [value for node in root.iter() for key, value in node.attrib.items() if key.endswith("href")]
        assert all(link.startswith("#") for link in links)
