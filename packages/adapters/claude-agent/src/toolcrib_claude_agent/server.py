"""Servers and tools of the Claude Agent SDK: the only module that needs the SDK, when one is built."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, cast

from toolcrib_claude_agent.calls import parse_claude_agent_call
from toolcrib_claude_agent.definitions import ClaudeAgentTools, to_claude_agent_tools
from toolcrib_claude_agent.permissions import ToolPermissions, to_claude_agent_permissions
from toolcrib_claude_agent.results import as_result, to_claude_agent_result
from toolcrib_claude_agent.strict import CHECKED_BY_SDK
from toolcrib_core.errors import CatalogError, ToolError
from toolcrib_core.json_values import JsonObject
from toolcrib_core.providers.parsed import BrokenCall
from toolcrib_core.providers.tool_sources import OnIllegal, ToolsLike
from toolcrib_core.wording import quoted

if TYPE_CHECKING:
    from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool

_log = logging.getLogger(__name__)

Handler: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[object]]
"""Runs a tool: gets its id and valid arguments, and gives a result, text, or any JSON value; a `ToolError` is told."""


class Caller(Protocol):
    """Anything that runs tools by name, such as a `Toolbox`."""

    def call(self, name: str, arguments: dict[str, Any], /) -> Awaitable[object]:
        """Run a tool by its id."""


class ClaudeAgentServer(NamedTuple):
    """A server for the SDK, with what its options want to know about it."""

    config: McpSdkServerConfig
    """For `ClaudeAgentOptions(mcp_servers={name: config})`."""
    tools: ClaudeAgentTools
    permissions: ToolPermissions


def create_claude_agent_server(
    source: ToolsLike,
    handler: Handler | Caller | None = None,
    *,
    name: str = "toolcrib",
    version: str = "1.0.0",
    max_result_chars: int | None = None,
    read_only: bool = False,
    on_illegal: OnIllegal = "raise",
) -> ClaudeAgentServer:
    """An MCP server inside this process that offers tools to the Claude Agent SDK.

    Arguments are validated against the original schemas before the handler gets them; every failure reaches the model
    as an error result. It needs the extra `sdk`.

    Args:
        source: A toolbox, which runs its own tools; or a registry, one tool or a list of tools, which the handler runs.
        handler: A coroutine function of tool id and arguments, or an object whose `call` is one.
        name: The name of the server, which is part of the names of its tools.
        version: The version that the server says it has.
        max_result_chars: As in `to_claude_agent_tools`.
        read_only: As in `to_claude_agent_permissions`.
        on_illegal: As in `to_claude_agent_tools`; `tools.skipped` has the reasons.

    Raises:
        CatalogError: Nothing runs the tools, or the names cannot be used.
        ModuleNotFoundError: The extra `sdk` is not installed.
    """
    from claude_agent_sdk import McpSdkServerConfig
    from mcp.server import Server
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, Tool

    run = _runner(source, handler)
    tools = to_claude_agent_tools(source, server=name, max_result_chars=max_result_chars, on_illegal=on_illegal)
    listed = [Tool.model_validate(each) for each in tools.tools]

    async def list_tools(*_: object) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def call_tool(_: object, params: CallToolRequestParams) -> CallToolResult:
        told = await _answer(run, tools, params.name, params.arguments)
        try:
            return CallToolResult.model_validate(told)
        except ValueError:  # content that is none: the SDK's models say so in their own way
            return CallToolResult.model_validate(_failed(params.name))

    server: Server[Any] = Server(name, version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    config = McpSdkServerConfig(type="sdk", name=name, instance=server)
    return ClaudeAgentServer(config, tools, to_claude_agent_permissions(tools, read_only=read_only))


def to_sdk_mcp_tools(
    source: ToolsLike,
    handler: Handler | Caller | None = None,
    *,
    server: str = "toolcrib",
    on_illegal: OnIllegal = "raise",
) -> list[SdkMcpTool[Any]]:
    """The tools as `SdkMcpTool`, to be put beside others into a server of the SDK's own making.

    The SDK validates arguments itself before we do, so that its messages come first, and regular expressions stand in
    descriptions only; a server of `create_claude_agent_server` has neither fault.

    Raises:
        CatalogError: Nothing runs the tools, or the names cannot be used.
        ModuleNotFoundError: The extra `sdk` is not installed.
    """
    from claude_agent_sdk import SdkMcpTool
    from mcp.types import ToolAnnotations

    run = _runner(source, handler)
    tools = to_claude_agent_tools(source, server=server, dialect=CHECKED_BY_SDK, on_illegal=on_illegal)

    def handle(name: str) -> Callable[[Any], Awaitable[dict[str, Any]]]:
        async def handled(arguments: Any) -> dict[str, Any]:
            told = await _answer(run, tools, name, arguments)
            return {"content": told["content"], "is_error": told["isError"]}

        return handled

    return [
        SdkMcpTool(
            name=each["name"],
            description=each["description"],
            input_schema=each["inputSchema"],
            handler=handle(each["name"]),
            annotations=ToolAnnotations.model_validate(each["annotations"]),
        )
        for each in _plain(tools.tools)
    ]


def _plain(tools: list[JsonObject]) -> list[dict[str, Any]]:
    return [*tools]


def _runner(source: object, handler: Handler | Caller | None) -> Handler:
    # A runnable tool is callable, but not with an id and arguments.
    run: Any = getattr(source, "call", None) if handler is None else getattr(handler, "call", handler)
    if not callable(run):
        raise CatalogError(
            "Nothing runs these tools.",
            hint="Give a toolbox, `create_toolbox(tools)`, or a handler: a coroutine function of id and arguments.",
        )
    return cast("Handler", run)


async def _answer(run: Handler, tools: ClaudeAgentTools, name: str, arguments: object) -> JsonObject:
    """The result of one call, whatever happens; only a cancellation passes through."""
    call = parse_claude_agent_call(name, arguments, tools.names)
    if isinstance(call, BrokenCall):
        return to_claude_agent_result(call)
    try:
        return to_claude_agent_result(as_result(call.tool_id, await run(call.tool_id, call.arguments)))
    except ToolError as failure:
        return to_claude_agent_result(BrokenCall("", call.tool_id, failure))
    except Exception:  # noqa: BLE001  # the edge of the process: what a handler raises must not reach the model
        return _failed(call.tool_id)


def _failed(tool_id: str) -> JsonObject:
    """The result of a call whose handler raised, or gave what is no result; the log has the reason."""
    reference = secrets.token_hex(4)
    _log.error("%s failed (%s)", tool_id, reference, exc_info=True)
    failure = ToolError(
        f"{quoted(tool_id)} failed for a reason of its own (reference `{reference}`).",
        hint="Try something else, and tell the person in charge the reference.",
    )
    return to_claude_agent_result(BrokenCall("", tool_id, failure))
