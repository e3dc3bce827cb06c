"""The commands of `toolcrib toolset`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolcrib_cli.options import JsonOption

_LOOK = "Which toolsets"
_KEY = "Where the key goes, in place of what the document says"

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="FILE|URL",
        help="The database of toolsets: a file, or an address that begins with `postgresql://`. Without it: "
        "$TOOLCRIB_TOOLSETS, else `toolsets.db` in the state directory.",
        rich_help_panel=_LOOK,
    ),
]
UserOption = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        help="Whose toolsets. Without it: $TOOLCRIB_PRINCIPAL, else `local`.",
        rich_help_panel=_LOOK,
    ),
]
InstanceArgument = Annotated[str, typer.Argument(metavar="INSTANCE", help="The name or the id of an instance.")]
TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="A type, as `toolcrib toolset types` lists them.")]
KeyFileOption = Annotated[
    str | None,
    typer.Option(
        "--key-file", metavar="FILE", help="Where the key is: a file, or `-` for standard input. Without it: a prompt."
    ),
]

app = typer.Typer(no_args_is_help=True)


@app.command()
def types(*, as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """List the types that there are, and whether each is switched on for everybody.

    Example: toolcrib toolset types
    """
    from toolcrib_cli.toolset.switching import show_types

    show_types(database, as_json=as_json)


@app.command()
def enable(toolset_type: TypeArgument, *, as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Switch a type on for everybody.

    Example: toolcrib toolset enable builtin-exa-web-search
    """
    from toolcrib_cli.toolset.switching import switch

    switch(database, toolset_type, enabled=True, as_json=as_json)


@app.command()
def disable(toolset_type: TypeArgument, *, as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """Switch a type off for everybody; the next call of any instance is refused.

    Example: toolcrib toolset disable builtin-exa-web-search
    """
    from toolcrib_cli.toolset.switching import switch

    switch(database, toolset_type, enabled=False, as_json=as_json)


@app.command()
def create(
    toolset_type: TypeArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="1 to 24 letters, digits and hyphens.")],
    *,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Leave it switched off for now.")] = False,
    key_file: KeyFileOption = None,
    settings: Annotated[
        Path | None, typer.Option("--settings", metavar="FILE", help="What the type can be set to, as JSON.")
    ] = None,
    as_json: JsonOption = False,
    user: UserOption = None,
    database: DatabaseOption = None,
) -> None:
    """Make an instance of a type, with a key of your own.

    Example: toolcrib toolset create builtin-exa-web-search my-search --key-file ~/exa.key
    """
    from toolcrib_cli.toolset.changing import create_instance

    create_instance(
        database,
        user,
        toolset_type=toolset_type,
        name=name,
        description=description,
        enabled=not off,
        key_file=key_file,
        settings=settings,
        as_json=as_json,
    )


@app.command("import-openapi")
def import_openapi(
    document: Annotated[
        Path, typer.Argument(metavar="FILE", help="An OpenAPI document (2.0, 3.0, 3.1, 3.2) in JSON or YAML.")
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="1 to 24 letters, digits and hyphens; only `--dry-run` needs none.", show_default=False
        ),
    ] = None,
    *,
    only: Annotated[
        list[str],
        typer.Option(
            metavar="OPERATION",
            help="Take only this operation: its name, `operationId`, or a pattern such as `issues_*`; may be repeated.",
            default_factory=list,
            show_default=False,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the operations and make nothing.")] = False,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the service is, in place of the document's servers.")
    ] = None,
    variable: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE",
            help="A variable in the address of the document's servers; may be repeated.",
            default_factory=list,
            show_default=False,
        ),
    ],
    header: Annotated[
        str | None, typer.Option(metavar="NAME", help="The header for the key.", rich_help_panel=_KEY)
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="What stands before the key in the header: `Bearer `, `Token `, `ApiKey ` or nothing.",
            rich_help_panel=_KEY,
        ),
    ] = None,
    query: Annotated[
        str | None, typer.Option(metavar="NAME", help="The query parameter for the key.", rich_help_panel=_KEY)
    ] = None,
    cookie: Annotated[
        str | None, typer.Option(metavar="NAME", help="The cookie for the key.", rich_help_panel=_KEY)
    ] = None,
    basic: Annotated[
        bool,
        typer.Option("--basic", help="HTTP Basic authentication; the key is `user:password`.", rich_help_panel=_KEY),
    ] = False,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")] = None,
    key_file: KeyFileOption = None,
    as_json: JsonOption = False,
    user: UserOption = None,
    database: DatabaseOption = None,
) -> None:
    """Make an instance of an OpenAPI document: each operation is a tool, and those that cannot be one are listed.

    Example: toolcrib toolset import-openapi tickets.yaml tickets --key-file tickets.key
    """
    from toolcrib_cli.toolset.importing import import_document

    import_document(
        database,
        user,
        document=document,
        name=name,
        only=only,
        base_url=base_url,
        variables=variable,
        key={"header": header, "prefix": prefix, "query": query, "cookie": cookie, "basic": basic},
        description=description,
        key_file=key_file,
        dry_run=dry_run,
        as_json=as_json,
    )


