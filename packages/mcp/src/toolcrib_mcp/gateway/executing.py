"""`tool_execute`: from an id and arguments to what a model may read of the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib_core import (
    ArgumentError,
    InvalidToolId,
    ResolutionError,
    ToolError,
    UnknownTool,
    UnknownVersion,
    validate_arguments,
)
from toolcrib_core.wording import quoted
from toolcrib_mcp.browse.compact_schema import without_prose
from toolcrib_mcp.gateway.envelope import ExecuteResult
from toolcrib_mcp.gateway.failing_schema import failing_schema
from toolcrib_mcp.gateway.references import resolve_references
from toolcrib_mcp.proxy.embedding import lone_request
from toolcrib_mcp.proxy.results import in_words_of_caller
from toolcrib_mcp.rpc.codec import json_text

if TYPE_CHECKING:
    from toolcrib_mcp.catalog import HydrationResult
    from toolcrib_mcp.front import Caller, Request
    from toolcrib_mcp.gateway.screening import Screen
    from toolcrib_mcp.gateway.shelf import Shelf
    from toolcrib_mcp.proxy import ProxyRuntime
    from toolcrib_mcp.safeguards.call import RiskCheck

_TOLD = ("pointer", "message", "didYouMean")


class Executor:
    """Makes calls: nothing reaches a server unless its arguments are valid, and no large result reaches a model."""

    def __init__(self, runtime: ProxyRuntime, *, shelf: Shelf | None, screen: Screen) -> None:
        self._runtime = runtime
        self._shelf = shelf
        self._screen = screen

    async def execute(
        self,
        tool_id: str,
        args: Mapping[str, Any] | None = None,
        *,
        request: Request | None = None,
        check: RiskCheck | None = None,
    ) -> ExecuteResult:
        """Call a tool by any form of its id; references to artifacts in the arguments are followed first.

        `check` is asked whether a tool of its risk may be called in this way.

        Raises:
            ToolError: The call could not be made, or gave no result; see `ProxyRuntime.execute`. Invalid arguments
                come with every violation and, in `details["schema"]`, with the schema of what failed.
            RpcError: The server answered with an error that only the client itself can act on.
        """
        request = lone_request() if request is None else request
        tool = await self.hydrated(tool_id, caller=request.caller)
        try:
            return await self._called(tool, {} if args is None else args, request, check)
        except ToolError as error:
            raise in_words_of_caller(error, tool, tool_id) from None

    async def _called(
        self, tool: HydrationResult, args: Mapping[str, Any], request: Request, check: RiskCheck | None
    ) -> ExecuteResult:
        arguments = await resolve_references(args, shelf=self._shelf, caller=request.caller)
        result = await self._runtime.call(
            tool, arguments, request=request, validate=lambda: _validate(tool, arguments), check=check
        )
        risk = self._runtime.risk_of(tool)
        return await self._screen.screened(
            result,
            tool_id=tool.tool_id,
            caller=request.caller,
            repeatable=risk.idempotent or not risk.may_write,
        )

    async def hydrated(self, tool_id: str, *, caller: Caller) -> HydrationResult:
        """All about one tool, by any form of its id; it counts as seen by the caller.

        Raises:
            ToolError: As `ProxyRuntime.find`; the hint has what took the place of a tool that has changed.
        """
        try:
            tool = await self._runtime.find(tool_id)
        except UnknownVersion as error:
            raise _replaced(error) from None
        except (ResolutionError, InvalidToolId) as error:
            raise self._by_path(tool_id, error) from None
        await self._runtime.note_used(tool, caller=caller)
        return tool

    def _by_path(self, tool_id: str, error: ToolError) -> ToolError:
        """For the path of several tools in place of an id: how to see them."""
        if not tool_id.startswith("/"):
            return error
        try:
            self._runtime.hub.catalog.tree.find(tool_id)
        except ToolError:
            return error
        return UnknownTool(
            f"{quoted(tool_id)} is the path of several tools.", hint="Give it to `tool_browse` to see the tools there."
        )


def _replaced(error: UnknownVersion) -> UnknownVersion:
    """The tool is there in another version or shape: where that is one, it took the place of what was asked for."""
    near = error.details.get("didYouMean")
    if isinstance(near, list) and len(near) == 1:
        error.details["replacedBy"] = near[0]
        error.hint = f"It has changed: use `{near[0]}`. `tool_browse` with its name as `query` shows what it takes now."
    return error


def _validate(tool: HydrationResult, args: Mapping[str, Any]) -> None:
    try:
        validate_arguments(tool.definition, args)
    except ArgumentError as error:
        raise _explained(error, tool) from None


def _explained(error: ArgumentError, tool: HydrationResult) -> ArgumentError:
    """The error with the schema of what failed, and with nothing in it twice: a model reads all of it."""
    violations = error.details.get("violations")
    every = [each for each in violations if isinstance(each, dict)] if isinstance(violations, list) else []
    if every:
        error.details["violations"] = [{name: each[name] for name in _TOLD if name in each} for each in every]
    if len(every) > 1:
        error.message = f"The arguments of {quoted(tool.tool_id)} have {len(every):,} faults: see `violations`."
    shown = failing_schema(tool.input_schema, every)
    error.details["schema"] = shown
    if shown != without_prose(tool.input_schema):
        call = json_text({"path": tool.tool_id, "detail": "full"})
        error.hint = " ".join(filter(None, (error.hint, f"The whole schema: tool_browse {call}.")))
    return error
