"""Every command of the command line, read from the application itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checks.reference_pages.tables import code, table

if TYPE_CHECKING:
    from typer.core import TyperArgument, TyperGroup, TyperOption

_INTRODUCTION = """\
# Commands

`toolcrib COMMAND --help` prints the same in a terminal.
Where a command prints data, `--json` prints it as JSON.

| exit code | meaning |
|---|---|
| 0 | all is fine, or it was asked to stop |
| 1 | something failed: a server, a call, a check |
| 2 | the command line or the configuration cannot be used |
| 130 | it was interrupted |"""
_HEADING = ("argument or option", "what it is for", "without it")


def render_commands() -> str:
    """The page of all commands, in the order in which the help lists them."""
    import typer

    from toolcrib_cli.app import app

    root: Any = typer.main.get_command(app)
    lines = [_INTRODUCTION]
    for name, command in _walk("toolcrib", root):
        lines += _section(name, command)
    return "\n".join(lines) + "\n"


def _walk(name: str, command: TyperGroup) -> Iterator[tuple[str, Any]]:
    from typer import Context

    yield name, command
    names = command.list_commands(Context(command)) if hasattr(command, "list_commands") else []
    for each in names:
        inner: Any = command.get_command(Context(command), each)
        if inner is not None and not inner.hidden:
            yield from _walk(f"{name} {each}", inner)


def _section(name: str, command: Any) -> Iterator[str]:
    parameters = [each for each in command.params if not getattr(each, "hidden", False)]
    yield from ("", f"{'#' * min(4, 1 + len(name.split()))} `{name}`", "")
    yield from _help(command.help or "")
    if parameters:
        yield from ("", *table(_HEADING, map(_row, parameters)))


def _help(text: str) -> Iterator[str]:
    paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n|\f", text.strip())]
    for index, each in enumerate(paragraphs):
        if index:
            yield ""
        example = re.fullmatch(r"Examples?: (.*)", each)
        if example:
            yield from ("```bash", example[1], "```")
        else:
            # One sentence per line, as everywhere in the documentation.
            yield from re.split(r"(?<=[.!?]) (?=[A-Z`])", each)


def _row(parameter: TyperArgument | TyperOption) -> tuple[str, str, str]:
    from typer.core import TyperOption

    if isinstance(parameter, TyperOption):
        value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name or ''}"
        names = ", ".join(code(f"{each}{value}") for each in (*parameter.opts, *parameter.secondary_opts))
    else:
        names = code(parameter.metavar or str(parameter.name).upper())
    required = "required" if parameter.required else ""
    return names, parameter.help or "", required or _default(parameter.default)


def _default(value: object) -> str:
    match value:
        case None | False | () | []:
            return ""
        case str() | int() | float() | Path():
            return code(str(getattr(value, "value", value)))
        case _:
            return ""
