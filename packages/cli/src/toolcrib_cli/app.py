"""The `toolcrib` command: what can be asked for, and nothing heavier, so that help comes at once.

Every command is a thin edge; what it does is imported when it runs.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toolcrib_cli.edge import Edge
from toolcrib_cli.version import version

_CONFIG_HELP = (
    "The file with your MCP servers. Without it: $TOOLCRIB_CONFIG, ./mcp.json, ./.mcp.json, ./.vscode/mcp.json."
)
_STATE_HELP = (
    "Where known tools, live health and large results are kept. Without it: $TOOLCRIB_STATE_DIR, else the user's state "
    "directory."
)

app = typer.Typer(
    name="toolcrib",
    help="One small catalogue in front of all your MCP servers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_edge = Edge()


class Mode(StrEnum):
    """What clients see of the servers behind."""

    GATEWAY = "gateway"
    PROXY = "proxy"
    TRANSPARENT = "transparent"


class LogLevel(StrEnum):
    """The least severity that is written to standard error."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


ConfigOption = Annotated[Path | None, typer.Option("--config", "-c", metavar="FILE", help=_CONFIG_HELP)]
StateOption = Annotated[Path | None, typer.Option("--state-dir", metavar="DIR", help=_STATE_HELP)]


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
    """One small catalogue in front of all your MCP servers."""
    _edge.debug = debug


@app.command()
def serve(
    *,
    config: ConfigOption = None,
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
    state_dir: StateOption = None,
    log_level: Annotated[
        LogLevel,
        typer.Option(metavar="LEVEL", help="What is logged to standard error: debug, info, warning or error."),
    ] = LogLevel.WARNING,
) -> None:
    """Serve the servers of a configuration as one.

    An MCP client starts this itself and speaks to it over standard input and output; with `--http` it listens.

    Example: toolcrib serve --config mcp.json
    """
    from toolcrib_cli.serve_command import run_serve

    run_serve(
        config=config,
        mode=None if mode is None else mode.value,
        http=http,
        state_dir=state_dir,
        log_level=log_level.value,
    )


@app.command()
def init(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The file to write.")] = Path(
        "mcp.json"
    ),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make one configuration of the servers that your MCP clients have.

    Looks into the files of known clients, in this directory and for this user. Secrets are not written: a variable
    stands in the place of each.

    Example: toolcrib init --output mcp.json
    """
    from toolcrib_cli.init_command import run_init

    run_init(output=output, force=force, as_json=as_json)


@app.command()
def status(
    *,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=600, metavar="SECONDS", help="How long each server may take to start.")
    ] = 30,
    state_dir: StateOption = None,
) -> None:
    """Show how each server of a configuration is.

    Where `toolcrib serve` is running for the configuration, its live health is shown; else every server is started,
    asked for its tools and closed again. The exit code is 0 if all are fine, 1 if one failed, 2 if the configuration
    cannot be used.

    Example: toolcrib status --config mcp.json --json
    """
    from toolcrib_cli.status_command import run_status

    code = run_status(config=config, as_json=as_json, timeout=timeout, state_dir=state_dir)
    raise typer.Exit(code)
