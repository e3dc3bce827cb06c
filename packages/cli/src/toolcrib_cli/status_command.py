"""`toolcrib status`: how each server of a catalogue is, from who serves it right now or by trying them."""

from __future__ import annotations

import time

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json
from toolcrib_cli.status_report import StatusReport, live_report, probed_report
from toolcrib_cli.wiring import Asked
from toolcrib_mcp.errors import ConfigError


def run_status(*, choice: Choice, as_json: bool, timeout: float) -> int:
    """Print the status, and give the exit code.

    Raises:
        ToolError: The configuration cannot be used.
    """
    report = _report(choice, timeout)
    if as_json:
        print_json(report.to_json())
    else:
        from toolcrib_cli.status_view import show_report

        show_report(report)
    return 0 if report.ok else FAILED


def _report(choice: Choice, timeout: float) -> StatusReport:
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
