"""`toolcrib pack list`, `show` and `export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypedDict

from toolcrib_cli.screen import print_json, printable, screen, tell
from toolcrib_contextpacks import ContextPacks, Listed, export_pack
from toolcrib_contextpacks.document import is_pack_id
from toolcrib_contextpacks.wire import list_json, pack_json
from toolcrib_core.wording import count
from toolcrib_runtime.errors import FileUnusable


class Which(TypedDict):
    """A pack, by its id or by its name."""

    pack_id: str | None
    name: str | None


def which(pack: str) -> Which:
    """The pack that a person means by a word."""
    return {"pack_id": pack, "name": None} if is_pack_id(pack) else {"pack_id": None, "name": pack}


def show_list(packs: ContextPacks, *, filters: dict[str, Any], as_json: bool) -> None:
    """Print a list of packs."""
    listed = packs.list(**filters)
    if as_json:
        print_json(list_json(listed))
        return
    if not listed.packs:
        tell("No context packs found.")
    else:
        _print_table(listed)
    if listed.has_more:
        tell("There are more: `--offset` shows them.")
    if listed.quarantined:
        tell(f"warning: {count(listed.quarantined, 'pack')} could not be read and were set aside.")


def show_pack(packs: ContextPacks, pack: str, *, options: dict[str, Any], every_page: bool, as_json: bool) -> None:
    """Print a pack, one page of it or all."""
    if as_json:
        found = packs.get(**which(pack), freshness_state=options.get("freshness_state"))
        print_json(pack_json(found, packs.freshness_of(found), with_document=True))
        return
    page = packs.read(**which(pack), **options)
    _print_markdown(page.text)
    while every_page and page.next_page_token is not None:
        state = options.get("freshness_state")
        page = packs.read(**which(pack), freshness_state=state, page_token=page.next_page_token)
        _print_markdown(page.text)
    if page.next_page_token is not None:
        tell("There is more: `--all` shows it, or `--page-token` with the `next_page_token` of the legend.")


def export_to(packs: ContextPacks, pack: str, *, output: Path | None, as_json: bool) -> None:
    """Write a pack to a file, or to standard output.

    Raises:
        FileUnusable: The file cannot be written.
    """
    found = packs.get(**which(pack))
    text = export_pack(found)
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as failure:
        raise unusable_file(output, failure) from None
    if as_json:
        print_json({"id": found.id, "revision": found.revision, "file": str(output)})
    else:
        tell(f"The pack {found.id} is in `{printable(str(output))}`.")


def unusable_file(file: Path, failure: OSError) -> FileUnusable:
    """The error for a file of the command line."""
    return FileUnusable(
        f"The file `{printable(str(file))}` cannot be used: {failure.strerror}.", hint="Name another file."
    )


def _print_table(listed: Listed) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("id", "name", "title", "status", "revision", "expires in"):
        table.add_column(column, overflow="fold", header_style="bold")
    for heading, fresh in listed.packs:
        expiry = fresh.remaining if fresh.state == "fresh" else f"{fresh.remaining} ({fresh.state.replace('_', ' ')})"
        table.add_row(
            heading.id,
            printable(heading.name or ""),
            printable(heading.title or ""),
            heading.status,
            str(heading.revision),
            expiry,
        )
    screen().print(table)


def _print_markdown(text: str) -> None:
    """In a terminal as it is meant to look, with its code in colour; else as it is."""
    console = screen()
    if not console.is_terminal:
        sys.stdout.write(text)
        return
    from rich.markdown import Markdown

    console.print(Markdown(text, code_theme="ansi_dark", hyperlinks=False))