@app.command("list")
def list_instances(*, as_json: JsonOption = False, user: UserOption = None, database: DatabaseOption = None) -> None:
    """List your instances.

    Example: toolcrib toolset list
    """
    from toolcrib_cli.toolset.showing import show_list

    show_list(database, user, as_json=as_json)


@app.command()
def show(
    instance: InstanceArgument, *, as_json: JsonOption = False, user: UserOption = None, database: DatabaseOption = None
) -> None:
    """Show an instance and its tools; whether it has a key, and never the key.

    Example: toolcrib toolset show my-search
    """
    from toolcrib_cli.toolset.showing import show_instance

    show_instance(database, user, instance, as_json=as_json)


@app.command()
def update(
    instance: InstanceArgument,
    *,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Another name.")] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="Another description.")] = None,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Switch it on or off.", show_default=False)] = None,
    key_file: KeyFileOption = None,
    new_key: Annotated[bool, typer.Option("--new-key", help="Ask for another key at a prompt.")] = False,
    clear_key: Annotated[bool, typer.Option("--clear-key", help="Take the key away.")] = False,
    as_json: JsonOption = False,
    user: UserOption = None,
    database: DatabaseOption = None,
) -> None:
    """Change an instance; what is not named stays.

    Example: toolcrib toolset update my-search --off
    """
    from toolcrib_cli.toolset.changing import update_instance

    update_instance(
        database,
        user,
        instance,
        name=name,
        description=description,
        enabled=on,
        key_file=key_file,
        new_key=new_key,
        clear_key=clear_key,
        as_json=as_json,
    )


@app.command()
def delete(
    instance: InstanceArgument, *, as_json: JsonOption = False, user: UserOption = None, database: DatabaseOption = None
) -> None:
    """Delete an instance with its key.

    Example: toolcrib toolset delete my-search
    """
    from toolcrib_cli.toolset.changing import delete_instance

    delete_instance(database, user, instance, as_json=as_json)


@app.command()
def run(
    instance: InstanceArgument,
    method: Annotated[str, typer.Argument(metavar="METHOD", help="One of its tools.")],
    arguments: Annotated[
        str, typer.Option("--args", metavar="JSON", help="The arguments: JSON, `@FILE`, or `-` for standard input.")
    ] = "{}",
    *,
    as_json: JsonOption = False,
    user: UserOption = None,
    database: DatabaseOption = None,
) -> None:
    """Call a tool of an instance with its key, and print the result.

    Example: toolcrib toolset run my-search search --args '{"query": "tool cribs"}'
    """
    from toolcrib_cli.toolset.showing import run_method

    raise typer.Exit(run_method(database, user, instance, method, arguments, as_json=as_json))


@app.command("init-key")
def init_key(
    *,
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where it goes. Without it: `master.key` in the state directory."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make the master key that all keys are sealed under, in a file that only you can read.

    Example: toolcrib toolset init-key
    """
    from toolcrib_cli.toolset.keeping import make_key

    make_key(file, as_json=as_json)


@app.command("rotate-key")
def rotate_key(
    new_key_file: Annotated[Path, typer.Argument(metavar="FILE", help="The file of the new master key.")],
    *,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Seal every key anew under another master key; it may be stopped, and goes on when it is called again.

    Example: toolcrib toolset rotate-key new-master.key
    """
    from toolcrib_cli.toolset.keeping import rotate_master_key

    rotate_master_key(database, new_key_file, as_json=as_json)
