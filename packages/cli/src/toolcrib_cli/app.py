"""The `toolcrib` command: what can be asked for, and nothing heavier, so that help comes at once.

Every command is a thin edge; what it does is imported when it runs.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolcrib_cli import catalogue_commands
from toolcrib_cli.edge import Edge
from toolcrib_cli.groups import MARKUP, CommandsAndGroups
from toolcrib_cli.options import JsonOption, TimeoutOption, about_a_catalogue
from toolcrib_cli.version import version

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice

EXIT_CODES: Final = (
    "Exit codes: 0 all is fine; 1 something failed; 2 the command line or the configuration cannot be used; "
    "130 interrupted."
)

app = typer.Typer(
    name="toolcrib",
    cls=CommandsAndGroups,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)
_edge = Edge()
_WHO: Final = "Who is served"


class Mode(StrEnum):
    """What clients see of the servers behind."""

    GATEWAY = "gateway"
    PROXY = "proxy"
    TRANSPARENT = "transparent"


class Auth(StrEnum):
    """How clients over HTTP say who they are."""

    NONE = "none"
    TOKENS = "tokens"
    OAUTH = "oauth"


class LogLevel(StrEnum):
    """The least severity that is written to standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def main() -> None:
    """Run the command; whatever goes wrong is told in one or two lines on standard error."""
    with _edge:
        app(prog_name="toolcrib")


def _show_version(asked: bool) -> None:  # noqa: FBT001  # the form of a callback of typer
    if asked:
        typer.echo(f"toolcrib {version()}")
        raise typer.Exit


@app.callback()
def toolcrib(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an unforeseen error comes from.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """One small catalogue in front of all your MCP servers.

    Try it: toolcrib demo, then toolcrib search "what you want to do". Your own servers: toolcrib init.
    """
    _edge.debug = debug


@app.command()
@about_a_catalogue
def serve(
    toolboxes: Annotated[
        list[str],
        typer.Argument(
            metavar="[MODULE:NAME]...",
            help="Python tools to serve, as `--toolbox` names them.",
            default_factory=list,
            show_default=False,
        ),
    ],
    *,
    choice: Choice,
    mode: Annotated[
        Mode | None,
        typer.Option(
            metavar="MODE",
            help="What clients see: `gateway`, `proxy` or `transparent`. Without it, the `mode` of the configuration.",
        ),
    ] = None,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve over HTTP instead of standard input and output.")
    ] = None,
    toolsets: Annotated[
        bool,
        typer.Option("--toolsets", help="Show everybody the tools of their own toolsets, too.", rich_help_panel=_WHO),
    ] = False,
    principal: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who the client over standard input and output is.", rich_help_panel=_WHO),
    ] = None,
    auth: Annotated[
        Auth | None,
        typer.Option(
            metavar="KIND",
            help="What clients over HTTP need: `tokens` of toolcrib, `oauth` those of an authorization server, or "
            "`none`. Without it, `oauth` where the configuration has `http.oauth`.",
            rich_help_panel=_WHO,
        ),
    ] = None,
    admin_api: Annotated[
        bool,
        typer.Option("--admin-api", help="Serve the management API of toolsets, too.", rich_help_panel=_WHO),
    ] = False,
    log_level: Annotated[
        LogLevel,
        typer.Option(metavar="LEVEL", help="What is logged to standard error: debug, info, warning or error."),
    ] = LogLevel.WARNING,
) -> None:
    """Serve all servers of a configuration as one.

    An MCP client starts this itself and speaks to it over standard input and output; with `--http` it listens.
    `my_tools:toolbox` serves the Python tools of a module. Without a configuration it serves what the options add, and
    else the demo.

    Example: toolcrib serve --config mcp.json
    """
    from toolcrib_cli.serve_command import Clients, run_serve

    run_serve(
        choice=replace(choice, python_tools=(*toolboxes, *choice.python_tools), toolsets=toolsets or admin_api),
        mode=None if mode is None else mode.value,
        http=http,
        clients=Clients(
            toolsets=toolsets,
            principal=principal,
            auth=None if auth is None else auth.value,
            admin_api=admin_api,
        ),
        log_level=log_level.value,
    )


@app.command()
def init(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = Path(
        "mcp.json"
    ),
    sources: Annotated[
        list[Path],
        typer.Option(
            "--from",
            metavar="FILE",
            help="A client's file to take servers from, instead of looking for them; may be repeated.",
            default_factory=list,
            show_default=False,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be written.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make one configuration of the servers that your MCP clients have.

    Looks into the files of known clients, in this directory and for this user: Claude Desktop, Claude Code, VS Code,
    Cursor and others. Nothing of theirs is changed. Secrets are not written: a variable stands in the place of each.

    Example: toolcrib init --dry-run
    """
    from toolcrib_cli.init_command import run_init

    run_init(output=output, sources=sources, dry_run=dry_run, yes=yes, force=force, as_json=as_json)


@app.command()
@about_a_catalogue
def status(
    *,
    choice: Choice,
    timeout: TimeoutOption = 30,
    as_json: JsonOption = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show every change until Ctrl-C; with `--json`, one object a line.")
    ] = False,
) -> None:
    """Show the state of each server.

    If `toolcrib serve` is running for the configuration, its live state is shown; otherwise every server is started,
    asked for its tools and closed again. The exit code is 1 if one failed.

    Example: toolcrib status --config mcp.json --json
    """
    from toolcrib_cli.status_command import run_status

    raise typer.Exit(run_status(choice=choice, as_json=as_json, timeout=timeout, watch=watch))


@app.command()
@about_a_catalogue
def doctor(*, choice: Choice, timeout: TimeoutOption = 30, as_json: JsonOption = False) -> None:
    """Check everything that toolcrib needs.

    Looks at this Python, the installed parts, the sandbox that the machine gives, the token vocabulary, the state
    directory and its database, the configuration, every server, and the tools' texts, and says what to do about what
    is broken. The exit code is 1 if something is.

    Example: toolcrib doctor
    """
    from toolcrib_cli.doctor_command import run_doctor

    raise typer.Exit(run_doctor(choice=choice, timeout=timeout, as_json=as_json))


catalogue_commands.add_to(app)


@app.command()
def demo() -> None:
    """Show in one screen what toolcrib does.

    Example: toolcrib demo
    """
    from toolcrib_cli.demo_command import run_demo

    run_demo()
