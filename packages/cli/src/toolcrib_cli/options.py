"""Options that many commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from toolcrib_cli.toolpack.grants import Grants

_R = TypeVar("_R")
_CATALOGUE: Final = "Which catalogue"
_TOOL_FILES: Final = "What tool files are granted"

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for an error, too.")]
TimeoutOption = Annotated[
    float, typer.Option(min=0.1, max=600, metavar="SECONDS", help="How long each server may take to answer.")
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Ask every server for its tools, also where they are known from before.")
]


class Reach(StrEnum):
    """What an http tool may reach beyond public hosts by https."""

    HTTP = "http"
    LOOPBACK = "loopback"
    PRIVATE = "private"


TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        envvar="TOOLCRIB_TOOLPACKS_TRUST",
        help="Run tool files that this machine cannot hold to their capabilities, too.",
        rich_help_panel=_TOOL_FILES,
    ),
]
GrantPathOption = Annotated[
    list[str],
    typer.Option(
        "--grant-path",
        envvar="TOOLCRIB_TOOLPACKS_PATHS",
        metavar="[TOOL=]PATH[:rw]",
        help="Let tool files, or the one that is named, read a file or folder, and with `:rw` change it: data, or an "
        "interpreter such as a virtual environment; may be repeated.",
        default_factory=list,
        show_default=False,
        rich_help_panel=_TOOL_FILES,
    ),
]
GrantEnvOption = Annotated[
    list[str],
    typer.Option(
        "--grant-env",
        envvar="TOOLCRIB_TOOLPACKS_ENV",
        metavar="NAME",
        help="Pass on a variable to tool files that ask for it; may be repeated.",
        default_factory=list,
        show_default=False,
        rich_help_panel=_TOOL_FILES,
    ),
]
ReachOption = Annotated[
    list[Reach],
    typer.Option(
        "--allow",
        envvar="TOOLCRIB_TOOLPACKS_ALLOW",
        metavar="WHAT",
        help="Let http tools reach `loopback`, `private` networks, or plain `http`; may be repeated.",
        default_factory=list,
        show_default=False,
        rich_help_panel=_TOOL_FILES,
    ),
]

_OPTIONS: Final = {
    "config": Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="The file with your MCP servers. Without it: $TOOLCRIB_CONFIG, ./mcp.json, ./.mcp.json, "
            "./.vscode/mcp.json, else the demo.",
            rich_help_panel=_CATALOGUE,
        ),
    ],
    "toolpacks": Annotated[
        list[Path],
        typer.Option(
            "--toolpacks",
            metavar="DIR",
            help="Add the tools of the `*.tool.yaml` files in a directory; may be repeated.",
            default_factory=list,
            show_default=False,
            rich_help_panel=_CATALOGUE,
        ),
    ],
    "python_tools": Annotated[
        list[str],
        typer.Option(
            "--toolbox",
            metavar="MODULE:NAME",
            help="Use the Python tools of a module, as in `my_tools:toolbox` or `my_tools.py:toolbox`; may be "
            "repeated. A configuration is then used only if it is named.",
            default_factory=list,
            show_default=False,
            rich_help_panel=_CATALOGUE,
        ),
    ],
    "context_packs": Annotated[
        bool,
        typer.Option("--contextpacks", help="Add the tools for context packs.", rich_help_panel=_CATALOGUE),
    ],
    "demo": Annotated[
        bool,
        typer.Option("--demo", help="Use the catalogue that comes with toolcrib.", rich_help_panel=_CATALOGUE),
    ],
    "trust": TrustOption,
    "grant_path": GrantPathOption,
    "grant_env": GrantEnvOption,
    "allow": ReachOption,
    "state_dir": Annotated[
        Path | None,
        typer.Option(
            "--state-dir",
            metavar="DIR",
            help="Where known tools, live health and large results are kept. Without it: $TOOLCRIB_STATE_DIR, else "
            "the user's state directory.",
            rich_help_panel=_CATALOGUE,
        ),
    ],
    "shared": Annotated[
        str | None,
        typer.Option(
            "--shared",
            metavar="DATABASE",
            help="The database that several replicas share: an address of PostgreSQL, or on one machine a file. "
            "Without it: $TOOLCRIB_SHARED, else nothing is shared.",
            rich_help_panel=_CATALOGUE,
        ),
    ],
}
_DEFAULTS: Final[dict[str, Any]] = {
    "config": None,
    "toolpacks": inspect.Parameter.empty,
    "python_tools": inspect.Parameter.empty,
    "context_packs": False,
    "demo": False,
    "trust": False,
    "grant_path": inspect.Parameter.empty,
    "grant_env": inspect.Parameter.empty,
    "allow": inspect.Parameter.empty,
    "state_dir": None,
    "shared": None,
}


def about_a_catalogue(command: Callable[..., _R]) -> Callable[..., _R]:
    """Give a command the options that say which catalogue it is about; it takes them as one `choice`."""

    @functools.wraps(command)
    def chosen(**given: Any) -> _R:
        from toolcrib_cli.asking import Choice

        options = {name: given.pop(name) for name in _OPTIONS}
        given_grants = {name: options.pop(name) for name in ("trust", "grant_path", "grant_env", "allow")}
        repeated = {name: tuple(options[name]) for name in ("toolpacks", "python_tools")}
        return command(**given, choice=Choice(**options | repeated, grants=grants_from(**given_grants)))

    own = inspect.signature(command, eval_str=True, locals={"Choice": object})
    kept = [each for each in own.parameters.values() if each.name != "choice"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    chosen.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]  # as `inspect` reads it
    chosen.__annotations__ = {each.name: each.annotation for each in (*kept, *added)}
    return chosen


def grants_from(
    *, trust: bool, grant_env: Sequence[str], grant_path: Sequence[str] = (), allow: Sequence[Reach] = ()
) -> Grants:
    """What the options of a command grant to tool files."""
    return Grants(trust=trust, paths=tuple(grant_path), env=tuple(grant_env), reach=tuple(each.value for each in allow))
