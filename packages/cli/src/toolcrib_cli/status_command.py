"""`toolcrib status`: how each server of a configuration is, from who serves it right now or by trying them."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib_cli.config_choice import choose_config
from toolcrib_cli.edge import FAILED
from toolcrib_cli.state_directory import state_of, state_root
from toolcrib_cli.status_report import StatusReport, live_report, probed_report
from toolcrib_mcp import load_config

if TYPE_CHECKING:
    from toolcrib_mcp import GatewayConfig


def run_status(*, config: Path | None, as_json: bool, timeout: float, state_dir: Path | None) -> int:
    """Print the status, and give the exit code.

    Raises:
        ToolError: The configuration cannot be used.
    """
    path = choose_config(config, environ=os.environ, directory=Path.cwd())
    report = _report(path, load_config(path), timeout=timeout, state_dir=state_dir)
    if as_json:
        # ASCII only: what a server calls itself may hold what a terminal takes for orders.
        sys.stdout.write(f"{json.dumps(report.to_json(), indent=2)}\n")
    else:
        from toolcrib_cli.status_view import show_report

        show_report(report)
    return 0 if report.ok else FAILED


def _report(path: Path, config: GatewayConfig, *, timeout: float, state_dir: Path | None) -> StatusReport:
    from toolcrib_mcp.serving import read_live

    running = read_live(state_of(path, state_root(state_dir, environ=os.environ)), now=time.time())
    if running:
        return live_report(path, config, running)
    from toolcrib_cli.probing import probe

    status, failures = probe(config, timeout=timeout)
    return probed_report(path, config, status, failures)
