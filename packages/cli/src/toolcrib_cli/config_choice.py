"""Which configuration a command is about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolcrib_core.wording import listed, quoted
from toolcrib_mcp.config.nesting import CONFIG_VARIABLE, PROJECT_FILES
from toolcrib_mcp.errors import ConfigError

_SETTINGS_FILE: Final = "toolcrib.toml"


def choose_config(given: Path | None, *, environ: Mapping[str, str], directory: Path | None) -> Path | None:
    """The configuration that was named, else that of the environment, else the first one of the directory, if any.

    Raises:
        ConfigError: There is none, but a file with settings for one.
    """
    if given is not None:
        return given
    if environ.get(CONFIG_VARIABLE):
        return Path(environ[CONFIG_VARIABLE]).expanduser()
    if directory is None:
        return None
    for name in PROJECT_FILES:
        if (directory / name).is_file():
            return directory / name
    if (directory / _SETTINGS_FILE).is_file():
        raise ConfigError(
            f"{quoted(_SETTINGS_FILE)} is here, but holds settings only: none of {listed(PROJECT_FILES)} is there.",
            hint="Put the servers into a `mcp.json` beside it, or make one with `toolcrib init`.",
            details={"lookedFor": list(PROJECT_FILES)},
        )
    return None


def current_directory() -> Path:
    """Where the command was started.

    Raises:
        ConfigError: The directory is no longer there.
    """
    try:
        return Path.cwd()
    except OSError:
        raise ConfigError(
            "The current directory is no longer there.", hint="Change into one that is, and try again."
        ) from None
