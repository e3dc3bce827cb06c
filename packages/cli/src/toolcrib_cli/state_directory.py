"""Where a configuration's known tools and the live health of who serves it are kept."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolcrib_mcp.errors import ConfigError

VARIABLE: Final = "TOOLCRIB_STATE_DIR"

_MAX_STEM: Final = 40
_CONFIG_FILE: Final = "configuration"


def state_root(given: Path | None, *, environ: Mapping[str, str]) -> Path:
    """The directory that was named, else that of the environment, else the user's own.

    Raises:
        ConfigError: None was named, and the user has no home.
    """
    if given is not None:
        return given
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE]).expanduser()
    # The specification of these directories says that one which is not absolute is to be ignored.
    base = Path(environ.get("XDG_STATE_HOME") or ".")
    return (base if base.is_absolute() else _home(environ) / ".local" / "state") / "toolcrib"


def state_of(config: Path, root: Path) -> Path:
    """The directory of one configuration: the same for every way to write the path of its file."""
    path = config.resolve()
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem).strip("-")[:_MAX_STEM] or "config"
    return root / f"{stem}-{hashlib.sha256(bytes(path)).hexdigest()[:16]}"


def remember_config(directory: Path, config: Path) -> None:
    """Write down in its state directory which configuration that is for: the name of the directory does not tell."""
    file, path = directory / _CONFIG_FILE, os.fsencode(config.resolve())
    with suppress(OSError):
        if not file.exists() or file.read_bytes() != path:
            file.write_bytes(path)


def remembered_configs(root: Path) -> list[Path]:
    """The configurations with a state below this directory, as far as they are still there; the latest first."""
    try:
        files = sorted(root.glob(f"*/{_CONFIG_FILE}"), key=lambda each: each.stat().st_mtime, reverse=True)
        configs = [Path(os.fsdecode(file.read_bytes())) for file in files]
        return [each for each in configs if each.is_file()]
    except (OSError, ValueError):
        return []


def _home(environ: Mapping[str, str]) -> Path:
    if environ.get("HOME"):
        return Path(environ["HOME"])
    try:
        return Path.home()
    except RuntimeError:
        raise ConfigError("There is no home directory to keep state in.", hint=f"Set ${VARIABLE}.") from None
