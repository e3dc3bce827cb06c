"""`toolcrib audit prune`: old records are removed, and that they were is signed."""

from __future__ import annotations

import time

import typer

from toolcrib_cli.asking import Choice
from toolcrib_cli.audit.opening import opened_audit
from toolcrib_cli.audit.times import read_time
from toolcrib_cli.screen import print_json, say, screen
from toolcrib_core.wording import count
from toolcrib_mcp.audit import Pruned, open_key, prune
from toolcrib_mcp.errors import AuditUnusable

_NOTHING = Pruned(segments=(), records=0, kept_as_evidence=())


def remove_old(choice: Choice, *, before: str, yes: bool, as_json: bool) -> None:
    """Remove the segments that ended before a time, once somebody has said yes.

    Raises:
        ConfigError: The time or the configuration cannot be used.
        AuditUnusable: There is no key, or a file cannot be removed.
        StoreError: The database cannot be used.
    """
    moment = read_time(before, "--before")
    if not yes and not typer.confirm(f"Remove for good what ended before {moment}?", err=True):
        raise typer.Exit(1)
    with opened_audit(choice) as audit:
        told = _NOTHING
        if audit is not None:
            try:
                key = open_key(audit.directory)
                told = prune(audit.folder, audit.verdict(), audit.heads, key=key, before=moment, at=time.time())
            except OSError as failure:
                raise AuditUnusable(
                    f"A segment cannot be removed: {failure.strerror}.", hint="Check the state directory."
                ) from None
    if as_json:
        print_json(
            {"segments": list(told.segments), "records": told.records, "keptAsEvidence": list(told.kept_as_evidence)}
        )
        return
    console = screen()
    say(console, f"{count(told.records, 'record')} of {count(len(told.segments), 'segment')} removed.")
    if told.kept_as_evidence:
        wrong = count(len(told.kept_as_evidence), "segment")
        say(console, f"{wrong} kept, since something in it is not what was written: see `toolcrib audit verify`.")
