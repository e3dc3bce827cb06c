"""Packs that a command is about: one that a person names, or all of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolcrib_cli.screen import printable, tell
from toolcrib_core import UnknownTool
from toolcrib_core.wording import listed, nearest, quoted
from toolcrib_toolpacks import Toolpack, ToolpackLoader, ToolpackValidationError
from toolcrib_toolpacks.loader import SUFFIX

_MAX_TOLD: Final = 20


@contextmanager
def telling_violations() -> Iterator[None]:
    """What is wrong with tool files is listed on standard error before the error goes on."""
    try:
        yield
    except ToolpackValidationError as failure:
        # One alone is what the error says.
        for each in failure.violations[:_MAX_TOLD] if len(failure.violations) > 1 else ():
            tell(printable(str(each)))
        if len(failure.violations) > _MAX_TOLD:
            tell(f"and {len(failure.violations) - _MAX_TOLD} more: see `toolcrib toolpack lint`")
        raise


def load_folders(folders: Sequence[Path]) -> tuple[Toolpack, ...]:
    """The packs of folders, as one catalogue.

    Raises:
        ToolpackValidationError: Something is wrong with them; all of it is on standard error.
    """
    loader = ToolpackLoader()
    with telling_violations():
        for folder in folders:
            loader.load_dir(folder)
    return loader.list()


def load_tool(tool: str, folders: Sequence[Path]) -> Toolpack:
    """The pack that a person means: by its id in any spelling, or the path of its file.

    Raises:
        ToolpackValidationError: Something is wrong with the file, or with the folder.
        UnknownTool: There is none.
    """
    if tool.endswith(SUFFIX):
        with telling_violations():
            return ToolpackLoader().load_file(tool)[0]
    packs = load_folders(folders)
    for pack in packs:
        if pack.is_called(tool):
            return pack
    ids = [each.tool for each in packs]
    meant = nearest(tool.replace(".", ":", 1), ids)
    hint = f"Did you mean {quoted(meant)}?" if meant else f"There are {listed(ids)}." if ids else "It has none at all."
    raise UnknownTool(f"No tool file in {listed(map(str, folders))} has the id {quoted(tool)}.", hint=hint)
