"""`toolcrib audit verify`: whether the record is whole, and where it is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from toolcrib_cli.asking import Choice, asked_for
from toolcrib_cli.audit.opening import opened_audit
from toolcrib_cli.screen import print_json, say, screen
from toolcrib_core.wording import count
from toolcrib_mcp.audit import PUBLIC_FILE, AuditFault, AuditVerdict, KeptAnchor, read_public_keys, verify_export

_FAILED: Final = 1
_MAX_SHOWN: Final = 20


def check_kept(choice: Choice, *, public_key: Path | None, anchor: Path | None, as_json: bool) -> int:
    """Check what is kept for a configuration, against an anchor if there is one; gives the exit code.

    Raises:
        ConfigError: The configuration cannot be used.
        AuditUnusable: There is no public key, or the file is no anchor.
        StoreError: The database cannot be used.
    """
    known = None if anchor is None else KeptAnchor.read(anchor)
    with opened_audit(choice) as audit:
        verdict = _nothing_against(known) if audit is None else audit.verdict(public_key, anchor=known)
    return _told(verdict, as_json=as_json)


def _nothing_against(anchor: KeptAnchor | None) -> AuditVerdict:
    """The verdict where nothing is kept at all."""
    if anchor is None or not anchor.number:
        return AuditVerdict(segments=())
    message = f"Nothing is kept here, and the anchor names {count(anchor.number, 'segment')}."
    return AuditVerdict(segments=(), others=(AuditFault(segment="", wrong="rolled-back", message=message),))


def check_export(file: Path, choice: Choice, *, public_key: Path | None, as_json: bool) -> int:
    """Check an export; gives the exit code.

    Raises:
        ConfigError: No key was named, and the configuration cannot be used.
        AuditUnusable: The file is no export, or there is no public key.
    """
    kept = public_key is None
    if public_key is None:
        directory = asked_for(choice, quietly=True).state_dir
        public_key = Path(PUBLIC_FILE) if directory is None else directory / PUBLIC_FILE
    return _told(verify_export(file, read_public_keys(public_key, kept=kept)), as_json=as_json)


def _told(verdict: AuditVerdict, *, as_json: bool) -> int:
    if as_json:
        print_json(verdict.told())
    else:
        _print(verdict)
    return 0 if verdict.is_whole else _FAILED


def _print(verdict: AuditVerdict) -> None:
    console = screen()
    if not verdict.segments and verdict.is_whole:
        say(console, "Nothing has been written down yet.")
        return
    for fault in verdict.faults[:_MAX_SHOWN]:
        place = "" if fault.line is None else f" (line {fault.line})"
        say(console, f"{fault.message}{place}", style="bold red")
    if len(verdict.faults) > _MAX_SHOWN:
        say(console, f"And {count(len(verdict.faults) - _MAX_SHOWN, 'more segment')} with something wrong.")
    states = Counter(each.state for each in verdict.segments)
    told = f"{count(verdict.records, 'record')} in {count(len(verdict.segments), 'segment')}"
    if verdict.is_whole:
        say(console, f"{told}: everything is what was written.", style="green")
    else:
        say(console, f"{told} up to what is wrong: the record is not whole.")
    if states["being-written"]:
        say(console, f"{count(states['being-written'], 'segment')} being written right now.", indent=2)
    if states["cut-off"] and verdict.is_whole:
        say(
            console,
            f"{count(states['cut-off'], 'segment')} without a closing record: its process was killed.",
            indent=2,
        )
    if states["pruned"]:
        say(console, f"{count(states['pruned'], 'segment')} removed by `toolcrib audit prune`.", indent=2)
    if verdict.unsigned:
        say(console, f"{count(verdict.unsigned, 'record')} at an end that no signature is about.", indent=2)
