"""The server that the conformance suite is run against, directly and through the proxy.

`python -m tests.reference.conformance_server` speaks over stdio; with `--http` it serves streamable HTTP on a free port
of loopback, and writes its URL to stderr. With `--mutation NAME` it is wrong in one way (see `mutations.py`).
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import warnings
from typing import Any, Final

import mcp.types as t
from mcp import MCPError
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from tests.reference import conformance_content as content
from tests.reference import conformance_listings as listings
from tests.reference.conformance_rounds import ROUND_TOOLS
from tests.reference.conformance_tools import PLAIN_TOOLS, Call, Result, said, tool
from tests.reference.mutations import MUTATIONS

CHANGES: Final = NotificationOptions(tools_changed=True, prompts_changed=True)


class ConformanceServer:
    """A server of the official SDK with everything that the suite asks for by name."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        triggers = (
            tool("test_trigger_tool_change", self._change_tools),
            tool("test_trigger_prompt_change", self._change_prompts),
        )
        self._tools = {each.definition.name: each for each in (*PLAIN_TOOLS, *ROUND_TOOLS, *triggers)}
        self._added = tool("test_added_tool", PLAIN_TOOLS[0].run)
        self._prompts = list(listings.PROMPTS)

    def build(self) -> Server[Any]:
        """The SDK's server over it."""
        hint = CacheHint(ttl_ms=1000, scope="public")
        return Server(
            "conformance-fixture",
            version="1.0.0",
            instructions="Everything that the conformance suite asks for.",
            cache_hints={"tools/list": hint, "prompts/list": hint, "resources/list": hint},
            get_tool_input_schema=self._schema_of,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscribe_resource=self._acknowledge,
            on_unsubscribe_resource=self._acknowledge,
            on_subscriptions_listen=ListenHandler(self._bus),
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_set_logging_level=self._acknowledge,
        )

    def _schema_of(self, name: str) -> dict[str, Any] | None:
        found = self._tools.get(name)
        return None if found is None else found.definition.input_schema

    async def _list_tools(self, _: ServerRequestContext[Any], __: Any) -> t.ListToolsResult:
        return t.ListToolsResult(tools=[each.definition for each in self._tools.values()])

    async def _call_tool(self, context: ServerRequestContext[Any], params: t.CallToolRequestParams) -> Result:
        found = self._tools.get(params.name)
        if found is None:
            raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await found.run(Call(context, params))

    async def _change_tools(self, call: Call) -> Result:
        if self._tools.pop("test_added_tool", None) is None:
            self._tools["test_added_tool"] = self._added
        if call.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await self._bus.publish(ToolsListChanged())
        else:
            await call.context.session.send_tool_list_changed()
        return said(content.text("The list of tools has changed."))

    async def _change_prompts(self, call: Call) -> Result:
        if listings.ADDED_PROMPT in self._prompts:
            self._prompts.remove(listings.ADDED_PROMPT)
        else:
            self._prompts.append(listings.ADDED_PROMPT)
        if call.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await self._bus.publish(PromptsListChanged())
        else:
            await call.context.session.send_prompt_list_changed()
        return said(content.text("The list of prompts has changed."))

    async def _list_resources(self, _: ServerRequestContext[Any], __: Any) -> t.ListResourcesResult:
        return t.ListResourcesResult(resources=list(listings.RESOURCES))

    async def _list_templates(self, _: ServerRequestContext[Any], __: Any) -> t.ListResourceTemplatesResult:
        return t.ListResourceTemplatesResult(resource_templates=list(listings.TEMPLATES))

    async def _read_resource(
        self, _: ServerRequestContext[Any], params: t.ReadResourceRequestParams
    ) -> t.ReadResourceResult:
        return listings.read_resource(str(params.uri))

    async def _list_prompts(self, _: ServerRequestContext[Any], __: Any) -> t.ListPromptsResult:
        return t.ListPromptsResult(prompts=list(self._prompts))

    async def _get_prompt(
        self, _: ServerRequestContext[Any], params: t.GetPromptRequestParams
    ) -> t.GetPromptResult | t.InputRequiredResult:
        return listings.get_prompt(params)

    async def _complete(self, _: ServerRequestContext[Any], params: t.CompleteRequestParams) -> t.CompleteResult:
        return listings.complete(params.argument.value)

    async def _acknowledge(self, _: ServerRequestContext[Any], __: Any) -> t.EmptyResult:
        return t.EmptyResult()


async def _serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options(CHANGES))


def _serve_http(server: Server[Any]) -> None:
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    # The other parser that uvicorn may find keeps the spaces around a header's value, and the suite minds.
    app = server.streamable_http_app()
    config = uvicorn.Config(app, http="h11", log_level="error", ws="none", timeout_graceful_shutdown=0)
    print(f"serving at http://127.0.0.1:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)  # noqa: T201  # read by the tests
    uvicorn.Server(config).run([listening])


def main() -> None:
    """Serve until the other side is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--mutation", choices=sorted(MUTATIONS))
    options = parser.parse_args()
    # The SDK deprecates logging and asking; clients of the handshake era are served all the same.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server = ConformanceServer().build()
    if options.mutation:
        server.middleware.append(MUTATIONS[options.mutation])
    if options.http:
        _serve_http(server)
    else:
        asyncio.run(_serve_stdio(server))


if __name__ == "__main__":
    main()
