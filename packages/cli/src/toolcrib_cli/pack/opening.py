"""Which database of packs a command works on, and over which source tree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolcrib_cli.state_directory import state_root
from toolcrib_contextpacks import PACKS_LINE, ContextPacks, PackSettings, settings_from
from toolcrib_contextpacks.errors import InvalidPack
from toolcrib_core import ToolError
from toolcrib_mcp.errors import ConfigError
from toolcrib_store import open_store

VARIABLE: Final = "TOOLCRIB_PACKS"
FILE: Final = "packs.db"
"""The database in the state directory that is used when none is named."""

# Hints of packs are written for models, which have a tool with actions in place of commands.
_WORDS_OF_COMMANDS: Final[Mapping[str, str]] = {
    "with action='list'": "with `toolcrib pack list`",
    "with action='get'": "with `toolcrib pack show --json`",
    "`expected_revision`": "`--revision`",
    "expected_revision=": "--revision ",
    "`ttl_minutes`": "`--minutes`",
    "`extend_minutes`": "`--extend`",
    "`page_token`": "`--page-token`",
    "`freshness`": "`--freshness`",
    "keep status='draft'": "keep it a draft",
}


@contextmanager
def opened_packs(database: str | None = None, source_root: Path | None = None) -> Iterator[ContextPacks]:
    """The packs of a database; it is closed at the end.

    Raises:
        ConfigError: A setting of the environment, or the source root, cannot be used.
        StoreError: The database cannot be opened.
    """
    settings = pack_settings(source_root, environ=os.environ, directory=Path.cwd())
    with open_store(pack_database(database, environ=os.environ), lines=[PACKS_LINE]) as store:
        try:
            yield ContextPacks(store, settings=settings)
        except ToolError as failure:
            for word, command in _WORDS_OF_COMMANDS.items():
                failure.hint = failure.hint and failure.hint.replace(word, command)
            raise


def pack_database(given: str | None, *, environ: Mapping[str, str]) -> Path | str:
    """The database that was named, else that of the environment, else one in the state directory."""
    named = given or environ.get(VARIABLE)
    return named or state_root(None, environ=environ) / FILE


def pack_settings(source_root: Path | None, *, environ: Mapping[str, str], directory: Path) -> PackSettings:
    """The settings of the environment; a source root that was named counts before that of the environment.

    Raises:
        ConfigError: One of them cannot be used.
    """
    if source_root is not None and not source_root.is_dir():
        raise ConfigError("The source root is no directory.", hint="Name another with `--source-root`.")
    try:
        settings = settings_from(
            {**environ, "CONTEXT_PACK_SOURCE_ROOT": "."} if source_root else environ, directory=directory
        )
    except InvalidPack as refused:
        raise ConfigError(refused.message, hint=refused.hint, details=refused.details) from None
    return replace(settings, source_root=source_root.resolve()) if source_root else settings
