"""`toolcrib toolset list|show|run`."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from toolcrib_cli.call_arguments import read_arguments
from toolcrib_cli.edge import FAILED, tell_error
from toolcrib_cli.screen import print_json, print_text, screen
from toolcrib_cli.toolset.finding import instance_of
from toolcrib_cli.toolset.opening import opened_service, user_of
from toolcrib_core import ToolDefinition, ToolError
from toolcrib_core.wording import count
from toolcrib_toolsets import ToolsetExecutionRequest, ToolsetExecutionResponse, ToolsetState

_NEXT: Final = "Make one: toolcrib toolset create TYPE NAME. The types: toolcrib toolset types."


def show_list(database: str | None, user: str | None, *, as_json: bool) -> None:
    """Print the instances of a user.

    Raises:
        ToolError: The database or a setting cannot be used.
    """
    found = asyncio.run(_list(database, user_of(user)))
    if as_json:
        print_json({"toolsets": found})
        return
    console = screen()
    if not found:
        console.print(f"You have no toolsets. {_NEXT}", soft_wrap=True)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("Name", "Type", "Switch", "Key", "Usable now"):
        table.add_column(heading, overflow="fold")
    for each in found:
        table.add_row(
            each["name"],
            each["toolsetType"],
            "on" if each["enabled"] else "off",
            "yes" if each["hasApiKey"] else "no",
            "yes" if each["available"] else "no",
        )
    console.print(table)


def show_instance(database: str | None, user: str | None, text: str, *, as_json: bool) -> None:
    """Print an instance and its tools.

    Raises:
        InstanceNotFound: There is none.
        ToolError: The database or a setting cannot be used, or its service cannot be asked for its tools.
    """
    told, tools = asyncio.run(_instance(database, user_of(user), text))
    if as_json:
        print_json({**told, "tools": [each.name for each in tools]})
        return
    console = screen()
    for name, value in told.items():
        console.print(f"{name:12} {value}", soft_wrap=True)
    console.print(f"{'tools':12} {count(len(tools), 'tool') if told['available'] else 'it cannot be used now'}")
    for tool in tools:
        console.print(f"  {tool.name}  {(tool.description or '').partition('.')[0]}", soft_wrap=True)


def run_method(database: str | None, user: str | None, text: str, method: str, arguments: str, *, as_json: bool) -> int:
    """Call a method and print what it gives; the exit code.

    Raises:
        ToolError: It cannot be called.
    """
    given = read_arguments((), arguments, {})
    answer = asyncio.run(_run(database, user_of(user), text, method, given))
    if as_json:
        print_json(answer.model_dump(mode="json", by_alias=True))
    elif answer.error is not None:
        tell_error(ToolError.from_dict(answer.error))
    elif isinstance(answer.result, str):
        print_text(answer.result)
    else:
        print_json(answer.result)
    return 0 if answer.error is None else FAILED


async def _list(database: str | None, user: str) -> list[dict[str, Any]]:
    async with opened_service(database, keyed=False) as service:
        return [_told(each) for each in await service.list_states(user)]


async def _instance(database: str | None, user: str, text: str) -> tuple[dict[str, Any], list[ToolDefinition]]:
    async with opened_service(database, keyed=False) as service:
        found = await instance_of(service, user, text)
        state = next(each for each in await service.list_states(user) if each.toolset.id == found.id)
        tools = list(await service.instance_tools(user, found.id)) if state.available else []
        return _told(state), tools


async def _run(
    database: str | None, user: str, text: str, method: str, arguments: dict[str, Any]
) -> ToolsetExecutionResponse:
    async with opened_service(database) as service:
        found = await instance_of(service, user, text)
        request = ToolsetExecutionRequest(params=arguments)
        return await service.execute_instance_tool(user, found.id, method, request)


def _told(state: ToolsetState) -> dict[str, Any]:
    about = state.toolset.model_dump(mode="json", by_alias=True)
    return {**about, "hasApiKey": state.has_api_key, "available": state.available}
