"""The official conformance suite against every way to one fixture, and what they differ in."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from checks.workspace import ROOT

if TYPE_CHECKING:
    from tests.reference.conformance import SuiteRun

EXPECTED: Final = ROOT / "tests" / "reference" / "expected_failures.toml"
DIRECT: Final = "direct"
WAYS: Final = (DIRECT, "proxy-stdio", "proxy-http", "toolbox")
"""To the fixture: itself, through the proxy with it behind stdio or HTTP, and its tools as a toolbox of ours."""

Expected: TypeAlias = Mapping[str, Mapping[str, Mapping[str, str]]]
"""By way and revision, scenarios that are known to fail or to differ, each with its reason."""

_SHOWN: Final[Mapping[str, str]] = {"": "pass", "expected": "known", "unexpected": "FAIL"}
_POLICY: Final = 'version = 1\ndefault = "allow"\n'


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that is not as it should be: in the fixture itself, or between it and another way."""

    revision: str
    scenario: str
    way: str
    told: str
    reason: str | None
    """Why it is known, if it is."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """All runs of the suite, by revision and way, and what was found in them."""

    scenarios: Mapping[str, Sequence[str]]
    """By revision, all that the suite ran."""
    required: Mapping[str, int]
    """By revision, how many of them it requires."""
    findings: Sequence[Finding]
    stale: Sequence[str]
    """Lines of the file of expected failures that nothing fails under any more."""
    inspected: Mapping[str, str]
    """By what the Inspector was used on, nothing or what went wrong."""

    @property
    def is_good(self) -> bool:
        """Whether everything is as expected."""
        return not self.stale and not any(self.inspected.values()) and all(each.reason for each in self.findings)


def judge(
    runs: Mapping[str, Mapping[str, SuiteRun]],
    expected: Expected,
    inspected: Mapping[str, str] | None = None,
) -> Report:
    """What the runs of each revision show, beside what is expected of each way."""
    from tests.reference.conformance import differences

    findings = []
    for revision, ways in runs.items():
        direct = ways[DIRECT]
        told = {DIRECT: {name: "; ".join(checks) for name, checks in direct.faults().items()}}
        told |= {way: differences(direct, run) for way, run in ways.items() if way != DIRECT}
        findings += [
            Finding(revision=revision, scenario=name, way=way, told=text, reason=_reason(expected, way, revision, name))
            for way, found in told.items()
            for name, text in found.items()
        ]
    met = {(each.way, each.revision, each.scenario) for each in findings}
    stale = [
        f"{way}, {revision}: {name}"
        for way, revisions in expected.items()
        for revision, reasons in revisions.items()
        if way in runs.get(revision, {})
        for name in reasons
        if (way, revision, name) not in met
    ]
    return Report(
        scenarios={revision: sorted(ways[DIRECT].scenarios) for revision, ways in runs.items()},
        required={revision: len(ways[DIRECT].scored) for revision, ways in runs.items()},
        findings=findings,
        stale=stale,
        inspected=inspected or {},
    )


def render_table(report: Report) -> str:
    """A line for every scenario of every revision, a column for every way, and then what is wrong in full."""
    lines = []
    for revision, scenarios in report.scenarios.items():
        lines += [f"{revision:<48}" + "".join(f"{way:<13}" for way in WAYS).rstrip()]
        found = {(each.scenario, each.way): each for each in report.findings if each.revision == revision}
        for name in scenarios:
            cells = [_SHOWN[_standing(found.get((name, way)))] for way in WAYS]
            lines.append(f"  {name:<46}" + "".join(f"{cell:<13}" for cell in cells).rstrip())
        lines.append("")
    unknown = [each for each in report.findings if each.reason is None]
    lines += [f"FAIL {each.revision} {each.way} {each.scenario}: {each.told}" for each in unknown]
    lines += [f"FAIL no longer fails, take its line out: {line}" for line in report.stale]
    lines += [f"inspector, {what}: {problem or 'pass'}" for what, problem in report.inspected.items()]
    return "\n".join(lines)


def render_summary(report: Report) -> str:
    """All of it in one line."""
    total = sum(map(len, report.scenarios.values()))
    parts = [
        f"conformance: {len(report.scenarios)} revisions, {total} scenarios, {sum(report.required.values())} required"
    ]
    for way in WAYS:
        here = [each for each in report.findings if each.way == way]
        unknown = sum(each.reason is None for each in here)
        what = "faults" if way == DIRECT else "differences"
        parts.append(
            f"{way} {len(here)} {what}" + (f", {unknown} NOT EXPECTED" if unknown else ", all known" if here else "")
        )
    if report.inspected:
        passed = sum(not problem for problem in report.inspected.values())
        parts.append(f"inspector {passed} of {len(report.inspected)}")
    return " · ".join(parts)


def read_expected(file: Path = EXPECTED) -> Expected:
    """By way and revision, the scenarios that are known to fail or to differ, each with its reason."""
    return tomllib.loads(file.read_text("utf-8"))


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and 1 when anything is not as expected or a part is missing."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory() as folder:
        try:
            report = asyncio.run(_everything(Path(folder), options))
        except (pytest.skip.Exception, pytest.fail.Exception) as missing:
            print(f"error: {missing}", file=sys.stderr)
            return 1
    if options.json:
        print(json.dumps(_as_json(report), indent=2))
    else:
        print(render_table(report), render_summary(report), sep="\n\n")
    return 0 if report.is_good else 1


async def _everything(folder: Path, options: argparse.Namespace) -> Report:
    runs = {revision: await _runs(folder / revision, revision) for revision in options.revision}
    inspected = await _inspected(folder) if options.inspector else {}
    return judge(runs, read_expected(), inspected)


async def _runs(folder: Path, revision: str) -> dict[str, SuiteRun]:
    from tests.reference.conformance import run_suite
    from tests.reference.processes import conformance_server, listening

    runs: dict[str, SuiteRun] = {}
    for way in WAYS:
        print(f"-- {revision}: {way}", file=sys.stderr, flush=True)
        here = folder / way
        here.mkdir(parents=True)
        if way == "proxy-http":
            with listening(conformance_server("--http")) as behind, listening(_command(way, here, behind)) as url:
                runs[way] = await run_suite(url, revision, folder=here / "results")
        else:
            with listening(_command(way, here)) as url:
                runs[way] = await run_suite(url, revision, folder=here / "results")
    return runs


def _command(way: str, folder: Path, behind: str = "") -> Any:
    from tests.reference.parts import Command
    from tests.reference.processes import conformance_server, serve_command, write_config

    if way == DIRECT:
        return conformance_server("--http")
    if way == "toolbox":
        module = ("-m", "tests.reference.conformance_toolbox")
        return Command(program=Path(sys.executable), arguments=module, environment={"PYTHONPATH": str(ROOT)})
    entry = {"type": "http", "url": behind} if behind else conformance_server().entry
    config = write_config(folder, {"fixture": entry})
    # The tools of the fixture say nothing of their effects, and the suite approves of nothing.
    (folder / "toolcrib.policy.toml").write_text(_POLICY, "utf-8")
    mode = "gateway" if way == "gateway" else "transparent"
    return serve_command(config, mode, "--http", "127.0.0.1:0")


async def _inspected(folder: Path) -> dict[str, str]:
    from tests.reference.clients import inspect
    from tests.reference.processes import listening

    found = {}
    calls = {
        "proxy": ("test_simple_text", "This is a simple text response", ()),
        "gateway": ("tool_browse", "test_simple_text", ("--tool-arg", "query=simple text")),
    }
    for way, (tool, answer, arguments) in calls.items():
        here = folder / f"inspector-{way}"
        here.mkdir()
        with listening(_command(way, here)) as url:
            for era in ("legacy", "modern"):
                print(f"-- inspector: {way}, {era}", file=sys.stderr, flush=True)
                target = (url, "--transport", "http", "--protocol-era", era, "--method")
                try:
                    listed = await inspect(*target, "tools/list")
                    called = await inspect(*target, "tools/call", "--tool-name", tool, *arguments)
                except (AssertionError, TimeoutError, ValueError) as failure:
                    found[f"{way}, {era}"] = str(failure) or type(failure).__name__
                    continue
                names = [each["name"] for each in listed["tools"]]
                right = tool in names and answer in json.dumps(called)
                found[f"{way}, {era}"] = "" if right else f"it listed {names} and answered {called}"[:500]
    return found


def _reason(expected: Expected, way: str, revision: str, scenario: str) -> str | None:
    return expected.get(way, {}).get(revision, {}).get(scenario)


def _standing(finding: Finding | None) -> str:
    return "" if finding is None else "expected" if finding.reason else "unexpected"


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "scenarios": report.scenarios,
        "required": report.required,
        "findings": [vars(each) for each in report.findings],
        "stale": report.stale,
        "inspector": report.inspected,
        "summary": render_summary(report),
    }


def _options(arguments: list[str] | None) -> argparse.Namespace:
    from tests.reference.conformance import REVISIONS

    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one object in place of the table")
    parser.add_argument(
        "--revision", nargs="+", choices=REVISIONS, default=REVISIONS, help="of the protocol; all without"
    )
    parser.add_argument("--no-inspector", dest="inspector", action="store_false", help="the suite alone")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
