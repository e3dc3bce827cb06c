"""`toolcrib status`: the state of each server of a catalogue, from a running gateway or by starting the servers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Final

from toolcrib_cli.asking import Choice, asked_for, place_of
from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json
from toolcrib_cli.status_report import StatusReport, live_report, probed_report
from toolcrib_cli.wiring import Asked
from toolcrib_mcp.errors import ConfigError

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at a running gateway."""


def run_status(*, choice: Choice, as_json: bool, timeout: float, watch: bool = False) -> int:
    """Print the status, and give the exit code; with `watch`, print it whenever it changes, until Ctrl-C.

    Raises:
        ToolError: The configuration cannot be used.
    """
    if watch:
        return _watch(choice, as_json=as_json, timeout=timeout)
    report = _report(choice, timeout)
    if as_json:
        print_json(report.to_json())
    else:
        from toolcrib_cli.status_view import show_report

        show_report(report)
    return 0 if report.ok else FAILED


def _report(choice: Choice, timeout: float) -> StatusReport:
    choice = _choice_served(choice)
    try:
        return status_of(asked_for(choice), timeout=timeout)
    except ConfigError as failure:
        from toolcrib_mcp.serving import read_live

        # A running gateway still serves the version before, and its status says what is wrong with this one.
        asked = asked_for(choice, quietly=True, unread=True)
        running = [] if asked.state_dir is None else read_live(asked.state_dir, now=time.time())
        if not running:
            raise
        hub = {"configProblem": failure.message, **running[0].hub}
        return live_report(asked, [running[0].model_copy(update={"hub": hub}), *running[1:]])


def _choice_served(choice: Choice) -> Choice:
    """The choice as a running gateway has it, which may serve toolsets or packs and no server at all."""
    from toolcrib_mcp.serving import read_live

    served = replace(choice, toolsets=True)
    return served if read_live(place_of(served).state_dir, now=time.time()) else choice


def _watch(choice: Choice, *, as_json: bool, timeout: float) -> int:
    ok = True
    with suppress(KeyboardInterrupt):
        for report in changes_of(choice, timeout=timeout):
            ok = report.ok
            _show(report, as_json=as_json)
    return 0 if ok else FAILED


def _show(report: StatusReport, *, as_json: bool) -> None:
    if as_json:
        # One line each, for programs that read them as they come.
        sys.stdout.write(f"{json.dumps(report.to_json())}\n")
        sys.stdout.flush()
        return
    from toolcrib_cli.screen import screen
    from toolcrib_cli.status_view import show_report

    console = screen()
    console.clear()
    show_report(report, console=console)


def changes_of(
    choice: Choice, *, timeout: float, pause: Callable[[float], object] = time.sleep
) -> Iterator[StatusReport]:
    """The status, and every later one that differs; without a running gateway, the servers are started once to check.

    Raises:
        ToolError: The configuration cannot be used, or a source of servers.
        KeyboardInterrupt: It was asked to stop.
    """
    from toolcrib_mcp.serving import read_live

    report = _report(choice, timeout)
    yield report
    while True:
        pause(LOOK_EVERY)
        # Without a running gateway nothing is started again: what was found then is still shown.
        state_dir = place_of(_choice_served(choice)).state_dir
        found = _report(choice, timeout) if read_live(state_dir, now=time.time()) else report
        if _told(found) != _told(report):
            report = found
            yield report


def _told(report: StatusReport) -> object:
    """What of a report counts as a change: not when it was written, and not what the process holds meanwhile."""
    return report.source, [each.pid for each in report.processes], report.hub


def status_of(asked: Asked, *, timeout: float) -> StatusReport:
    """The report of whoever serves the catalogue right now, else of trying every server.

    Raises:
        ToolError: A source of servers cannot be used.
        KeyboardInterrupt: It was asked to stop; nothing of the servers is left.
    """
    from toolcrib_mcp.serving import read_live

    running = [] if asked.state_dir is None else read_live(asked.state_dir, now=time.time())
    if running:
        return live_report(asked, running)
    from toolcrib_cli.probing import probe

    return probed_report(asked, probe(asked, timeout=timeout))
