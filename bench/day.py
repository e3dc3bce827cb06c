"""A day of use before more than 30 real servers, twice: the figures of `scripts/day` as rows.

    uv run python bench/day.py [--json]

It installs the servers that are missing below .tools/, and needs /usr/bin/chromium.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from ratios import Row, parser, report

_ROOT = Path(__file__).resolve().parents[1]
_FIGURES = (
    ("calls", "calls of the three tools for {tasks} tasks", "calls", "<= 40"),
    ("wrong_turns", "searches without the right tool, calls that failed", "wrong turns", None),
    ("questions", "questions to the person", "questions", None),
)
_QUESTIONS = ("<= 6", "<= 0")


def day_rows(days: dict[str, Any]) -> list[Row]:
    """The figures of both days."""
    rows = []
    for number, (day, asked) in enumerate(zip(days["days"], _QUESTIONS, strict=True), start=1):
        tasks = day["tasks"]
        done = sum(task["problem"] is None for task in tasks)
        bound = f">= {len(tasks)}"
        rows.append(Row(id="CL-25", what=f"day {number}: tasks done", ours=done, unit="tasks", target=bound))
        for key, what, unit, target in _FIGURES:
            total = sum(_calls(task) if key == "calls" else task[key] for task in tasks)
            wanted = asked if key == "questions" else target
            text = f"day {number}: {what.format(tasks=len(tasks))}"
            rows.append(Row(id="CL-25", what=text, ours=total, unit=unit, target=wanted))
        ours, direct = (sum(task[name] for task in tasks) for name in ("prompt_tokens", "direct_tokens"))
        rows.append(
            Row(
                id="CL-25",
                what=f"day {number}: tokens of all prompts",
                ours=ours,
                unit="tokens",
                peers={"every definition in each prompt": direct},
                note=f"{days['servers']} servers, {days['tools']} tools",
            )
        )
    return rows


def _calls(task: dict[str, Any]) -> int:
    return int(task["browses"] + task["executes"] + task["views"])


def main() -> None:
    """Spend the days, and print."""
    options = parser(__doc__ or "").parse_args()
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "scripts")}
    command = [sys.executable, "-m", "checks.day_report", "--json"]
    run = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True, env=environment, cwd=_ROOT)
    if not run.stdout:
        sys.exit("no figures: see above")
    report("day", day_rows(json.loads(run.stdout)), as_json=options.json)


if __name__ == "__main__":
    main()
