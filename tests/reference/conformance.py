"""The official conformance suite, run against a URL: its results as data, and what two runs differ in."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.reference.parts import node_package, requirements_of_the_suite
from tests.reference.processes import run

HANDSHAKE: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
REVISIONS: Final = (HANDSHAKE, MODERN)

_SUITE_SECONDS: Final = 240
_FOLDER: Final = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_GOOD: Final = {"SUCCESS", "SKIPPED", "INFO"}
# What the suite merely saw, as often as it saw it: no judgement.
_REMARK: Final = "INFO"


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that the suite looked at."""

    id: str
    status: str
    message: str = ""

    @property
    def is_good(self) -> bool:
        """Whether nothing was found wrong; a warning is something wrong."""
        return self.status in _GOOD

    def __str__(self) -> str:
        return f"{self.id}: {self.status}" + (f" ({self.message})" if self.message else "")


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """What the suite found out, scenario by scenario."""

    revision: str
    scenarios: Mapping[str, tuple[Check, ...]]

    @property
    def scored(self) -> dict[str, tuple[Check, ...]]:
        """The scenarios that the revision requires; the others are extensions, or younger than the revision."""
        required = _required_scenarios(self.revision)
        missing = required - self.scenarios.keys()
        assert not missing, f"the suite left out {sorted(missing)}"
        return {name: checks for name, checks in self.scenarios.items() if name in required}

    def faults(self, names: Mapping[str, object] | None = None) -> dict[str, list[str]]:
        """Everything that is not good, of the scenarios that are named; of all without names."""
        found = {
            name: [str(check) for check in checks if not check.is_good]
            for name, checks in self.scenarios.items()
            if names is None or name in names
        }
        return {name: checks for name, checks in found.items() if checks}


async def run_suite(url: str, revision: str, *, folder: Path) -> SuiteRun:
    """Run everything that a revision of the protocol requires, and what the suite runs beside it."""
    suite = node_package("conformance", "server", "--url", url, "--requirements", revision, "--output-dir", str(folder))
    _, out, err = await run(suite, seconds=_SUITE_SECONDS)
    scenarios = _read_scenarios(folder)
    assert scenarios, f"the suite wrote no results:\n{out}\n{err}"
    return SuiteRun(revision=revision, scenarios=scenarios)


def differences(one: SuiteRun, other: SuiteRun) -> dict[str, str]:
    """The scenarios in which two runs do not agree on every check, with both sides."""
    names = sorted(one.scenarios.keys() | other.scenarios.keys())
    return {
        name: f"{_differing(one, other, name)} but {_differing(other, one, name)}"
        for name in names
        if _judgements(one, name) != _judgements(other, name)
    }


def _judgements(run: SuiteRun, scenario: str) -> Counter[tuple[str, str]]:
    return Counter((check.id, check.status) for check in run.scenarios.get(scenario, ()) if check.status != _REMARK)


def _differing(run: SuiteRun, other: SuiteRun, scenario: str) -> list[str]:
    only = _judgements(run, scenario) - _judgements(other, scenario)
    return [str(check) for check in run.scenarios.get(scenario, ()) if (check.id, check.status) in only]


def _read_scenarios(folder: Path) -> dict[str, tuple[Check, ...]]:
    return {
        match["scenario"]: _read_checks(path / "checks.json")
        for path in sorted(folder.iterdir())
        if (match := _FOLDER.fullmatch(path.name))
    }


def _read_checks(file: Path) -> tuple[Check, ...]:
    raw: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return tuple(Check(id=each["id"], status=each["status"], message=each.get("errorMessage") or "") for each in raw)


def _required_scenarios(revision: str) -> set[str]:
    """The list below `server:`, which is all that is needed of that file."""
    text = requirements_of_the_suite(revision).read_text(encoding="utf-8")
    section = re.search(r"^server:\n((?:  - \S+\n|\s*#.*\n|\n)+)", text, re.MULTILINE)
    assert section is not None
    return set(re.findall(r"^  - (\S+)$", section[1], re.MULTILINE))
