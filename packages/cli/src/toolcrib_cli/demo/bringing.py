"""The demo's servers as the gateway meets them: toolboxes in this process, over a folder and an example database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from typing import TYPE_CHECKING, Final

from toolcrib_cli.demo import data_tools, text_tools, time_tools
from toolcrib_cli.demo.crib_database import open_crib
from toolcrib_cli.demo.database_tools import database_tools
from toolcrib_cli.demo.files_tools import files_tools
from toolcrib_cli.version import version
from toolcrib_mcp import ToolboxService, connect_service
from toolcrib_runtime import RunnableTool, create_toolbox
from toolcrib_runtime.guards.paths import Root

if TYPE_CHECKING:
    from toolcrib_cli.wiring import Asked, Brought
    from toolcrib_mcp.upstreams import Connect

INSTRUCTIONS: Final = {
    "files": "The files of one folder, read-only.",
    "time": "Time zones, durations and calendars.",
    "text": "Counting, comparing and converting texts.",
    "data": "Tables, numbers, encodings and units.",
    "database": "An example database of a workshop: tools, people and loans.",
}
"""The servers of the demo, by name, with what each is for."""


@asynccontextmanager
async def bring_demo(asked: Asked) -> AsyncIterator[Brought]:
    """The servers of the demo; what they read lies in the package or in the folder that is asked about.

    Raises:
        FileUnusable: The folder cannot be opened.
    """
    async with AsyncExitStack() as holding:
        root = holding.enter_context(Root.open(asked.folder))
        crib = holding.enter_context(closing(await asyncio.to_thread(open_crib)))
        tools: Mapping[str, Iterable[RunnableTool]] = {
            "files": files_tools(root),
            "time": time_tools.TOOLS,
            "text": text_tools.TOOLS,
            "data": data_tools.TOOLS,
            "database": database_tools(crib),
        }
        yield {name: _connect(name, every) for name, every in tools.items()}


def _connect(name: str, tools: Iterable[RunnableTool]) -> Connect:
    service = ToolboxService(
        create_toolbox(tools), name=f"toolcrib-demo-{name}", version=version(), instructions=INSTRUCTIONS[name]
    )
    return connect_service(service)
