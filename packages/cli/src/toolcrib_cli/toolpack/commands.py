"""The commands of `toolcrib toolpack`: thin, so that help comes at once; what they do is imported when they run."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toolcrib_cli.options import GrantEnvOption, GrantPathOption, JsonOption, ReachOption, TrustOption, grants_from

app = typer.Typer(no_args_is_help=True)


class Kind(StrEnum):
    """What runs a tool."""

    PYTHON = "python"
    NODE = "node"
    PHP = "php"
    CLI = "cli"
    HTTP = "http"


FoldersOption = Annotated[
    list[Path],
    typer.Option(
        "--dir",
        "-d",
        metavar="DIR",
        help="A folder with `*.tool.yaml` files; may be repeated. Without one: the current folder.",
        default_factory=list,
        show_default=False,
    ),
]
FoldersArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR",
        help="Folders with `*.tool.yaml` files; as good as `--dir`.",
        default_factory=list,
        show_default=False,
    ),
]
ToolArgument = Annotated[
    str,
    typer.Argument(metavar="TOOL", help="As in `weather:forecast` or `weather.forecast`, or the path of a tool file."),
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


@app.command()
def lint(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Folders or files.", default_factory=lambda: [Path()], show_default=False),
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
def list_packs(
    named: FoldersArgument,
    *,
    folders: FoldersOption,
    grant_path: GrantPathOption,
    as_json: JsonOption = False,
) -> None:
    """List the tools of folders, and what each may do.

    Example: toolcrib toolpack list packs
    """
    from toolcrib_cli.toolpack.showing import run_list

    grants = grants_from(trust=False, grant_env=(), grant_path=grant_path)
    run_list(_folders(named, folders), grants=grants, as_json=as_json)


@app.command()
def show(tool: ToolArgument, *, folders: FoldersOption, as_json: JsonOption = False) -> None:
    """Show all that a tool file says, with its schemas resolved.

    Example: toolcrib toolpack show weather:forecast --dir packs
    """
    from toolcrib_cli.toolpack.showing import run_show

    run_show(tool, folders=_folders(folders), as_json=as_json)


@app.command()
def plan(
    tool: ToolArgument,
    pairs: PairsArgument,
    *,
    args: ArgsOption = None,
    folders: FoldersOption,
    trust: TrustOption = False,
    grant_path: GrantPathOption,
    grant_env: GrantEnvOption,
    as_json: JsonOption = False,
) -> None:
    """Show what a call would do, and what models would see of the tool; nothing is run and nothing is reached.

    Without arguments, those of the first example in the file are taken.

    Example: toolcrib toolpack plan weather:forecast city=Ulm --dir packs
    """
    from toolcrib_cli.toolpack.planning import run_plan

    grants = grants_from(trust=trust, grant_env=grant_env, grant_path=grant_path)
    run_plan(tool, pairs, args, folders=_folders(folders), grants=grants, as_json=as_json)


@app.command()
def run(
    tool: ToolArgument,
    pairs: PairsArgument,
    *,
    args: ArgsOption = None,
    folders: FoldersOption,
    trust: TrustOption = False,
    grant_path: GrantPathOption,
    grant_env: GrantEnvOption,
    allow: ReachOption,
    yes: Annotated[bool, typer.Option("--yes", help="Run it without a question, whatever its risk.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Call a tool once, and print what it returns.

    It is held to its limits and capabilities as in a gateway. A tool that may do harm is asked about at the terminal.
    The exit code is 1 if the call failed.

    Example: toolcrib toolpack run weather:forecast city=Ulm --dir packs
    """
    from toolcrib_cli.toolpack.running import run_once

    grants = grants_from(trust=trust, grant_env=grant_env, grant_path=grant_path, allow=allow)
    raise typer.Exit(run_once(tool, pairs, args, folders=_folders(folders), grants=grants, yes=yes, as_json=as_json))


@app.command()
def new(
    kind: Annotated[Kind, typer.Argument(metavar="KIND", help="`python`, `node`, `php`, `cli` or `http`.")],
    tool: Annotated[str, typer.Argument(metavar="ID", help="The id, as in `weather.forecast`.")],
    *,
    folder: Annotated[Path, typer.Option("--dir", "-d", metavar="DIR", help="Where the files are written.")] = Path(),
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
    named: FoldersArgument,
    *,
    folders: FoldersOption,
    trust: TrustOption = False,
    grant_path: GrantPathOption,
    grant_env: GrantEnvOption,
    allow: ReachOption,
    as_json: JsonOption = False,
) -> None:
    """Run the `examples` of tool files, and search for their `searchCases`.

    An example passes when the call gives its `output`, or ends with its `error`; a search case when its tool is the
    first that is found. The exit code is 1 if one does not pass.

    Example: toolcrib toolpack test packs
    """
    from toolcrib_cli.toolpack.testing import run_tests

    grants = grants_from(trust=trust, grant_env=grant_env, grant_path=grant_path, allow=allow)
    raise typer.Exit(run_tests(_folders(named, folders), grants=grants, as_json=as_json))


@app.command()
def schema() -> None:
    """Print the JSON Schema of the file format, for editors.

    Example: toolcrib toolpack schema > toolpack.schema.json
    """
    from toolcrib_cli.screen import print_json
    from toolcrib_toolpacks import toolpack_schema

    print_json(toolpack_schema())


def _folders(*named: list[Path]) -> list[Path]:
    """The folders that were named, or the current one."""
    return [folder for each in named for folder in each] or [Path()]
