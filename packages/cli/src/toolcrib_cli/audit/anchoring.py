"""`toolcrib audit anchor`: how far the audit has come, for another place."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from toolcrib_cli.asking import Choice
from toolcrib_cli.audit.opening import opened_audit
from toolcrib_core.wording import quoted
from toolcrib_mcp.audit import KeptAnchor, open_key
from toolcrib_mcp.audit.writing import moment
from toolcrib_mcp.errors import AuditUnusable


def write_anchor(choice: Choice, file: Path | None) -> None:
    """Check everything, then write the anchor into a file, or to standard output.

    Raises:
        ConfigError: The configuration cannot be used.
        AuditUnusable: Nothing was written down, the record is not whole, or the file cannot be written.
        StoreError: The database cannot be used.
    """
    with opened_audit(choice) as audit:
        if audit is None:
            raise AuditUnusable("Nothing has been written down yet.", hint="Name a configuration with `--config`.")
        fault = audit.verdict().first
        if fault is not None:
            raise AuditUnusable(
                f"The record is not whole, and so no anchor is made: {fault.message}",
                hint="`toolcrib audit verify` shows all that is wrong.",
            )
        line = KeptAnchor.made(audit.heads, open_key(audit.directory), time=moment(time.time())).dumped()
    if file is None:
        sys.stdout.write(line.decode())
        return
    try:
        file.write_bytes(line)
    except OSError as failure:
        raise AuditUnusable(
            f"{quoted(file.name)} cannot be written: {failure.strerror}.", hint="Name another file."
        ) from None
