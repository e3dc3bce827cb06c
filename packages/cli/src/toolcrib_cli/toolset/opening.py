"""Which database of toolsets a command works on, with which types, and under which master key."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from toolcrib_cli.reach import net_grant, read_reach
from toolcrib_cli.state_directory import state_root
from toolcrib_cli.toolset.operator_types import pack_types, server_types
from toolcrib_store import Store, open_store
from toolcrib_toolsets import (
    TOOLSETS_LINE,
    ExaWebSearch,
    HttpApi,
    MasterKeyUnusable,
    Sealing,
    ToolsetKinds,
    ToolsetService,
    Unkeyed,
    find_master_key,
    installed_kinds,
    open_sealer,
    previous_master_key,
)
from toolcrib_toolsets.types.exa import BASE_URL

VARIABLE: Final = "TOOLCRIB_TOOLSETS"
FILE: Final = "toolsets.db"
"""The database in the state directory that is used when none is named."""

KEY_FILE: Final = "master.key"
USER_VARIABLE: Final = "TOOLCRIB_PRINCIPAL"
LOCAL_USER: Final = "local"
EXA_VARIABLE: Final = "TOOLCRIB_EXA_URL"
REACH_VARIABLE: Final = "TOOLCRIB_TOOLSETS_ALLOW"
SERVERS_VARIABLE: Final = "TOOLCRIB_TOOLSET_SERVERS"
PACKS_VARIABLE: Final = "TOOLCRIB_TOOLSET_PACKS"
KEYRING_VARIABLE: Final = "TOOLCRIB_MASTER_KEY_KEYRING"


@contextmanager
def opened_store(database: str | None, *, root: Path | None = None) -> Iterator[Store]:
    """The database of toolsets and access tokens; it is closed at the end. `root` is a state directory that was named.

    Raises:
        StoreError: It cannot be opened.
    """
    with open_store(toolset_database(database, environ=os.environ, root=root), lines=[TOOLSETS_LINE]) as store:
        yield store


@asynccontextmanager
async def opened_service(database: str | None, *, keyed: bool = True) -> AsyncIterator[ToolsetService]:
    """The toolsets of a database. Without `keyed` a master key that is not there is missed only where it is needed.

    Raises:
        ConfigError: A setting of the environment cannot be used.
        MasterKeyUnusable: There is no master key.
        WrongMasterKey: The database is sealed under another one.
        StoreError: The database cannot be opened.
    """
    with opened_store(database) as store:
        service = ToolsetService(store, sealing_of(store, keyed=keyed), kinds_of(os.environ))
        try:
            yield service
        finally:
            await service.aclose()


def sealing_of(store: Store, *, keyed: bool, root: Path | None = None) -> Sealing:
    """What seals keys in a database.

    Raises:
        MasterKeyUnusable: There is no master key, and one is needed.
        WrongMasterKey: The database is sealed under another one.
    """
    try:
        current = find_master_key(
            os.environ, file=default_key_file(os.environ, root=root), keyring=bool(os.environ.get(KEYRING_VARIABLE))
        )
        return open_sealer(store, current, previous=previous_master_key(os.environ))
    except MasterKeyUnusable as failure:
        if keyed:
            raise
        return Unkeyed(failure)


def kinds_of(environ: Mapping[str, str]) -> ToolsetKinds:
    """The types that there are: built in, installed, and made by the operator of servers and packs.

    Raises:
        ConfigError: A setting of the environment cannot be used.
    """
    grant = net_grant(read_reach(environ, REACH_VARIABLE))
    return ToolsetKinds(
        [
            ExaWebSearch(base_url=environ.get(EXA_VARIABLE) or BASE_URL, grant=grant),
            HttpApi(grant=grant),
            *installed_kinds(),
            *server_types(environ.get(SERVERS_VARIABLE), environ=environ),
            *pack_types(environ.get(PACKS_VARIABLE), network=grant),
        ]
    )


def toolset_database(given: str | None, *, environ: Mapping[str, str], root: Path | None = None) -> Path | str:
    """The database that was named, else that of the environment, else one in the state directory."""
    return given or environ.get(VARIABLE) or state_root(root, environ=environ) / FILE


def default_key_file(environ: Mapping[str, str], *, root: Path | None = None) -> Path | None:
    """The key file that `init-key` makes, where it is there and the environment names no other key."""
    if environ.get("TOOLCRIB_MASTER_KEY") or environ.get("TOOLCRIB_MASTER_KEY_FILE") or environ.get(KEYRING_VARIABLE):
        return None
    file = state_root(root, environ=environ) / KEY_FILE
    return file if file.exists() else None


def user_of(given: str | None) -> str:
    """Whose toolsets they are: the user that was named, else that of the environment, else the one of this machine."""
    return given or os.environ.get(USER_VARIABLE) or LOCAL_USER
