"""A day of use, twice: fifteen tasks of a scripted agent through the gateway, before more than 30 real servers."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from checks.day_agent import Agent, Person, Prompts, TaskOutcome, tokens_of_tools
from checks.day_tasks import Task, read_tasks
from checks.descendants import adopt_orphans, end_descendants
from checks.real_servers import install, select_parts
from checks.server_catalogue import Unavailable, read_catalogue
from checks.server_comparison import list_all, serve_command, until_ended, write_config
from checks.server_fixtures import Fixtures, serve_fixtures
from checks.stdio_client import connect
from toolcrib_core import count_tokens

MOST_CALLS: Final = 40
MOST_QUESTIONS: Final = (6, 0)
"""On the first day, and on the same day again."""

_END_SECONDS: Final = 20.0


@dataclass(frozen=True, kw_only=True)
class Day:
    """All tasks, one after the other, through one process."""

    tasks: tuple[TaskOutcome, ...]
    asked: tuple[str, ...]
    """Every question, as the person read it."""

    def total(self, name: str) -> int:
        """The sum of one figure of all tasks."""
        return sum(getattr(each, name) for each in self.tasks)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Both days, and what stands before each conversation."""

    servers: int
    tools: int
    missing: Mapping[str, str]
    """Servers that could not be used, with the reason."""
    prompts: Prompts
    days: tuple[Day, ...]

    @property
    def problems(self) -> list[str]:
        """What makes the script fail."""
        found = [f"{name} is missing: {reason}" for name, reason in self.missing.items()]
        for number, (day, questions) in enumerate(zip(self.days, MOST_QUESTIONS, strict=True), start=1):
            found += [f"day {number}, {each.name}: {each.problem}" for each in day.tasks if each.problem]
            if len(day.asked) > questions:
                found.append(f"day {number}: {len(day.asked)} questions, more than {questions}")
            if day.total("calls") > MOST_CALLS:
                found.append(f"day {number}: {day.total('calls')} calls, more than {MOST_CALLS}")
        return found


async def spend_days(fixtures: Fixtures, folder: Path) -> Report:
    """List everything once, as a client without a gateway would; then work through the tasks on two days."""
    commands, missing = {}, {}
    for server in read_catalogue(fixtures):
        try:
            commands[server.name] = server.command(fixtures)
        except Unavailable as reason:
            missing[server.name] = str(reason)
    config = write_config(folder, commands, policy=None)
    _progress(f"list the tools of {len(commands)} servers")
    async with connect(serve_command(config, "transparent")) as client:
        tools, failed = await list_all(client)
    tasks = read_tasks(fixtures)
    days = []
    prompts = Prompts(gateway=0, direct=tokens_of_tools(tools))
    for number, _ in enumerate(MOST_QUESTIONS, start=1):
        _progress(f"day {number}")
        prompts, day = await _spend_day(config, tasks, prompts.direct)
        days.append(day)
    return Report(
        servers=len(commands), tools=len(tools), missing={**missing, **failed}, prompts=prompts, days=tuple(days)
    )


async def _spend_day(config: Path, tasks: Sequence[Task], direct: int) -> tuple[Prompts, Day]:
    person = Person()
    async with connect(serve_command(config, "gateway"), elicit=person.answer) as client:
        own = tokens_of_tools(await client.list_tools()) + count_tokens(client.instructions)
        prompts = Prompts(gateway=own, direct=direct)
        agent = Agent(client, person, prompts)
        outcomes = []
        for task in tasks:
            outcomes.append(await agent.work_on(task))
            _progress(f"{task.name}: {outcomes[-1].problem or 'done'}")
    return prompts, Day(tasks=tuple(outcomes), asked=tuple(person.asked))


def render_report(report: Report) -> str:
    """A table of the first day, a line for each day, and what failed."""
    direct, through = report.prompts.direct, report.prompts.gateway
    lines = [
        f"{report.servers} servers, {report.tools} tools; tokens: {direct:,}, through toolcrib {through:,}",
        "",
        f"{'task':20} {'browse':>7} {'execute':>8} {'view':>5} {'wrong':>6} {'asked':>6} {'tokens':>8} {'direct':>9}",
    ]
    for each in report.days[0].tasks:
        counts = f"{each.browses:7} {each.executes:8} {each.views:5} {each.wrong_turns:6} {each.questions:6}"
        lines.append(f"{each.name:20} {counts} {each.prompt_tokens:8,} {each.direct_tokens:9,}")
    lines.append("")
    for number, day in enumerate(report.days, start=1):
        done = sum(each.problem is None for each in day.tasks)
        lines.append(
            f"day {number}: {done} of {len(day.tasks)} tasks done, {day.total('calls')} calls "
            f"({day.total('browses')} browse, {day.total('executes')} execute, {day.total('views')} view), "
            f"{len(day.asked)} questions, {day.total('wrong_turns')} wrong turns, "
            f"{day.total('prompt_tokens'):,} tokens of prompts, {day.total('direct_tokens'):,} without the gateway"
        )
        lines += [f"  asked: {each.splitlines()[0]}" for each in day.asked]
    return "\n".join([*lines, *(f"FAILED: {each}" for each in report.problems)])


def to_json(report: Report) -> dict[str, Any]:
    """Everything, for programs."""
    return {**asdict(report), "problems": report.problems}


def main(arguments: list[str] | None = None) -> int:
    """Install, work and print; 1 when a task was not done or a bound was passed."""
    parser = argparse.ArgumentParser(prog="scripts/day", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one object in place of the table")
    options = parser.parse_args(arguments)
    adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="toolcrib-day-") as name:
        folder = Path(name)
        (folder / "fixtures").mkdir()
        with serve_fixtures(folder / "fixtures") as fixtures:
            wanted = [each.name for each in read_catalogue(fixtures)]
            for part, reason in install(select_parts(wanted)).items():
                print(f"NOTICE: `{part}` cannot be installed: {reason}", file=sys.stderr)
            try:
                report = asyncio.run(until_ended(spend_days(fixtures, folder)))
            finally:
                end_descendants(patience=_END_SECONDS)
    print(json.dumps(to_json(report), indent=1) if options.json else render_report(report))
    return 1 if report.problems else 0


def _progress(text: str) -> None:
    print(f"-- {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
