"""The commands of `toolcrib toolpack`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toolcrib_cli.options import JsonOption

app = typer.Typer(no_args_is_help=True)


class Kind(StrEnum):
    """What runs a tool."""

    PYTHON = "python"
    NODE = "node"
    PHP = "php"
    CLI = "cli"
    HTTP = "http"


class Reach(StrEnum):
    """What an http tool may reach beyond public hosts by https."""

    HTTP = "http"
    LOOPBACK = "loopback"
    PRIVATE = "private"


_HERE = Path()
FolderOption = Annotated[
    Path, typer.Option("--dir", "-d", metavar="DIR", help="The folder with the `*.tool.yaml` files.")
]
FolderArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="DIR", help="The folder with the `*.tool.yaml` files; as good as `--dir`.", show_default=False
    ),
]
ToolArgument = Annotated[
    str, typer.Argument(metavar="TOOL", help="An id, as in `weather.forecast`, or the path of a `*.tool.yaml` file.")
]
PairsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="KEY=VALUE",
        help="Arguments; `KEY:=JSON` gives one as JSON.",
        default_factory=list,
        show_default=False,
    ),
]
ArgsOption = Annotated[
    str | None,
    typer.Option("--args", metavar="JSON", help="All arguments: JSON, `@FILE`, or `-` for standard input."),
]
TrustOption = Annotated[
    bool, typer.Option("--trust", help="Run what this machine cannot hold to its capabilities, too.")
]
GrantOption = Annotated[
    list[str],
    typer.Option(
        "--grant-env",
        metavar="NAME",
        help="Pass on a variable that looks like a secret, to packs that ask for it; may be repeated.",
        default_factory=list,
        show_default=False,
    ),
]
ReachOption = Annotated[
    list[Reach],
    typer.Option(
        "--allow",
        metavar="WHAT",
        help="Let http tools reach `loopback`, `private` networks, or plain `http`; may be repeated.",
        default_factory=list,
        show_default=False,
    ),
]


@app.command()
def lint(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Folders or files.", default_factory=lambda: [_HERE], show_default=False),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Check tool files, and print what is wrong as `file:line: path: message (code)`.

    The exit code is 1 if something is.

    Example: toolcrib toolpack lint packs
    """
    from toolcrib_cli.toolpack.linting import run_lint

    raise typer.Exit(run_lint(paths, as_json=as_json))


@app.command("list")
def list_packs(named: FolderArgument = None, *, folder: FolderOption = _HERE, as_json: JsonOption = False) -> None:
    """List the tools of a folder.

    Example: toolcrib toolpack list packs
    """
    from toolcrib_cli.toolpack.showing import run_list

    run_list(named or folder, as_json=as_json)


@app.command()
def show(tool: ToolArgument, *, folder: FolderOption = _HERE, as_json: JsonOption = False) -> None:
    """Show all that a tool file says, with its schemas resolved.

    Example: toolcrib toolpack show weather.forecast --dir packs
    """
    from toolcrib_cli.toolpack.showing import run_show

    run_show(tool, folder=folder, as_json=as_json)


@app.command()
def plan(
    tool: ToolArgument,
    pairs: PairsArgument,
    *,
    args: ArgsOption = None,
    folder: FolderOption = _HERE,
    trust: TrustOption = False,
    grant_env: GrantOption,
    as_json: JsonOption = False,
) -> None:
    """Show what a call would do, and what models would see of the tool; nothing is run and nothing is reached.

    Without arguments, those of the first example in the file are taken.

    Example: toolcrib toolpack plan weather.forecast city=Ulm --dir packs
    """
    from toolcrib_cli.toolpack.grants import Grants
    from toolcrib_cli.toolpack.planning import run_plan

    grants = Grants(trust=trust, env=tuple(grant_env))
    run_plan(tool, pairs, args, folder=folder, grants=grants, as_json=as_json)


@app.command()
def run(
    tool: ToolArgument,
    pairs: PairsArgument,
    *,
    args: ArgsOption = None,
    folder: FolderOption = _HERE,
    trust: TrustOption = False,
    grant_env: GrantOption,
    allow: ReachOption,
    yes: Annotated[bool, typer.Option("--yes", help="Run it without a question, whatever its risk.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Call a tool once, and print what it returns.

    It is held to its limits and capabilities as in a gateway. A tool that may do harm is asked about at the terminal.
    The exit code is 1 if the call failed.

    Example: toolcrib toolpack run weather.forecast city=Ulm --dir packs
    """
    from toolcrib_cli.toolpack.grants import Grants
    from toolcrib_cli.toolpack.running import run_once

    grants = Grants(trust=trust, env=tuple(grant_env), reach=tuple(each.value for each in allow))
    raise typer.Exit(run_once(tool, pairs, args, folder=folder, grants=grants, yes=yes, as_json=as_json))


@app.command()
def new(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="`python`, `node`, `php`, `cli` or `http`.")],
    tool: Annotated[str, typer.Argument(metavar="ID", help="The id, as in `weather.forecast`.")],
    *,
    folder: FolderOption = _HERE,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="What a tool of kind `http` asks.")
    ] = "https://httpbin.org/post",
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Begin a tool: a commented file that loads, and what it runs.

    Example: toolcrib toolpack new python text.greet --dir packs
    """
    from toolcrib_cli.toolpack.beginning import run_new

    run_new(kind.value, tool, folder=folder, url=url, force=force)


@app.command("test")
def run_examples(
    named: FolderArgument = None,
    *,
    folder: FolderOption = _HERE,
    trust: TrustOption = False,
    grant_env: GrantOption,
    allow: ReachOption,
    as_json: JsonOption = False,
) -> None:
    """Run the `examples` of tool files, and search for their `searchCases`.

    An example passes when the call gives its `output`, or ends with its `error`; a search case when its tool is the
    first that is found. The exit code is 1 if one does not pass.

    Example: toolcrib toolpack test packs
    """
    from toolcrib_cli.toolpack.grants import Grants
    from toolcrib_cli.toolpack.testing import run_tests

    grants = Grants(trust=trust, env=tuple(grant_env), reach=tuple(each.value for each in allow))
    raise typer.Exit(run_tests(named or folder, grants=grants, as_json=as_json))


@app.command()
def schema() -> None:
    """Print the JSON Schema of the file format, for editors.

    Example: toolcrib toolpack schema > toolpack.schema.json
    """
    from toolcrib_cli.screen import print_json
    from toolcrib_toolpacks import toolpack_schema

    print_json(toolpack_schema())
