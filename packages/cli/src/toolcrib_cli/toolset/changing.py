"""`toolcrib toolset create|update|delete`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from toolcrib_cli.screen import print_json, screen, tell
from toolcrib_cli.toolset.documents import read_document
from toolcrib_cli.toolset.finding import instance_of
from toolcrib_cli.toolset.key_input import key_from
from toolcrib_cli.toolset.opening import opened_service, user_of
from toolcrib_mcp.errors import ConfigError
from toolcrib_toolsets import KeepApiKey, SetApiKey, Toolset


def create_instance(
    database: str | None,
    user: str | None,
    *,
    toolset_type: str,
    name: str,
    description: str | None,
    enabled: bool,
    key_file: str | None,
    settings: Path | None,
    as_json: bool,
) -> None:
    """Make an instance and print it.

    Raises:
        ToolError: It cannot be made.
    """
    made, type_enabled = make_instance(
        database,
        user,
        toolset_type=toolset_type,
        name=name,
        description=description,
        enabled=enabled,
        key_file=key_file,
        settings=None if settings is None else read_document(settings),
    )
    _show(made, f"{made.name} is there.", as_json=as_json)
    if not type_enabled:
        note_disabled(toolset_type)


def make_instance(
    database: str | None,
    user: str | None,
    *,
    toolset_type: str,
    name: str,
    description: str | None,
    enabled: bool,
    key_file: str | None,
    settings: Mapping[str, JsonValue] | None,
) -> tuple[Toolset, bool]:
    """The new instance, and whether its type is switched on.

    The key is asked for only once everything else is known to be fine.

    Raises:
        ToolError: It cannot be made.
    """

    async def make() -> tuple[Toolset, bool]:
        async with opened_service(database) as service:
            kind = service.kinds.known(toolset_type)
            key = key_from(key_file, wanted=kind.definition.requires_api_key)
            made = await service.create_instance(
                user_of(user),
                toolset_type,
                name,
                description=description,
                enabled=enabled,
                api_key=key,
                settings=settings,
            )
            return made, await service.is_type_enabled(toolset_type)

    return asyncio.run(make())


def note_disabled(toolset_type: str) -> None:
    """Say that a type is switched off, and how it is switched on."""
    tell(f"note: its type is switched off for everybody; toolcrib toolset enable {toolset_type}")


def update_instance(
    database: str | None,
    user: str | None,
    text: str,
    *,
    name: str | None,
    description: str | None,
    enabled: bool | None,
    key_file: str | None,
    new_key: bool,
    clear_key: bool,
    as_json: bool,
) -> None:
    """Change what was named of an instance.

    Raises:
        ToolError: It cannot be changed.
    """
    if clear_key and (new_key or key_file):
        raise ConfigError("A key is either set or taken away.", hint="Leave `--clear-key` out, or the new key.")

    async def change() -> Toolset:
        async with opened_service(database, keyed=bool(key_file or new_key)) as service:
            found = await instance_of(service, user_of(user), text)
            key = None if clear_key else key_from(key_file, wanted=new_key)
            return await service.update_instance(
                user_of(user),
                found.id,
                name=found.name if name is None else name,
                description=found.description if description is None else description,
                enabled=found.enabled if enabled is None else enabled,
                api_key=SetApiKey(value=key) if clear_key or key is not None else KeepApiKey(),
            )

    changed = asyncio.run(change())
    _show(changed, f"{changed.name} is changed.", as_json=as_json)


def delete_instance(database: str | None, user: str | None, text: str, *, as_json: bool) -> None:
    """Delete an instance with its key.

    Raises:
        ToolError: It cannot be deleted.
    """

    async def remove() -> Toolset:
        async with opened_service(database, keyed=False) as service:
            found = await instance_of(service, user_of(user), text)
            await service.delete_instance(user_of(user), found.id)
            return found

    gone = asyncio.run(remove())
    _show(gone, f"{gone.name} is deleted, and so is its key.", as_json=as_json)


def _show(toolset: Toolset, sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(toolset.model_dump(mode="json", by_alias=True))
    else:
        screen().print(sentence, soft_wrap=True)
