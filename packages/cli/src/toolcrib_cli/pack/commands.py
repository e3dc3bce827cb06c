"""The commands of `toolcrib pack`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolcrib_cli.options import JsonOption

if TYPE_CHECKING:
    from toolcrib_contextpacks.document import Status as PackStatus

_LOOK = "Which packs"

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="FILE|URL",
        help="The database of packs: a file, or an address that begins with `postgresql://`. Without it: "
        "$TOOLCRIB_PACKS, else `packs.db` in the state directory.",
        rich_help_panel=_LOOK,
    ),
]
RootOption = Annotated[
    Path | None,
    typer.Option(
        "--source-root",
        metavar="DIR",
        help="What references are relative to. Without it: $CONTEXT_PACK_SOURCE_ROOT, else this directory.",
        rich_help_panel=_LOOK,
    ),
]
PackArgument = Annotated[str, typer.Argument(metavar="PACK", help="The id or the name of a pack.")]
RevisionOption = Annotated[
    int | None, typer.Option("--revision", min=1, metavar="N", help="Refuse if the pack has another revision by now.")
]

app = typer.Typer(no_args_is_help=True)


class Status(StrEnum):
    """Whether a pack may still change."""

    DRAFT = "draft"
    FINALIZED = "finalized"


class Freshness(StrEnum):
    """How long a pack still lives."""

    FRESH = "fresh"
    EXPIRING_SOON = "expiring_soon"
    EXPIRED = "expired"


class Profile(StrEnum):
    """For whom a pack is shown."""

    ORCHESTRATOR = "orchestrator"
    EXECUTOR = "executor"
    REVIEWER = "reviewer"


@app.command("list")
def list_packs(
    *,
    status: Annotated[Status | None, typer.Option(metavar="STATUS", help="Only `draft` or `finalized` packs.")] = None,
    freshness: Annotated[
        Freshness | None,
        typer.Option(metavar="STATE", help="Only packs that are `fresh`, `expiring_soon` or `expired`."),
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only packs with this text in title, name, brief or tags.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="N", help="How many at most.")] = 50,
    offset: Annotated[int, typer.Option(min=0, metavar="N", help="How many to skip.")] = 0,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """List packs, the latest first; expired ones only when asked for.

    Example: toolcrib pack list --status finalized
    """
    from toolcrib_cli.pack.opening import opened_packs
    from toolcrib_cli.pack.reading import show_list

    filters: dict[str, Any] = {"status": status and status.value, "freshness_state": freshness and freshness.value}
    with opened_packs(database) as packs:
        show_list(packs, filters=filters | {"query": query, "limit": limit, "offset": offset}, as_json=as_json)


@app.command()
def show(
    pack: PackArgument,
    *,
    profile: Annotated[
        Profile | None,
        typer.Option(metavar="PROFILE", help="`orchestrator` (the default), `executor`, or `reviewer` with all code."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, max=500, metavar="N", help="How many chunks at most.")] = None,
    offset: Annotated[int, typer.Option(min=0, metavar="N", help="How many chunks to skip.")] = 0,
    freshness: Annotated[
        Freshness | None,
        typer.Option(
            metavar="STATE", help="Only if it is `fresh`, `expiring_soon` or `expired`; a name means such a pack."
        ),
    ] = None,
    page_token: Annotated[str | None, typer.Option(metavar="TOKEN", help="Go on from an earlier page.")] = None,
    contains: Annotated[str | None, typer.Option(metavar="TEXT", help="Only chunks with this text in them.")] = None,
    every_page: Annotated[bool, typer.Option("--all", help="Show every page.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole pack as JSON; `document` can be written back as it is.")
    ] = False,
    database: DatabaseOption = None,
    source_root: RootOption = None,
) -> None:
    """Show a pack.

    Example: toolcrib pack show pk_abcd2345 --profile reviewer
    """
    from toolcrib_cli.pack.opening import opened_packs
    from toolcrib_cli.pack.reading import show_pack

    options = {
        "profile": profile and profile.value,
        "freshness_state": freshness and freshness.value,
        "limit": limit,
        "offset": offset,
        "page_token": page_token,
        "contains": contains,
    }
    with opened_packs(database, source_root) as packs:
        show_pack(packs, pack, options=options, every_page=every_page, as_json=as_json)


@app.command()
def write(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The document as JSON; `-` is standard input.")],
    *,
    pack: Annotated[
        str | None, typer.Option("--pack", metavar="PACK", help="Replace this pack instead of making one.")
    ] = None,
    revision: RevisionOption = None,
    validate_only: Annotated[
        bool, typer.Option("--validate-only", help="Check the document, and keep nothing.")
    ] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    source_root: RootOption = None,
) -> None:
    """Make a pack of a document, or replace all of one.

    Example: toolcrib pack write pack.json --pack pk_abcd2345 --revision 3
    """
    from toolcrib_cli.pack.changing import write_file
    from toolcrib_cli.pack.opening import opened_packs

    with opened_packs(database, source_root) as packs:
        write_file(packs, file, pack=pack, revision=revision, validate_only=validate_only, as_json=as_json)


@app.command()
def edit(
    pack: PackArgument,
    *,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
    source_root: RootOption = None,
) -> None:
    """Edit the document of a pack in $EDITOR; it is refused if somebody else was quicker.

    Example: toolcrib pack edit auth-fix
    """
    from toolcrib_cli.pack.changing import edit_pack
    from toolcrib_cli.pack.opening import opened_packs

    with opened_packs(database, source_root) as packs:
        edit_pack(packs, pack, as_json=as_json)


def _command_that_sets(status: PackStatus, *, name: str, about: str) -> None:
    @app.command(name, help=about)
    def set_it(
        pack: PackArgument,
        *,
        revision: RevisionOption = None,
        as_json: JsonOption = False,
        database: DatabaseOption = None,
        source_root: RootOption = None,
    ) -> None:
        from toolcrib_cli.pack.changing import set_status
        from toolcrib_cli.pack.opening import opened_packs

        with opened_packs(database, source_root) as packs:
            set_status(packs, pack, status, revision=revision, as_json=as_json)


_command_that_sets(
    "finalized",
    name="finalize",
    about="""Check a pack, and finalize it.

    Example: toolcrib pack finalize pk_abcd2345
    """,
)
_command_that_sets(
    "draft",
    name="reopen",
    about="""Make a finalized pack a draft again.

    Example: toolcrib pack reopen pk_abcd2345
    """,
)


@app.command()
def ttl(
    pack: PackArgument,
    *,
    minutes: Annotated[
        int | None, typer.Option(min=1, max=2_628_000, metavar="N", help="Live so long from now.")
    ] = None,
    extend: Annotated[
        int | None, typer.Option(min=1, max=2_628_000, metavar="N", help="Live so much longer than so far.")
    ] = None,
    revision: RevisionOption = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Change how long a pack lives.

    Example: toolcrib pack ttl pk_abcd2345 --extend 60
    """
    from toolcrib_cli.pack.changing import set_ttl
    from toolcrib_cli.pack.opening import opened_packs

    with opened_packs(database) as packs:
        set_ttl(packs, pack, minutes=minutes, extend=extend, revision=revision, as_json=as_json)


