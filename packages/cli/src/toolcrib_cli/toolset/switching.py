"""`toolcrib toolset types|enable|disable`."""

from __future__ import annotations

import asyncio
from typing import Any

from toolcrib_cli.screen import print_json, screen
from toolcrib_cli.toolset.opening import opened_service, user_of
from toolcrib_core.wording import count
from toolcrib_toolsets import AppToolsetConfig, ToolsetWithTools


def show_types(database: str | None, *, as_json: bool) -> None:
    """Print all types with their switches.

    Raises:
        ToolError: The database or a setting cannot be used.
    """
    found = asyncio.run(_types(database))
    if as_json:
        print_json({"types": [_type(each) for each in found]})
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("Type", "For everybody", "What it is"):
        table.add_column(heading, overflow="fold")
    for each in found:
        table.add_row(each.toolset_id, "on" if each.app_enabled else "off", each.description)
    screen().print(table)


def switch(database: str | None, toolset_type: str, *, enabled: bool, as_json: bool) -> None:
    """Switch a type on or off for everybody.

    Raises:
        InvalidToolsetType: There is no such type.
        ToolError: The database or a setting cannot be used.
    """
    moved = asyncio.run(_switch(database, toolset_type, enabled=enabled))
    if as_json:
        print_json(moved.model_dump(mode="json", by_alias=True))
    else:
        screen().print(f"{moved.toolset_id} is {'on' if moved.enabled else 'off'} for everybody.")


async def _types(database: str | None) -> list[ToolsetWithTools]:
    async with opened_service(database, keyed=False) as service:
        return await service.list_types_with_tools()


async def _switch(database: str | None, toolset_type: str, *, enabled: bool) -> AppToolsetConfig:
    async with opened_service(database, keyed=False) as service:
        return await service.set_app_toolset_enabled(toolset_type, enabled=enabled, updated_by=user_of(None))


def _type(each: ToolsetWithTools) -> dict[str, Any]:
    return {
        "toolsetId": each.toolset_id,
        "name": each.name,
        "description": each.description,
        "appEnabled": each.app_enabled,
        "tools": [tool.name for tool in each.tools],
        "summary": count(len(each.tools), "tool"),
    }
