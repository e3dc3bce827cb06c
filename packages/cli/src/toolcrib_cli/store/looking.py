"""`toolcrib store check` and `quarantine`: what is in a store, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from toolcrib_cli.edge import FAILED
from toolcrib_cli.screen import print_json, printable, screen, working
from toolcrib_cli.store.opening import opened
from toolcrib_contextpacks import PACKS_LINE
from toolcrib_core.wording import count
from toolcrib_store import Check, Store, StoreReport, check_store, quarantined, wrong_rows


def run_check(database: str, *, move: bool, as_json: bool) -> int:
    """Look through a store, print what was found, and give the exit code.

    Raises:
        StoreError: The store cannot be looked through.
    """
    with working("Looking at every row…"), opened(database) as store:
        report = check_store(store, more=_checks(store), move=move)
    if as_json:
        print_json({"ok": report.ok, **asdict(report)})
    else:
        _show(report)
    return 0 if report.ok else FAILED


def show_quarantine(database: str, *, limit: int, after: int, as_json: bool) -> None:
    """Print what is in quarantine.

    Raises:
        StoreError: The store cannot be read.
    """
    with opened(database) as store:
        rows = quarantined(store, limit=limit, after=after)
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    out = screen()
    for row in rows:
        moved = datetime.fromtimestamp(row.moved_at, tz=UTC).isoformat(timespec="seconds")
        out.print(printable(f"{row.id}  {moved}  {row.source}  {row.reason}"))
    if not rows:
        out.print("Nothing is in quarantine.")


def _show(report: StoreReport) -> None:
    out = screen()
    forms = ", ".join(f"{name} {form}" for name, form in report.revisions.items())
    out.print(printable(f"{report.name} ({report.dialect}): {forms}"))
    for table, number in report.rows.items():
        if number:
            out.print(printable(f"  {table}: {count(number, 'row')}"))
    for problem in report.problems:
        out.print(printable(problem))
    if report.moved:
        out.print(f"Moved into quarantine: {count(report.moved, 'row')}.")
    found = f"{count(len(report.problems), 'problem')} found." if report.problems else "Everything is what was written."
    out.print(found)


def _checks(store: Store) -> Iterable[Check]:
    if PACKS_LINE in store.lines:
        from toolcrib_contextpacks.tables import PACKS

        yield lambda connection: wrong_rows(connection, PACKS, PACKS.c.id, is_right=_is_pack)


def _is_pack(row: Mapping[Any, Any]) -> bool:
    from toolcrib_contextpacks.errors import PackTooNew
    from toolcrib_contextpacks.rows import pack_of

    # What a newer version has written, that one can read.
    with suppress(PackTooNew):
        pack_of(row)
    return True
