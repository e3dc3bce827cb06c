"""`toolcrib toolset create|import-openapi|update|delete`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import JsonValue

from toolcrib_cli.screen import print_json, screen, tell
from toolcrib_cli.toolset.finding import instance_of
from toolcrib_cli.toolset.key_input import key_from
from toolcrib_cli.toolset.opening import opened_service, user_of
from toolcrib_core.wording import quoted
from toolcrib_mcp.errors import ConfigError
from toolcrib_toolsets import KeepApiKey, SetApiKey, Toolset
from toolcrib_toolsets.types.http_api import TYPE as HTTP_API

_MAX_VALUES: Final = 500_000


def create_instance(
    database: str | None,
    user: str | None,
    *,
    toolset_type: str,
    name: str,
    description: str | None,
    enabled: bool,
    key_file: str | None,
    settings: Path | Mapping[str, JsonValue] | None,
    as_json: bool,
) -> None:
    """Make an instance; the key is asked for only once everything else is known to be fine.

    Raises:
        ToolError: It cannot be made.
    """
    read = _read_document(settings) if isinstance(settings, Path) else settings

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
                settings=read,
            )
            return made, await service.is_type_enabled(toolset_type)

    made, type_enabled = asyncio.run(make())
    _show(made, f"{made.name} is there.", as_json=as_json)
    if not type_enabled:
        tell(f"note: its type is switched off for everybody; toolcrib toolset enable {toolset_type}")


def import_document(
    database: str | None,
    user: str | None,
    *,
    document: Path,
    name: str,
    base_url: str | None,
    key: Mapping[str, JsonValue],
    description: str | None,
    key_file: str | None,
    as_json: bool,
) -> None:
    """Make an instance of an OpenAPI document.

    Raises:
        ToolError: It cannot be made.
    """
    settings: dict[str, JsonValue] = {"document": _read_document(document), "key": dict(key)}
    if base_url is not None:
        settings["baseUrl"] = base_url
    create_instance(
        database,
        user,
        toolset_type=HTTP_API,
        name=name,
        description=description,
        enabled=True,
        key_file=key_file,
        settings=settings,
        as_json=as_json,
    )


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


def _read_document(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is no text"
        hint = "Name the file of an OpenAPI document, in JSON or YAML."
        raise ConfigError(f"{quoted(str(file))} cannot be read: {reason}.", hint=hint) from None
    try:
        read = json.loads(text) if file.suffix.lower() == ".json" else _of_yaml(text)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        raise ConfigError(f"{quoted(str(file))} is no JSON object.")
    if not _is_bounded(read):
        raise ConfigError(f"{quoted(str(file))} has more than {_MAX_VALUES:,} values.")
    return read


def _is_bounded(read: object) -> bool:
    """Whether it is no more than can be kept: in YAML a few lines may stand for any number of values."""
    waiting, seen = [read], 0
    while waiting and seen <= _MAX_VALUES:
        each = waiting.pop()
        seen += 1
        if isinstance(each, (dict, list)):
            waiting += each.values() if isinstance(each, dict) else each
    return seen <= _MAX_VALUES


def _of_yaml(text: str) -> object:
    import yaml

    try:
        return yaml.load(text, Loader=yaml.CSafeLoader)  # noqa: TID251  # the safe loader; what it gives is checked as JSON
    except yaml.YAMLError:
        raise ValueError("no YAML") from None
