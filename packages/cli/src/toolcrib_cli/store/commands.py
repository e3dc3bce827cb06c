"""The commands of `toolcrib store`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolcrib_cli.options import JsonOption

_HELP = "A file, or an address that begins with `postgresql://`. An address with a password belongs into the variable."

DatabaseArgument = Annotated[
    str, typer.Argument(metavar="DATABASE", envvar="TOOLCRIB_DATABASE", help=_HELP, show_default=False)
]

app = typer.Typer(no_args_is_help=True)


@app.command()
def check(
    database: DatabaseArgument,
    *,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Move rows that cannot be read out of the way; nothing is deleted.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Look at every row and every byte of a store; the exit code is 1 if something is not what was written.

    Example: toolcrib store check ~/.local/state/toolcrib/packs.db
    """
    from toolcrib_cli.store.looking import run_check

    raise typer.Exit(run_check(database, move=quarantine, as_json=as_json))


@app.command()
def quarantine(
    database: DatabaseArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many rows at most.")] = 50,
    after: Annotated[int, typer.Option(min=0, metavar="ID", help="Go on after this row.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with what is in the rows.")] = False,
) -> None:
    """Show the rows that could not be read and were moved out of the way.

    Example: toolcrib store quarantine packs.db --json
    """
    from toolcrib_cli.store.looking import show_quarantine

    show_quarantine(database, limit=limit, after=after, as_json=as_json)


@app.command()
def backup(
    database: DatabaseArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the copy goes.")],
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that is there already.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Copy a store to a file while others use it.

    Example: toolcrib store backup packs.db packs-monday.db
    """
    from toolcrib_cli.store.changing import run_backup

    run_backup(database, file, replace=replace, as_json=as_json)


@app.command()
def restore(
    copy: Annotated[Path, typer.Argument(metavar="COPY", help="A copy that `backup` has made.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The store that it takes the place of.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Put a copy in the place of a store that nobody uses; the old file is kept beside it.

    Example: toolcrib store restore packs-monday.db packs.db
    """
    from toolcrib_cli.store.changing import run_restore

    run_restore(copy, file, as_json=as_json)


@app.command()
def migrate(
    database: DatabaseArgument,
    *,
    line: Annotated[str, typer.Option(metavar="NAME", help="Whose tables, with `--to`.")] = "store",
    to: Annotated[
        str | None, typer.Option(metavar="FORM", help="An earlier form to go back to; `base` is none at all.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Go back although that deletes what the form cannot hold.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring a store to the newest form, or back to an earlier one.

    Whoever opens a store does the former anyhow; the latter is for going back to an older toolcrib.

    Example: toolcrib store migrate packs.db
    """
    from toolcrib_cli.store.changing import run_migrate

    run_migrate(database, line=line, to=to, sure=yes, as_json=as_json)


@app.command()
def sweep(database: DatabaseArgument, *, as_json: JsonOption = False) -> None:
    """Forget what has expired, at once; whoever serves does it in the background.

    Example: toolcrib store sweep packs.db
    """
    from toolcrib_cli.store.changing import run_sweep

    run_sweep(database, as_json=as_json)
