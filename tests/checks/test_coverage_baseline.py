"""Coverage may not fall below the reviewed value, and that value cannot be made meaningless."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.coverage_baseline import BASELINE, CoverageError, main, read_baseline, read_total, verdict

pytestmark = pytest.mark.req("AR-9.6")


def _report(covered: object, statements: object) -> str:
    return json.dumps({"totals": {"covered_lines": covered, "num_statements": statements, "percent_covered": 1.0}})


@pytest.mark.parametrize("value", ["0.5", "90", "99.99", "100"])
@pytest.mark.req("D2-8e")
def test_a_percentage_is_a_baseline(value: str) -> None:
    assert read_baseline(f'{{"line_coverage_percent": {value}}}') == float(value)


@pytest.mark.parametrize("value", ["0", "-1", "100.01", "101", '"90"', "NaN", "Infinity", "true", "null", "[90]", "{}"])
@pytest.mark.req("D2-8e")
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(CoverageError, match="must be a number with 0 < x <= 100"):
        read_baseline(f'{{"line_coverage_percent": {value}}}')


@pytest.mark.parametrize("text", ["", "90", "[]", "{", '"line_coverage_percent"', "{}", '{"lineCoveragePercent": 90}'])
def test_a_baseline_that_is_no_object_with_the_value_is_refused(text: str) -> None:
    with pytest.raises(CoverageError):
        read_baseline(text)


def test_the_committed_baseline_is_valid() -> None:
    assert read_baseline(BASELINE.read_text("utf-8")) > 0


@pytest.mark.req("D2-8d")
def test_the_total_is_made_of_lines_alone() -> None:
    assert read_total(_report(3, 4)) == 75.0


@pytest.mark.parametrize("text", ["{}", '{"totals": 90}', _report(0, 0), _report(5, 4), _report("3", 4), "nonsense"])
def test_a_report_without_lines_is_refused_and_not_taken_for_full_coverage(text: str) -> None:
    with pytest.raises(CoverageError):
        read_total(text)


def test_the_same_or_more_coverage_passes() -> None:
    assert verdict(90.0, 90.0) is None
    assert verdict(97.5, 90.0) is None


@pytest.mark.req("D2-8c")
def test_less_coverage_fails_and_is_not_shown_rounded_up() -> None:
    assert verdict(89.9999, 90.0) == "line coverage fell to 89.99 %, below the reviewed 90.00 %"


@pytest.mark.parametrize(("covered", "code"), [(89, 1), (90, 0)])
@pytest.mark.req("D2-8c")
def test_the_command_fails_only_below_the_baseline(tmp_path: Path, covered: int, code: int) -> None:
    report, baseline = tmp_path / "report.json", tmp_path / "baseline.json"
    report.write_text(_report(covered, 100), "utf-8")
    baseline.write_text('{"line_coverage_percent": 90}', "utf-8")

    assert main(["--report", str(report), "--baseline", str(baseline)]) == code


def test_a_missing_report_fails_with_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--report", str(tmp_path / "none.json")])

    assert code == 1
    assert "none.json" in capsys.readouterr().err
