"""The tools of the conformance server that need nothing from the client but the call, or ask it in its own way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import mcp.types as t
from mcp import MCPError
from mcp.server import ServerRequestContext

from tests.reference import conformance_content as content

Result: TypeAlias = t.CallToolResult | t.InputRequiredResult

# The suite wants to see that messages come while the tool still runs.
_PAUSE: Final = 0.05
_MISSING_CAPABILITY: Final = -32021


@dataclass(frozen=True)
class Call:
    """One call of a tool: who asks, and with what."""

    context: ServerRequestContext[Any]
    params: t.CallToolRequestParams

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments; none given is an empty object."""
        return self.params.arguments or {}


@dataclass(frozen=True)
class FixtureTool:
    """A tool as it is listed, and what it does."""

    definition: t.Tool
    run: Callable[[Call], Awaitable[Result]]


def tool(name: str, run: Callable[[Call], Awaitable[Result]], *, schema: dict[str, Any] | None = None) -> FixtureTool:
    """A tool; without a schema it takes nothing."""
    definition = t.Tool(name=name, description=f"Fixture {name}.", input_schema=schema or content.NOTHING)
    return FixtureTool(definition, run)


def said(*blocks: t.ContentBlock, is_error: bool = False) -> t.CallToolResult:
    """A finished result."""
    return t.CallToolResult(content=list(blocks), is_error=is_error)


def _always(*blocks: t.ContentBlock, is_error: bool = False) -> Callable[[Call], Awaitable[Result]]:
    async def answer(_: Call) -> Result:
        return said(*blocks, is_error=is_error)

    return answer


async def _log(call: Call) -> Result:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.context.session.send_log_message("info", message, related_request_id=call.context.request_id)
        await asyncio.sleep(_PAUSE)
    return said(content.text("Three messages were logged."))


async def _report_progress(call: Call) -> Result:
    for done in (0, 50, 100):
        await call.context.session.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(_PAUSE)
    return said(content.text("Everything is done."))


async def _sample(call: Call) -> Result:
    question = t.SamplingMessage(role="user", content=content.text(call.arguments["prompt"]))
    answer = await call.context.session.create_message(
        [question], max_tokens=100, related_request_id=call.context.request_id
    )
    words = answer.content.text if isinstance(answer.content, t.TextContent) else "(not text)"
    return said(content.text(f"LLM response: {words}"))


def _elicit(form: dict[str, Any]) -> Callable[[Call], Awaitable[Result]]:
    async def ask(call: Call) -> Result:
        message = call.arguments.get("message", "Please fill this in.")
        answer = await call.context.session.elicit_form(message, form, related_request_id=call.context.request_id)
        return said(content.text(f"Elicitation completed: action={answer.action}, content={answer.content}"))

    return ask


async def _need_sampling(call: Call) -> Result:
    if call.context.session.check_client_capability(t.ClientCapabilities(sampling=t.SamplingCapability())):
        return said(content.text("The client can sample."))
    data: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(_MISSING_CAPABILITY, "This tool needs a client that can sample.", data)


PLAIN_TOOLS: Final[tuple[FixtureTool, ...]] = (
    tool("test_simple_text", _always(content.text("This is a simple text response for testing."))),
    tool("test_image_content", _always(content.image())),
    tool("test_audio_content", _always(content.audio())),
    tool(
        "test_embedded_resource",
        _always(content.embedded("test://embedded-resource", "This is an embedded resource content.")),
    ),
    tool(
        "test_multiple_content_types",
        _always(
            content.text("Multiple content types test:"),
            content.image(),
            content.embedded(
                "test://mixed-content-resource", '{"test":"data","value":123}', mime_type="application/json"
            ),
        ),
    ),
    tool("test_tool_with_logging", _log),
    tool("test_logging_tool", _log),
    tool("test_tool_with_progress", _report_progress),
    tool(
        "test_error_handling",
        _always(content.text("This tool intentionally returns an error for testing"), is_error=True),
    ),
    tool("test_sampling", _sample, schema=content.strings("prompt")),
    tool("test_elicitation", _elicit(content.USER_FORM), schema=content.strings("message")),
    tool("test_elicitation_sep1034_defaults", _elicit(content.DEFAULTS_FORM)),
    tool("test_elicitation_sep1330_enums", _elicit(content.ENUMS_FORM)),
    tool(
        "json_schema_2020_12_tool", _always(content.text("The schema is what counts.")), schema=content.SCHEMA_2020_12
    ),
    tool("test_missing_capability", _need_sampling),
    tool("test_custom_header", _always(content.text("The header fits.")), schema=content.MIRRORED_ARGUMENT),
)
