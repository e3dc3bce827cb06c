"""The status for people: a table and what went wrong, on a terminal or in a file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolcrib_cli.screen import say, screen
from toolcrib_core.wording import count, shown

if TYPE_CHECKING:
    from toolcrib_cli.status_report import ServerReport, StatusReport

_MAX_STDERR_LINES: Final = 10
_MAX_FINDINGS: Final = 20
_UNKNOWN: Final = "-"
_IN_PROCESS: Final = "in process"
_STYLES: Final = {"failed": "red", "started": "green", "in use": "green", "starting": "yellow"}


def show_report(report: StatusReport, *, console: Console | None = None, now: float | None = None) -> None:
    """Print a report; colours and wrapping only on a terminal."""
    console = console or screen()
    view = _View(console, time.time() if now is None else now)
    view.head(report)
    for warning in report.warnings:
        view.say(f"warning: {warning}", style="yellow")
    console.print()
    console.print(_table(report))
    for server in report.servers():
        view.problems(server)
        view.findings(server)
    view.foot(report)


class _View:
    """Writes lines."""

    def __init__(self, console: Console, now: float) -> None:
        self._console = console
        self._now = now

    def say(self, text: str, *, indent: int = 0, style: str = "") -> None:
        """One sentence or more, from anywhere."""
        say(self._console, text, indent=indent, style=style)

    def head(self, report: StatusReport) -> None:
        """Where the report comes from."""
        if not report.processes:
            self.say(f"{report.subject}: no running gateway; started each server to check it.")
            return
        first, *others = report.processes
        since = f"started {_ago(self._now - first.started_at)}"
        self.say(f"{report.subject}: served in {first.mode} mode by process {first.pid} ({first.address}), {since}.")
        if first.held is not None:
            held = first.held
            self.say(
                f"It has {count(held.sessions, 'session')} open, {count(held.tasks, 'task')} "
                f"and {count(held.threads, 'thread')}."
            )
        for each in report.processes:
            if each.hub.get("auditProblem"):
                self.say(f"The audit of {each.pid} cannot be written: {each.hub['auditProblem']}", style="bold red")
        if others:
            pids = ", ".join(str(each.pid) for each in others)
            self.say(f"{count(len(others), 'other process serves', 'other processes serve')} it, too: {pids}.")

    def problems(self, server: ServerReport) -> None:
        """Why a server cannot be used."""
        error = server.error
        if not server.failed or error is None:
            return
        self._console.print()
        self.say(f"{server.name}: {error.get('message', 'It failed.')}{self._history(server)}", style="red")
        if error.get("hint"):
            self.say(f"hint: {error['hint']}", indent=2)
        lines = str(_details(error).get("stderr") or "").strip().splitlines()
        if lines:
            self.say("the last lines that it wrote to standard error:", indent=2)
        for line in lines[-_MAX_STDERR_LINES:]:
            self.say(f"| {line.rstrip()}", indent=4)

    def findings(self, server: ServerReport) -> None:
        """What is wrong with its tools."""
        found = server.status.get("findings", ())
        if not found:
            return
        self._console.print()
        self.say(f"{server.name}: {count(len(found), 'finding')} about its tools", style="yellow")
        for each in found[:_MAX_FINDINGS]:
            name = shown(each.get("name") or "without a name")
            self.say(f"{each.get('kind')} {name}: {each.get('reason', '')} {each.get('hint', '')}".rstrip(), indent=2)
        if len(found) > _MAX_FINDINGS:
            self.say(f"and {len(found) - _MAX_FINDINGS} more: `--json` has all of them", indent=2)

    def foot(self, report: StatusReport) -> None:
        """All together."""
        self._console.print()
        if report.switched_off:
            self.say(f"Switched off: {', '.join(map(shown, report.switched_off))}.")
        if report.hub.get("configProblem"):
            self.say(f"The configuration was changed and cannot be used: {report.hub['configProblem']}", style="yellow")
            self.say("The servers of the version before are still served.", indent=2)
        if report.hub.get("restartNeeded"):
            settings = ", ".join(report.hub["restartNeeded"])
            self.say(f"Changed, and in effect after a restart of `toolcrib serve`: {settings}.", style="yellow")
        if report.hub.get("manifestProblem"):
            self.say(f"What is known of the servers is not kept: {report.hub['manifestProblem']}", style="yellow")
        totals = report.hub.get("totals", {})
        failed = sum(server.failed for server in report.servers())
        said = [
            count(totals.get("servers", 0), "server"),
            f"{totals.get('running', 0)} running",
            f"{failed} failed",
            *([f"{len(report.left_out)} left out"] if report.left_out else []),
            count(totals.get("tools", {}).get("served", 0), "tool"),
        ]
        self.say(", ".join(said) + ".")
        if report.questions:
            self.say(report.questions)
        for each in report.to_be_asked_less:
            self.say(each, indent=2)

    def _history(self, server: ServerReport) -> str:
        failures, at = server.health.get("failures", 0), server.health.get("lastFailureAt")
        if failures <= 1 or at is None:
            return ""
        return f" ({failures} failures, the last one {_ago(self._now - at)})"


def _table(report: StatusReport) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("Server", "State", "Transport", "Protocol"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    table.add_column("Tools", justify="right", no_wrap=True, min_width=len("Tools"))
    for server in report.servers():
        health = server.health
        table.add_row(
            Text(shown(server.name)),
            Text(_state(server, live=report.source == "live"), style=_STYLES.get(server.state, "")),
            Text(shown(health.get("address", _IN_PROCESS))),
            Text(_protocol(health)),
            Text(_UNKNOWN if health.get("tools") is None else f"{server.status['tools']['served']}"),
        )
    return table


def _state(server: ServerReport, *, live: bool) -> str:
    again = server.health.get("retryIn") if live else None
    if server.failed and again:
        return f"{server.state}, again in {again:.0f} s"
    if server.state != "idle":
        return server.state
    idle = server.health.get("idleFor")
    return "not started yet" if idle is None else f"stopped after {_duration(idle)} idle"


def _protocol(health: Mapping[str, Any]) -> str:
    version = health.get("protocolVersion")
    return _UNKNOWN if version is None else shown(f"{version} ({health.get('era')})")


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:g} s"  # noqa: PLR2004  # seconds of a minute


def _details(error: Mapping[str, Any]) -> Mapping[str, Any]:
    details = error.get("details")
    return details if isinstance(details, Mapping) else {}


def _ago(seconds: float) -> str:
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), name)} ago"
    return f"{count(max(0, int(seconds)), 'second')} ago"
