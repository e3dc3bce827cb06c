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
from toolcrib_mcp.upstreams import Upstream
from toolcrib_mcp.upstreams.in_process_wire import open_in_process_wire
from toolcrib_runtime import Policy, create_toolbox

# Tools of the default namespace are listed by their bare names, which are those that the suite calls.
_NAMESPACE = "default"


async def serve() -> None:
    """Import, and serve until the process is ended; nobody is asked whether a call may run."""
    upstream = Upstream("fixture", _connect)
    try:
        tools = await import_tools(upstream, namespace=_NAMESPACE, trusted=True)
        toolbox = create_toolbox(tools, policy=Policy(by_risk=None))
        await serve_http(ToolboxService(toolbox, version="1.0.0"), on_ready=_tell)
    finally:
        await upstream.aclose()


async def _connect() -> Wire:
    return await open_in_process_wire(ConformanceServer().build())


def _tell(url: str) -> None:
    print(f"serving at {url}", file=sys.stderr, flush=True)  # noqa: T201  # read by whoever started it


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    asyncio.run(serve())
