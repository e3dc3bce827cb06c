"""Which configuration a command is about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolcrib_core.wording import listed, quoted
from toolcrib_mcp.errors import ConfigError

VARIABLE: Final = "TOOLCRIB_CONFIG"
LOOKED_FOR: Final = ("mcp.json", ".mcp.json", ".vscode/mcp.json")
"""The files of a project that are taken when none is named, the first that is there."""

_SETTINGS_FILE: Final = "toolcrib.toml"


def choose_config(given: Path | None, *, environ: Mapping[str, str], directory: Path) -> Path:
    """The configuration that was named, else that of the environment, else the first one of the directory.

    Raises:
        ConfigError: None was named and none is there; the message says what was looked for.
    """
    if given is not None:
        return given
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser()
    for name in LOOKED_FOR:
        if (directory / name).is_file():
            return directory / name
    hint = f"Name one with `--config FILE` or in ${VARIABLE}, or make one with `toolcrib init`."
    if (directory / _SETTINGS_FILE).is_file():
        hint += (
            f" {quoted(_SETTINGS_FILE)} is here, but holds settings only: put the servers into a `mcp.json` beside it."
        )
    raise ConfigError(
        f"There is no configuration in {quoted(str(directory))}: none of {listed(LOOKED_FOR)} is there.",
        hint=hint,
        details={"lookedFor": list(LOOKED_FOR)},
    )
