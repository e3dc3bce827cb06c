"""What the conformance suite finds is told per scenario and way, and only what is known with its reason is let pass."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from checks import conformance_report
from checks.conformance_report import EXPECTED, WAYS, Report, judge, read_expected, render_summary, render_table
from tests.reference import conformance
from tests.reference.conformance import HANDSHAKE, MODERN, REVISIONS, Check, SuiteRun
from tests.reference.parts import node_package


def suite_run(**statuses: str) -> SuiteRun:
    scenarios = {name: (Check(id=f"{name}-check", status=status),) for name, status in statuses.items()}
    return SuiteRun(revision=HANDSHAKE, scenarios=scenarios)


@pytest.fixture(autouse=True)
def requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite requires one scenario; its own list is in a part that need not be here."""
    monkeypatch.setattr(conformance, "_required_scenarios", lambda _: {"ping"})


def report_of(
    *, toolbox: str = "SUCCESS", proxy: str = "SUCCESS", extension: str = "FAILURE", inspected: str = ""
) -> Report:
    runs = {
        HANDSHAKE: {
            "direct": suite_run(ping="SUCCESS", tasks=extension),
            "proxy-stdio": suite_run(ping=proxy, tasks=extension),
            "proxy-http": suite_run(ping="SUCCESS", tasks=extension),
            "toolbox": suite_run(ping=toolbox, tasks=extension),
        }
    }
    expected = {
        "direct": {HANDSHAKE: {"tasks": "an extension"}, MODERN: {"tasks": "the same"}},
        "toolbox": {HANDSHAKE: {"ping": "it has none"}},
    }
    return judge(runs, expected, {"proxy, legacy": inspected})


def test_what_is_known_with_its_reason_passes() -> None:
    report = report_of(toolbox="FAILURE")

    assert report.is_good
    assert [(each.way, each.scenario, each.reason) for each in report.findings] == [
        ("direct", "tasks", "an extension"),
        ("toolbox", "ping", "it has none"),
    ]
    assert render_summary(report) == (
        "conformance: 1 revisions, 2 scenarios, 1 required · direct 1 faults, all known · proxy-stdio 0 differences"
        " · proxy-http 0 differences · toolbox 1 differences, all known · inspector 1 of 1"
    )
    table = render_table(report).splitlines()
    assert table[1].split() == ["ping", "pass", "pass", "pass", "known"]
    assert table[2].split() == ["tasks", "known", "pass", "pass", "pass"]
    assert max(map(len, table)) <= 110


def test_a_difference_that_nobody_expects_fails_and_is_told_in_full() -> None:
    report = report_of(toolbox="FAILURE", proxy="FAILURE")

    assert not report.is_good
    assert "proxy-stdio 1 differences, 1 NOT EXPECTED" in render_summary(report)
    assert "FAIL 2025-11-25 proxy-stdio ping: ['ping-check: SUCCESS'] but ['ping-check: FAILURE']" in render_table(
        report
    )


def test_an_expected_failure_that_has_gone_fails_until_its_line_goes_too() -> None:
    report = report_of(extension="SUCCESS")

    assert report.stale == ["direct, 2025-11-25: tasks", "toolbox, 2025-11-25: ping"]
    assert not report.is_good
    assert "FAIL no longer fails, take its line out: direct, 2025-11-25: tasks" in render_table(report)


def test_a_reason_counts_for_its_own_revision_and_a_line_of_a_revision_that_was_not_run_is_not_stale() -> None:
    runs = {MODERN: {"direct": suite_run(ping="SUCCESS"), "toolbox": suite_run(ping="FAILURE")}}

    report = judge(runs, {"toolbox": {HANDSHAKE: {"ping": "it has none"}}})

    assert [(each.scenario, each.reason) for each in report.findings] == [("ping", None)]
    assert report.stale == []


def test_a_failure_of_the_inspector_fails() -> None:
    report = report_of(toolbox="FAILURE", inspected="it listed nothing")

    assert not report.is_good
    assert "inspector, proxy, legacy: it listed nothing" in render_table(report)
    assert "inspector 0 of 1" in render_summary(report)


def test_every_expected_failure_names_a_way_and_gives_a_reason() -> None:
    expected = read_expected()

    assert set(expected) <= set(WAYS)
    assert "proxy-stdio" not in expected
    assert {revision for revisions in expected.values() for revision in revisions} <= set(REVISIONS)
    reasons = [reason for way in expected.values() for found in way.values() for reason in found.values()]
    assert all(len(reason.split()) >= 4 for reason in reasons)


def test_the_command_prints_the_table_or_an_object_and_says_by_its_code_whether_all_is_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[argparse.Namespace] = []

    async def everything(_: Path, options: argparse.Namespace) -> Report:
        asked.append(options)
        return report_of(toolbox="FAILURE", proxy="SUCCESS" if len(asked) == 1 else "FAILURE")

    monkeypatch.setattr(conformance_report, "_everything", everything)

    assert conformance_report.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("conformance: 1 revisions")
    assert conformance_report.main(["--json", "--revision", HANDSHAKE, "--no-inspector"]) == 1
    assert len(json.loads(capsys.readouterr().out)["findings"]) == 3
    assert [(tuple(each.revision), each.inspector) for each in asked] == [(REVISIONS, True), ((HANDSHAKE,), False)]


def test_a_part_that_is_missing_is_an_error_and_not_a_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def everything(*_: object) -> Report:
        pytest.skip("a real part is missing: the suite")

    monkeypatch.setattr(conformance_report, "_everything", everything)

    assert conformance_report.main([]) == 1
    assert capsys.readouterr().err == "error: a real part is missing: the suite\n"


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.req("GW-9.1", "GW-6.6")
@pytest.mark.xdist_group("conformance")
def test_the_suite_finds_in_a_served_toolbox_what_is_expected_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    node_package("conformance")  # it skips where the suite is not installed
    monkeypatch.undo()
    monkeypatch.setattr(conformance_report, "WAYS", ("direct", "toolbox"))

    code = conformance_report.main(["--json", "--no-inspector"])

    printed = capsys.readouterr()
    assert EXPECTED.is_file()
    assert code == 0, printed.out or printed.err
