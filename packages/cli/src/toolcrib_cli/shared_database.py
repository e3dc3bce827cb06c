"""The database that the replicas of a gateway share, where one is named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolcrib_cli.wiring import Asked
    from toolcrib_mcp.shared import SharedDatabase

VARIABLE: Final = "TOOLCRIB_SHARED"


def shared_target(given: str | None, *, environ: Mapping[str, str]) -> str | None:
    """The database that was named, else that of the environment; without one, nothing is shared."""
    return given or environ.get(VARIABLE) or None


def shared_database(asked: Asked, *, environ: Mapping[str, str] = os.environ) -> SharedDatabase | None:
    """The database that a command's configuration shares, with the master key that opens what is sealed in it.

    Raises:
        MasterKeyUnusable: There is no master key, or it cannot be used.
    """
    if asked.shared is None:
        return None
    from toolcrib_cli.toolset.opening import KEYRING_VARIABLE, default_key_file
    from toolcrib_mcp.approvals import StateKey
    from toolcrib_mcp.shared import SharedDatabase
    from toolcrib_toolsets import find_master_key, previous_master_key

    current = find_master_key(
        environ,
        file=default_key_file(environ, root=asked.state_root),
        keyring=bool(environ.get(KEYRING_VARIABLE)),
    )
    previous = previous_master_key(environ)
    keys = (current,) if previous is None else (current, previous)
    return SharedDatabase(target=asked.shared, sealed_with=tuple(StateKey(each.material()) for each in keys))


def database_of(asked: Asked) -> Path | str | None:
    """Where the pins, questions and results of a configuration are: in what is shared, else in its own state."""
    from toolcrib_mcp.state_files import ARTIFACTS

    if asked.shared is not None:
        return asked.shared
    return None if asked.state_dir is None else asked.state_dir / ARTIFACTS


def is_there(database: Path | str | None) -> bool:
    """Whether there may be anything in a database; a named one is taken to be there."""
    return database is not None and (isinstance(database, str) or database.is_file())