@app.command()
def delete(
    pack: PackArgument,
    *,
    revision: RevisionOption = None,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Delete a pack.

    Example: toolcrib pack delete pk_abcd2345
    """
    from toolcrib_cli.pack.changing import delete_pack
    from toolcrib_cli.pack.opening import opened_packs

    with opened_packs(database) as packs:
        delete_pack(packs, pack, revision=revision, as_json=as_json)


@app.command()
def export(
    pack: PackArgument,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file; without it, standard output.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON about a file that was written.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Write a pack to a file as JSON, with its id, revision and times.

    Example: toolcrib pack export pk_abcd2345 --output handoff.json
    """
    from toolcrib_cli.pack.opening import opened_packs
    from toolcrib_cli.pack.reading import export_to

    with opened_packs(database) as packs:
        export_to(packs, pack, output=output, as_json=as_json)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `export` wrote; `-` is standard input.")],
    *,
    time: Annotated[
        int | None,
        typer.Option("--ttl", min=1, max=2_628_000, metavar="N", help="Live so many minutes from now."),
    ] = None,
    shares_name: Annotated[
        bool, typer.Option("--share-name", help="Keep its name even if another pack that has not expired has it.")
    ] = False,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Add a pack that was exported: the same pack, with its id, revision and times.

    Example: toolcrib pack import handoff.json
    """
    from toolcrib_cli.pack.changing import import_file
    from toolcrib_cli.pack.opening import opened_packs

    with opened_packs(database) as packs:
        import_file(packs, file, ttl=time, shares_name=shares_name, as_json=as_json)


@app.command()
def serve(
    *,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve over HTTP instead of standard input and output.")
    ] = None,
    database: DatabaseOption = None,
    source_root: RootOption = None,
) -> None:
    """Serve the tools `input` and `output` to an MCP client.

    Example: toolcrib pack serve --database handoff.db
    """
    import asyncio

    from toolcrib_cli.pack.serving import serve_packs
    from toolcrib_cli.serve_command import read_address

    front = None if http is None else read_address(http)
    asyncio.run(serve_packs(database=database, source_root=source_root, http=front))
