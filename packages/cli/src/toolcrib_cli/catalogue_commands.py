"""The commands that look into a catalogue and use its tools: thin edges, as those of `app`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from toolcrib_cli.options import FreshOption, JsonOption, TimeoutOption, about_a_catalogue

if TYPE_CHECKING:
    from toolcrib_cli.asking import Choice

LimitOption = Annotated[
    int | None, typer.Option("--limit", "-n", min=1, max=50, metavar="N", help="Show at most so many.")
]
SchemaOption = Annotated[bool, typer.Option("--schema", help="Show the arguments of the first three, too.")]


class Provider(StrEnum):
    """For whom definitions are written."""

    OPENAI = "openai"
    OPENAI_CHAT = "openai-chat"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    CLAUDE_AGENT = "claude-agent"
    MCP = "mcp"
    NEUTRAL = "neutral"


def add_to(app: typer.Typer) -> None:
    """Add these commands, in this order."""
    for command in (browse, search, call, view, export, stats):
        app.command()(command)


@about_a_catalogue
def browse(
    path: Annotated[str, typer.Argument(metavar="PATH", help="Where to look, as in `/` or `/files`.")] = "/",
    *,
    choice: Choice,
    limit: LimitOption = None,
    schema: SchemaOption = False,
    fresh: FreshOption = False,
    timeout: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Look around in the tools by path.

    Example: toolcrib browse /files
    """
    from toolcrib_cli.browse_command import run_browse

    run_browse(choice=choice, path=path, limit=limit, schema=schema, fresh=fresh, timeout=timeout, as_json=as_json)


@about_a_catalogue
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS", help="What you want to do, in plain words.")],
    *,
    choice: Choice,
    limit: LimitOption = None,
    schema: SchemaOption = False,
    fresh: FreshOption = False,
    timeout: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Find tools by what you want to do.

    Example: toolcrib search who borrowed a saw
    """
    from toolcrib_cli.browse_command import run_browse

    run_browse(
        choice=choice,
        query=" ".join(words),
        limit=limit,
        schema=schema,
        fresh=fresh,
        timeout=timeout,
        as_json=as_json,
    )


@about_a_catalogue
def call(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The id of a tool, or its name where only one has it.")],
    pairs: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE",
            help="Arguments, typed by the tool's schema; `KEY:=JSON` takes the value as JSON.",
            default_factory=list,
            show_default=False,
        ),
    ],
    *,
    choice: Choice,
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON", help="The arguments as a JSON object, as `@FILE`, or `-` for stdin."),
    ] = None,
    timeout: TimeoutOption = 30,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run it without asking, where the policy asks.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Call a tool and print its result.

    Arguments are checked before anything is run. A large result is kept: a summary is printed, with a handle for
    `toolcrib view`. The exit code is 1 if the tool failed.

    Example: toolcrib call database:query sql="SELECT * FROM loans"
    """
    from toolcrib_cli.call_command import run_call

    code = run_call(choice=choice, tool=tool, pairs=pairs, args=args, timeout=timeout, as_json=as_json, yes=yes)
    raise typer.Exit(code)


@about_a_catalogue
def view(
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="The handle of a large result.")],
    part: Annotated[
        str,
        typer.Argument(
            metavar="PART",
            help="head, tail, lines, search, rows, path, pointer, keys, shape, bytes, all or raw.",
        ),
    ] = "head",
    fields: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="What the part needs, as in `count=5`.", show_default=False),
    ] = None,
    *,
    choice: Choice,
    selector: Annotated[
        str | None,
        typer.Option("--selector", metavar="JSON", help="The whole selector as JSON, instead of PART and its fields."),
    ] = None,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
    every_page: Annotated[bool, typer.Option("--all-pages", help="Go on to the end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read a part of a large result.

    Example: toolcrib view art_0123 rows columns=id,name count=5
    """
    from toolcrib_cli.view_command import run_view

    run_view(
        choice=choice,
        handle=handle,
        part=part,
        fields=fields or [],
        selector=selector,
        cursor=cursor,
        every_page=every_page,
        as_json=as_json,
    )


@about_a_catalogue
def export(
    tools: Annotated[
        list[str],
        typer.Argument(
            metavar="TOOL", help="Only these tools; without any, all.", default_factory=list, show_default=False
        ),
    ],
    *,
    choice: Choice,
    provider: Annotated[
        Provider, typer.Option(metavar="PROVIDER", help=f"For whom: {', '.join(Provider)}.")
    ] = Provider.NEUTRAL,
    fresh: FreshOption = False,
    timeout: TimeoutOption = 30,
    _as_json: Annotated[bool, typer.Option("--json", help="JSON is what it prints anyway.")] = True,
) -> None:
    """Print tool definitions in the form that a provider's API takes.

    What a provider's form cannot say, and which tools it cannot take at all, stands on standard error.

    Example: toolcrib export --provider openai
    """
    from toolcrib_cli.export_command import run_export

    run_export(choice=choice, provider=provider.value, tools=tools, fresh=fresh, timeout=timeout)


@about_a_catalogue
def stats(
    *, choice: Choice, fresh: FreshOption = False, timeout: TimeoutOption = 30, as_json: JsonOption = False
) -> None:
    """Count the tokens of all definitions, and of the cards in their place.

    Example: toolcrib stats
    """
    from toolcrib_cli.stats_command import run_stats

    run_stats(choice=choice, fresh=fresh, timeout=timeout, as_json=as_json)
