"""The two tools for context packs as an MCP server: alone, or as one server of the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolcrib_cli.pack.opening import opened_packs
from toolcrib_cli.screen import tell
from toolcrib_cli.version import version
from toolcrib_contextpacks import INSTRUCTIONS, create_contextpack_toolbox, sweeping
from toolcrib_mcp import ToolboxService, connect_service

if TYPE_CHECKING:
    from toolcrib_cli.wiring import Asked, Brought
    from toolcrib_mcp.config import HttpFront

NAME: Final = "contextpacks"
"""What the server is called in the gateway."""


@asynccontextmanager
async def bring_context_packs(asked: Asked) -> AsyncIterator[Brought]:
    """The server of context packs, for the gateway; its packs are those of `toolcrib pack`.

    Raises:
        ToolError: The database, or a setting of the environment, cannot be used.
    """
    del asked  # packs belong to their users, whatever configuration is served
    async with _service(None, None, hears_callers=True) as service:
        yield {NAME: connect_service(service)}


async def serve_packs(*, database: str | None, source_root: Path | None, http: HttpFront | None) -> None:
    """Serve the two tools until the client leaves or the process is asked to stop.

    Raises:
        ToolError: The database, a setting of the environment or the address cannot be used.
    """
    from toolcrib_mcp.serving.stopping import stop_signals, unless

    async with _service(database, source_root) as service:
        with stop_signals() as stop:
            if http is None:
                from toolcrib_mcp.front.stdio import serve_stdio

                await unless(stop.insisted, serve_stdio(service, stop=stop.asked))
            else:
                from toolcrib_mcp.front.http import serve_http

                ready = "toolcrib serves context packs at"
                front = serve_http(service, host=http.host, port=http.port, on_ready=lambda url: tell(f"{ready} {url}"))
                await unless(stop.asked, front)


@asynccontextmanager
async def _service(
    database: str | None, source_root: Path | None, *, hears_callers: bool = False
) -> AsyncIterator[ToolboxService]:
    stack = ExitStack()

    def opened() -> ToolboxService:
        packs = stack.enter_context(opened_packs(database, source_root))
        stack.enter_context(sweeping(packs))
        return ToolboxService(
            create_contextpack_toolbox(packs),
            name="toolcrib-contextpacks",
            version=version(),
            instructions=INSTRUCTIONS,
            hears_callers=hears_callers,
        )

    try:
        service = await asyncio.to_thread(opened)
        async with service.toolbox:
            yield service
    finally:
        await asyncio.to_thread(stack.close)
