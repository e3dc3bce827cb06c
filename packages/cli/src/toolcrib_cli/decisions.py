"""What somebody decides at the command line: who they are, and that it is written down in the audit."""

from __future__ import annotations

import getpass
from collections.abc import Iterable
from typing import TYPE_CHECKING

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.screen import tell
from toolcrib_core import ToolError

if TYPE_CHECKING:
    from toolcrib_mcp.audit import AuditEvent


def this_person() -> str:
    """Who sits here, as far as the system knows."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = "somebody"
    return f"{name} at the command line"


def note_decisions(choice: Choice, events: Iterable[AuditEvent]) -> None:
    """Write decisions down in the audit of a configuration, where it has one.

    They are made already: what keeps them from being written is told, and is no failure of the command.
    """
    from toolcrib_mcp.audit import AUDIT_LINE, open_journal
    from toolcrib_mcp.state_files import ARTIFACTS
    from toolcrib_store import open_store

    asked = asked_for(choice, quietly=True)
    directory = asked.state_dir
    if directory is None or not asked.config.settings.audit.enabled or not (directory / ARTIFACTS).is_file():
        return
    try:
        with open_store(directory / ARTIFACTS, lines=[AUDIT_LINE]) as store:
            journal = open_journal(directory, store=store)
            for event in events:
                journal.note(event)
            journal.close()
    except ToolError as failure:
        tell(f"warning: The decision is not in the audit: {failure.message}")
