"""The commands of `toolcrib token`: who may come in over HTTP."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from toolcrib_cli.options import JsonOption

DatabaseOption = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="FILE|URL",
        help="The database of toolsets and tokens. Without it: $TOOLCRIB_TOOLSETS, else `toolsets.db` in the state "
        "directory.",
    ),
]

app = typer.Typer(no_args_is_help=True)


class Role(StrEnum):
    """What the holder of a token may do."""

    USER = "user"
    ADMIN = "admin"


@app.command()
def create(
    principal: Annotated[str, typer.Argument(metavar="PRINCIPAL", help="Who it is for, as `ada@example.org`.")],
    *,
    role: Annotated[Role, typer.Option(metavar="ROLE", help="`user`, or `admin`, who may move switches.")] = Role.USER,
    toolset_type: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="Limit it to this toolset type; may be repeated."),
    ] = None,
    days: Annotated[float | None, typer.Option(min=0.001, metavar="DAYS", help="How long it is good.")] = None,
    note: Annotated[str, typer.Option(metavar="TEXT", help="Where it is used.")] = "",
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Make an access token, and print it this one time.

    Example: toolcrib token create ada@example.org --days 90 --note laptop
    """
    from toolcrib_cli.token.changing import create_token

    create_token(
        database, principal, role=role.value, types=toolset_type or None, days=days, note=note, as_json=as_json
    )


@app.command("list")
def list_tokens(*, as_json: JsonOption = False, database: DatabaseOption = None) -> None:
    """List the tokens that were made; never their texts, which are kept nowhere.

    Example: toolcrib token list
    """
    from toolcrib_cli.token.changing import show_tokens

    show_tokens(database, as_json=as_json)


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a token, as `toolcrib token list` has it.")],
    *,
    as_json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """End a token: the next request that bears it is refused.

    Example: toolcrib token revoke 3f9a01bc
    """
    from toolcrib_cli.token.changing import revoke_token

    revoke_token(database, token_id, as_json=as_json)
