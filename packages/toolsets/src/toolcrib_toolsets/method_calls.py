"""Calling a method of an instance that is open, on behalf of its owner."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from toolcrib_core import ToolDefinition
from toolcrib_core.wording import listed, quoted
from toolcrib_runtime import Toolbox, ToolCall, ToolResult
from toolcrib_toolsets.contract import ToolsetExecutionResponse
from toolcrib_toolsets.errors import MethodNotFound


async def call_method(
    toolbox: Toolbox, method: str, arguments: Mapping[str, JsonValue], *, instance: str, owner: str
) -> ToolsetExecutionResponse:
    """What the method of an instance answers; what goes wrong in it is in the response.

    Raises:
        MethodNotFound: There is no such method.
    """
    result = await _called(toolbox, method_of(toolbox, method, instance=instance), arguments, by=owner)
    error = None if result.error is None else _json(result.error.to_dict())
    return ToolsetExecutionResponse(error=error) if error else ToolsetExecutionResponse(result=result.value)


def method_of(toolbox: Toolbox, method: str, *, instance: str) -> ToolDefinition:
    """The tool that a method of an instance is.

    Raises:
        MethodNotFound: There is no such method.
    """
    by_name = {each.name: each for each in toolbox.registry.list()}
    if method not in by_name:
        raise MethodNotFound.of(subject=quoted(instance), method=quoted(method), known=listed(sorted(by_name)))
    return by_name[method]


async def _called(toolbox: Toolbox, tool: ToolDefinition, arguments: Mapping[str, JsonValue], *, by: str) -> ToolResult:
    result = await toolbox.execute(ToolCall(tool=str(tool.id), arguments=dict(arguments)))
    if result.action is None:
        return result
    # The owner asks for this very call; who stands between them and us asks before it comes here.
    approval = toolbox.grant(result.action, by=by)
    return await toolbox.execute(ToolCall(tool=str(tool.id), arguments=dict(arguments), approval=approval))


def _json(error: Mapping[str, object]) -> Mapping[str, JsonValue]:
    return error  # type: ignore[return-value]  # what `to_dict` gives is JSON
