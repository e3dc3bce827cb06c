"""`toolcrib toolset import-openapi`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from toolcrib_cli.screen import print_json, screen, tell
from toolcrib_cli.toolset.changing import make_instance, note_disabled
from toolcrib_cli.toolset.documents import read_document
from toolcrib_cli.toolset.opening import opened_service
from toolcrib_core.wording import count, quoted, shown
from toolcrib_mcp.errors import ConfigError
from toolcrib_toolsets import HttpApi
from toolcrib_toolsets.types.http_api import TYPE as HTTP_API
from toolcrib_toolsets.types.openapi.operations import Api, Operation


def import_document(
    database: str | None,
    user: str | None,
    *,
    document: Path,
    name: str | None,
    only: Sequence[str],
    base_url: str | None,
    variables: Sequence[str],
    key: Mapping[str, JsonValue],
    description: str | None,
    key_file: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make an instance of an OpenAPI document, or with `dry_run` only list its operations.

    Raises:
        ToolError: The document cannot be used, or the instance cannot be made.
    """
    if name is None and not dry_run:
        raise ConfigError("The instance needs a name.", hint="Name it after the file, or list with `--dry-run`.")
    settings: dict[str, JsonValue] = {"document": read_document(document)}
    given: dict[str, JsonValue] = {
        "baseUrl": base_url,
        "variables": dict(_variable(each) for each in variables),
        "key": {part: value for part, value in key.items() if value not in (None, False)},
        "only": list(only),
    }
    settings |= {part: value for part, value in given.items() if value}
    api = asyncio.run(_read(database, settings))
    if name is None or dry_run:
        _show_operations(api, as_json=as_json)
        return
    made, type_enabled = make_instance(
        database,
        user,
        toolset_type=HTTP_API,
        name=name,
        description=description,
        enabled=True,
        key_file=key_file,
        settings=settings,
    )
    if as_json:
        operations = [each.name for each in api.operations]
        print_json({**made.model_dump(mode="json", by_alias=True), "operations": operations, "refused": _refused(api)})
    else:
        screen().print(f"{made.name} is there, with {count(len(api.operations), 'tool')}.", soft_wrap=True)
        _show_refused(api)
    if not type_enabled:
        note_disabled(HTTP_API)


async def _read(database: str | None, settings: Mapping[str, JsonValue]) -> Api:
    async with opened_service(database, keyed=False) as service:
        kind = service.kinds.known(HTTP_API)
        if not isinstance(kind, HttpApi):
            raise ConfigError(f"The type {quoted(HTTP_API)} is replaced by an installed package.")
        return kind.read(settings)


def _variable(text: str) -> tuple[str, str]:
    name, is_given, value = text.partition("=")
    if not name or not is_given:
        raise ConfigError(f"{quoted(text)} is not a variable.", hint="Write `--variable NAME=VALUE`.")
    return name, value


def _show_operations(api: Api, *, as_json: bool) -> None:
    if as_json:
        print_json({"operations": [_operation(each) for each in api.operations], "refused": _refused(api)})
        return
    console = screen()
    for each in api.operations:
        console.print(f"{each.name}  {each.method.upper()} {each.base}{each.path}", soft_wrap=True, markup=False)
    _show_refused(api)


def _show_refused(api: Api) -> None:
    if not api.refused:
        return
    verb = "is" if len(api.refused) == 1 else "are"
    tell(f"{count(len(api.refused), 'operation')} {verb} left out:")
    for each in api.refused:
        tell(f"  {each.name}  {each.method} {shown(each.path)}: {each.reason}")


def _operation(operation: Operation) -> dict[str, Any]:
    return {
        "name": operation.name,
        "method": operation.method.upper(),
        "path": operation.path,
        "server": operation.base,
    }


def _refused(api: Api) -> list[dict[str, str]]:
    return [
        {"name": each.name, "method": each.method, "path": each.path, "reason": each.reason} for each in api.refused
    ]
