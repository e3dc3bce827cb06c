"""The commands of `toolcrib pins`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_cli.options import JsonOption, TimeoutOption, about_a_catalogue

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice

ServerArgument = Annotated[
    str | None, typer.Argument(metavar="[SERVER]", help="Of this server only.", show_default=False)
]
ToolArgument = Annotated[
    str | None,
    typer.Argument(metavar="[TOOL]", help="This tool only, by the server's name for it.", show_default=False),
]
PrincipalOption = Annotated[
    str, typer.Option("--principal", metavar="NAME", help="The pins of this one's own servers.", show_default=False)
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Ask the servers for their tools first.")]
YesOption = Annotated[bool, typer.Option("--yes", help="Do it without being asked again.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@about_a_catalogue
def list_pins(
    server: ServerArgument = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every pin, also of tools that have not changed.")] = False,
    principal: PrincipalOption = "",
    fresh: FreshOption = False,
    timeout: TimeoutOption = 30,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """List the tools that are withheld, and how many are pinned.

    Example: toolcrib pins list --all
    """
    from toolcrib_cli.pins.opening import opened_desk
    from toolcrib_cli.pins.showing import show_pins

    with opened_desk(choice, principal=principal, fresh=timeout if fresh else None) as opened:
        show_pins(opened, server, every=every, as_json=as_json)


@app.command()
@about_a_catalogue
def diff(
    server: ServerArgument = None,
    tool: ToolArgument = None,
    *,
    principal: PrincipalOption = "",
    fresh: FreshOption = False,
    timeout: TimeoutOption = 30,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Show what has changed about the tools that are withheld, field by field.

    Example: toolcrib pins diff github create_issue
    """
    from toolcrib_cli.pins.differences import show_differences
    from toolcrib_cli.pins.opening import opened_desk

    with opened_desk(choice, principal=principal, fresh=timeout if fresh else None) as opened:
        show_differences(opened, server, tool, as_json=as_json)


@app.command()
@about_a_catalogue
def approve(
    server: ServerArgument = None,
    tool: ToolArgument = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Whatever waits, of every server.")] = False,
    digest: Annotated[
        str | None,
        typer.Option(metavar="SHA256", help="Only if the tool still has this digest, as `diff` shows it."),
    ] = None,
    yes: YesOption = False,
    principal: PrincipalOption = "",
    fresh: FreshOption = False,
    timeout: TimeoutOption = 30,
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Trust tools as they are now: what has changed is shown, you are asked, and then they are served again.

    Example: toolcrib pins approve github create_issue
    """
    from toolcrib_cli.pins.deciding import approve_tools
    from toolcrib_cli.pins.opening import opened_desk

    with opened_desk(choice, principal=principal, fresh=timeout if fresh else None) as opened:
        approve_tools(choice, opened, server, tool, every=every, digest=digest, sure=yes, as_json=as_json)


@app.command()
@about_a_catalogue
def reset(
    server: ServerArgument = None,
    tool: ToolArgument = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="The pins of every server.")] = False,
    yes: YesOption = False,
    principal: PrincipalOption = "",
    as_json: JsonOption = False,
    choice: Choice,
) -> None:
    """Forget pins: the tools are pinned anew, as their servers list them next.

    Example: toolcrib pins reset github
    """
    from toolcrib_cli.pins.deciding import reset_pins
    from toolcrib_cli.pins.opening import opened_desk

    with opened_desk(choice, principal=principal) as opened:
        reset_pins(choice, opened, server, tool, every=every, sure=yes, as_json=as_json)


@app.command()
@about_a_catalogue
def lock(
    *, fresh: FreshOption = False, timeout: TimeoutOption = 30, as_json: JsonOption = False, choice: Choice
) -> None:
    """Write `toolcrib.lock.json` beside the configuration: whoever has it serves exactly these tools.

    Example: toolcrib pins lock --fresh
    """
    from toolcrib_cli.pins.locking import lock_tools
    from toolcrib_cli.pins.opening import opened_desk

    with opened_desk(choice, fresh=timeout if fresh else None, reads_lock=False) as opened:
        lock_tools(opened, as_json=as_json)
