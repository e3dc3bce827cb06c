"""The commands of `toolcrib audit`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_cli.options import JsonOption, about_a_catalogue

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice

_WHICH = "Which records"

app = typer.Typer(no_args_is_help=True)


class Format(StrEnum):
    """What an export is written as."""

    JSONL = "jsonl"
    CSV = "csv"


@app.command()
@about_a_catalogue
def tail(
    *,
    number: Annotated[int, typer.Option("--number", "-n", min=1, max=100_000, metavar="N", help="How many.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until interrupted.")] = False,
    server: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Only of these servers.", rich_help_panel=_WHICH)
    ] = None,
    tool: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Only of tools with such ids.", rich_help_panel=_WHICH)
    ] = None,
    principal: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Only what these have called.", rich_help_panel=_WHICH)
    ] = None,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Show the last calls: when, how they ended, how long they took, who called which tool. Times are UTC.

    Example: toolcrib audit tail -n 50 --tool "github:*"
    """
    from toolcrib_cli.audit.opening import audit_folder
    from toolcrib_cli.audit.showing import show_tail
    from toolcrib_mcp.audit import RecordFilter

    wanted = RecordFilter(server=server, tool=tool, principal=principal)
    show_tail(audit_folder(choice), number=number, wanted=wanted, follow=follow, as_json=as_json)


@app.command()
@about_a_catalogue
def verify(
    *,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="An export to check, instead of what is kept here.")
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The public key. Without it: `audit.pub` of the state directory."),
    ] = None,
    anchor: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An anchor: find also what was taken back to a state from before it."),
    ] = None,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Check that nothing was changed, removed, put in, moved or cut off; the first record that is wrong is named.

    The exit code is 1 if something is. That files and database were both taken back to an earlier state is found only
    with an anchor, which `toolcrib audit anchor` makes.

    Example: toolcrib audit verify
    """
    from toolcrib_cli.audit.checking import check_export, check_kept

    if file is not None:
        if anchor is not None:
            raise typer.BadParameter("An export is checked without an anchor.", param_hint="--anchor")
        raise typer.Exit(check_export(file, choice, public_key=public_key, as_json=as_json))
    raise typer.Exit(check_kept(choice, public_key=public_key, anchor=anchor, as_json=as_json))


@app.command()
@about_a_catalogue
def anchor(
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file to write. Without it: the screen.")
    ] = None,
    choice: Choice,
) -> None:
    """Make an anchor: a signed line that says how far the audit has come. Keep it on another machine.

    `toolcrib audit verify --anchor FILE` then finds also that files and database were taken back together.

    Example: toolcrib audit anchor | ssh vault 'cat > toolcrib.anchor'
    """
    from toolcrib_cli.audit.anchoring import write_anchor

    write_anchor(choice, output)


@app.command()
@about_a_catalogue
def export(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")],
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="From this date or time on, in UTC.", rich_help_panel=_WHICH)
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Up to this date or time, in UTC.", rich_help_panel=_WHICH)
    ] = None,
    form: Annotated[
        Format,
        typer.Option("--format", metavar="FORM", help="`jsonl`, which proves itself, or `csv` for spreadsheets."),
    ] = Format.JSONL,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Write records into one file, which anybody can check with the public key alone.

    Example: toolcrib audit export --since 2026-01-01 -o january.jsonl
    """
    from toolcrib_cli.audit.exporting import Times, write_export

    times = Times.read(since, until)
    write_export(choice, output, times, as_csv=form is Format.CSV, force=force, as_json=as_json)


@app.command()
@about_a_catalogue
def prune(
    *,
    before: Annotated[str, typer.Option(metavar="TIME", help="What ended before this date or time, in UTC.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Remove old records; a signed note stays in their place, so that the rest is still known to be whole.

    Whole files are removed, each with the calls of one process, once all that is in one is old enough.

    Example: toolcrib audit prune --before 2026-01-01 --yes
    """
    from toolcrib_cli.audit.pruning import remove_old

    remove_old(choice, before=before, yes=yes, as_json=as_json)
