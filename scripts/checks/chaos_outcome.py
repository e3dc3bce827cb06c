"""What the chaos runs found, as data, and the one line that says so."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

_KILLED: Final = re.compile(r"kill -9 x (\d+): (\{[^}]*\})")
_ANSWERED: Final = re.compile(r"'answered': (\d+)")
NOT_RUN: Final = "not run"


@dataclass(frozen=True, kw_only=True)
class Kills:
    """What became of acknowledged work when whoever did it was killed."""

    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    corrupt: int = 0

    def __add__(self, other: Kills) -> Kills:
        return Kills(
            rounds=self.rounds + other.rounds,
            acknowledged=self.acknowledged + other.acknowledged,
            lost=self.lost + other.lost,
            corrupt=self.corrupt + other.corrupt,
        )


@dataclass(frozen=True, kw_only=True)
class ChaosOutcome:
    """All that was counted; a part that did not run is `None`."""

    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By row of the matrix: how many cases `passed`, `failed` and were `skipped`."""
    cases: Mapping[str, int] | None = None
    """The same of all cases, of which one may belong to several rows."""
    kills: Kills | None = None
    started: int = 0
    """Processes that tests and runs started themselves, without what those started in turn."""
    leaked: int | None = None
    canary_hits: int | None = None
    searched_bytes: int = 0
    soak: str | None = None
    problems: tuple[str, ...] = ()
    """Everything that is wrong, a line each."""


def with_what_was_kept(new: ChaosOutcome, kept: ChaosOutcome | None, *, parts: Iterable[str]) -> ChaosOutcome:
    """A new outcome; of the soak and of all the rest, what this run left out is as it was kept before."""
    if kept is None:
        return new
    if set(parts) == {"soak"}:
        others = [each for each in kept.problems if not each.startswith("soak: ")]
        return replace(kept, soak=new.soak, problems=(*others, *new.problems))
    return new if "soak" in parts else replace(new, soak=kept.soak)


def count_cases(cases: Iterable[Mapping[str, Any]]) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """How the cases ended: of all that belong to a row, and by row."""
    total: Counter[str] = Counter()
    rows: dict[str, Counter[str]] = {}
    for case in cases:
        if case["rows"]:
            total[case["outcome"]] += 1
        for row in case["rows"]:
            rows.setdefault(row, Counter())[case["outcome"]] += 1
    return total, rows


def kills_told(cases: Iterable[Mapping[str, Any]]) -> Kills:
    """The kills that tests say they made, and the calls that were answered in between; a test that fails lost some."""
    total = Kills()
    for case in cases:
        found = _KILLED.search(case["said"])
        if found is not None:
            answered = _ANSWERED.search(found[2])
            lost = 0 if case["outcome"] == "passed" else 1
            total += Kills(rounds=int(found[1]), acknowledged=int(answered[1]) if answered else 0, lost=lost)
    return total


def render_line(outcome: ChaosOutcome) -> str:
    """The summary: faults, kills, processes, canary."""
    return " · ".join((_faults(outcome), _kills(outcome.kills), _processes(outcome), _canary(outcome)))


def _faults(outcome: ChaosOutcome) -> str:
    if outcome.cases is None:
        return f"faults: {NOT_RUN}"
    ran = {row for row, counts in outcome.rows.items() if counts.get("passed", 0) + counts.get("failed", 0)}
    survived, failed = outcome.cases.get("passed", 0), outcome.cases.get("failed", 0)
    return f"faults: {len(ran)} rows, {survived + failed:,} cases, {survived:,} survived"


def _kills(kills: Kills | None) -> str:
    if kills is None:
        return f"kill -9: {NOT_RUN}"
    counts = f"{kills.acknowledged:,} acknowledged, {kills.lost} lost, {kills.corrupt} corrupt"
    return f"kill -9: {kills.rounds:,} rounds, {counts}"


def _processes(outcome: ChaosOutcome) -> str:
    leaked = "unknown" if outcome.leaked is None else outcome.leaked
    return f"processes: {leaked} leaked of {outcome.started:,}"


def _canary(outcome: ChaosOutcome) -> str:
    if outcome.canary_hits is None:
        return f"canary: {NOT_RUN}"
    return f"canary: {outcome.canary_hits} hits in {outcome.searched_bytes / 1e6:,.0f} MB"
