"""`toolcrib toolpack new`: the files of a tool that loads, and runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import typer

from toolcrib_cli.screen import say, screen
from toolcrib_cli.toolpack.templates import BEGINNINGS
from toolcrib_core import CatalogError
from toolcrib_core.wording import quoted
from toolcrib_toolpacks import ToolpackLoader, ToolpackValidationError
from toolcrib_toolpacks.loader import SUFFIX
from toolcrib_toolpacks.model import ID_PATTERN

_SCHEMES: Final = ("http", "https")


def run_new(kind: str, tool: str, *, folder: Path, url: str, force: bool) -> None:
    """Write the files, and say what to do next.

    Raises:
        BadParameter: The id or the URL is none.
        CatalogError: A file is there already, or cannot be written.
    """
    tool = tool.replace(":", ".", 1)
    if re.fullmatch(ID_PATTERN, tool) is None:
        problem = f"{quoted(tool)} is no id. Write dotted lower-case segments, as in `weather.forecast`."
        raise typer.BadParameter(problem, param_hint="ID")
    scheme = url.partition("://")[0]
    if scheme not in _SCHEMES or not url.isprintable() or any(each in url for each in " '\"{}#"):
        problem = f"{quoted(url)} is no URL that starts with `https://` or `http://`."
        raise typer.BadParameter(problem, param_hint="--url")
    name, called = tool.rpartition(".")[2], tool.replace(".", ":", 1)
    words = {
        "@ID@": tool,
        "@NAME@": name,
        "@MODULE@": _module_of(name),
        "@TITLE@": re.sub(r"[_-]+", " ", name).capitalize(),
        "@URL@": url,
        "@TOOL@": called,
    }
    beginning = BEGINNINGS[kind]
    files = {f"{name}{SUFFIX}": _filled(beginning.pack, words)}
    if beginning.code_suffix is not None:
        stem = _module_of(name) if kind == "python" else name
        files[f"{stem}{beginning.code_suffix}"] = _filled(beginning.code, words)
    _write(folder, files, force=force)
    _check(folder / f"{name}{SUFFIX}")
    _tell(folder, list(files), called, kind)


def _module_of(name: str) -> str:
    """The name of a module for a tool, which no other module is likely to have."""
    module = re.sub(r"-+", "_", name)
    return f"{'_' if module[0].isdigit() else ''}{module}_tool"


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@[A-Z]+@", lambda mark: words[mark.group()], text)


def _write(folder: Path, files: dict[str, str], *, force: bool) -> None:
    taken = [name for name in files if (folder / name).exists()]
    if taken and not force:
        raise CatalogError(
            f"{quoted(str(folder / taken[0]))} is there already.", hint="Choose another id, or use `--force`."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            with (folder / name).open("w" if force else "x", encoding="utf-8") as file:
                file.write(text)
    except OSError as failure:
        raise CatalogError(f"{quoted(str(folder))} cannot be written: {failure.strerror}.") from None


def _check(file: Path) -> None:
    try:
        ToolpackLoader().load_file(file)
    except ToolpackValidationError as failure:
        problem = failure.violations[0]
        raise CatalogError(
            f"{quoted(str(file))} was written, and must be mended: {problem.message}",
            hint="See `toolcrib toolpack lint`.",
        ) from None


def _tell(folder: Path, files: list[str], tool: str, kind: str) -> None:
    console = screen()
    for name in files:
        say(console, f"wrote {folder / name}")
    where = "" if folder == Path() else f" --dir {folder}"
    say(console, f"Next: toolcrib toolpack {'plan' if kind == 'http' else 'run'} {tool} name=Ada{where}")
