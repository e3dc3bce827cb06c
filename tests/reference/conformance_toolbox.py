"""The tools of the conformance server as a toolbox of ours: `python -m tests.reference.conformance_toolbox`.

They are imported from the server in this process, and served over streamable HTTP on a free port of loopback; the URL
is written to stderr.
"""

from __future__ import annotations

import asyncio
import sys
import warnings

from mcp.shared.exceptions import MCPDeprecationWarning

from tests.reference.conformance_server import ConformanceServer
from toolcrib_mcp.front.http import serve_http
from toolcrib_mcp.rpc import Wire
from toolcrib_mcp.toolboxes import ToolboxService, import_tools
from toolcrib_mcp.upstreams import Upstream, UpstreamHooks
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire
from toolcrib_runtime import Policy, Toolbox, create_toolbox

# Tools of the default namespace are listed by their bare names, which are those that the suite calls.
_NAMESPACE = "default"


async def serve() -> None:
    """Import, and serve until the process is ended; nobody is asked whether a call may run.

    When the server changes its tools, they are imported again.
    """
    changed = asyncio.Event()
    upstream = Upstream("fixture", _connect, hooks=UpstreamHooks(on_tools=lambda _: changed.set()))
    try:
        service = ToolboxService(await _import(upstream), version="1.0.0", logs=True)
        following = asyncio.create_task(_follow(upstream, service, changed))
        try:
            await serve_http(service, on_ready=_tell)
        finally:
            following.cancel()
    finally:
        await upstream.aclose()


async def _import(upstream: Upstream) -> Toolbox:
    tools = await import_tools(upstream, namespace=_NAMESPACE, trusted=True)
    return create_toolbox(tools, policy=Policy(by_risk=None))


async def _follow(upstream: Upstream, service: ToolboxService, changed: asyncio.Event) -> None:
    while True:
        await changed.wait()
        changed.clear()
        service.replace(await _import(upstream))


async def _connect() -> Wire:
    return await open_in_process_wire(ConformanceServer().build())


def _tell(url: str) -> None:
    print(f"serving at {url}", file=sys.stderr, flush=True)  # noqa: T201  # read by whoever started it


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    asyncio.run(serve())
