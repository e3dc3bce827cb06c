"""`import_tools`: the tools of an MCP server as tools that a toolbox can run."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from toolcrib_mcp.catalog import Catalog, CatalogSnapshot, HydrationResult, UpstreamTerms
from toolcrib_mcp.toolboxes.answers import output_of
from toolcrib_mcp.toolboxes.reports import is_number
from toolcrib_mcp.upstreams import Upstream
from toolcrib_runtime import RunnableTool, RuntimeToolContext, ToolOutput
from toolcrib_runtime.binding import Binding, whole
from toolcrib_runtime.runnable import make_runnable

_logger = logging.getLogger("toolcrib.mcp")


async def import_tools(
    upstream: Upstream, *, namespace: str | None = None, trusted: bool = False
) -> list[RunnableTool]:
    """The tools that a server has now, ascending by id, with the definitions that the catalogue makes of them.

    The namespace is the server's name unless another is given. What a server says about its tools can raise their risk,
    and lower it only where the server is `trusted`; so those of others are asked about before they run. A tool that
    cannot be used is left out, and logged. The server must stay open for as long as the tools are used.

    A call runs under the rules and within the time of its toolbox, and is taken back there when it is taken back here.
    Its value is the structured content of the answer, else its text; content blocks of all kinds are kept as they came.
    When the answer is lost, a call that must not be made twice ends as `unknown_outcome`.

    Raises:
        UpstreamError: The list could not be had.
    """
    listing = await upstream.tools()
    terms = UpstreamTerms(server=namespace or upstream.name, trusted=trusted)
    # In a thread: to read 1,000 tools takes about a second of computing.
    snapshot = await asyncio.to_thread(_read, upstream.name, listing.items, terms)
    for finding in (*snapshot.report.left_out, *snapshot.report.withheld):
        _logger.warning("a tool was not imported: %s", finding.to_dict())
    return [_runnable(upstream, snapshot.hydrate(each)) for each in snapshot.ids]


def _read(upstream: str, items: tuple[Any, ...], terms: UpstreamTerms) -> CatalogSnapshot:
    catalog = Catalog()
    catalog.update(upstream, items, terms=terms)
    return catalog.snapshot()


def _runnable(upstream: Upstream, tool: HydrationResult) -> RunnableTool:
    async def run(arguments: dict[str, Any], context: RuntimeToolContext) -> ToolOutput:
        async def report(params: dict[str, Any]) -> None:
            _report(params, context)

        params = {"name": tool.upstream_name, "arguments": arguments}
        result = await upstream.call("tools/call", params, timeout=context.remaining, on_progress=report)
        return output_of(result, tool.definition)

    return make_runnable(tool.definition, Binding(run, ("context",), whole))


def _report(params: dict[str, Any], context: RuntimeToolContext) -> None:
    done, total, message = params.get("progress"), params.get("total"), params.get("message")
    if is_number(done):
        context.progress(done, total if is_number(total) else None, message if isinstance(message, str) else None)
