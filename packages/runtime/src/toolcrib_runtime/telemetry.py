"""Spans and metrics by OpenTelemetry's conventions for generative AI, through the API package only.

Without a configured SDK nothing is made and nothing is paid. Arguments and values stay out of the spans unless a
toolbox asks for them, and are then scrubbed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import cache
from typing import Any, Final

import orjson
from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from toolcrib_core import ToolDefinition
from toolcrib_runtime.calls import ToolResult
from toolcrib_runtime.errors import CallCancelled
from toolcrib_runtime.guards.secrets.scrubbing import Scrubber
from toolcrib_runtime.invocation import Invocation

_NAME: Final = "toolcrib.runtime"
_OPERATION: Final = "execute_tool"
_MAX_DESCRIPTION = 500
_MAX_CONTENT = 10_000


async def traced(work: Coroutine[Any, Any, ToolResult], invocation: Invocation) -> ToolResult:
    """Run a call inside a span of its own, and measure it."""
    definition = invocation.definition
    attributes: dict[str, str] = {
        "gen_ai.operation.name": _OPERATION,
        "gen_ai.tool.name": definition.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": invocation.call_id,
        "gen_ai.tool.description": definition.description[:_MAX_DESCRIPTION],
        "toolcrib.tool.id": definition.id,
    }
    tracer = trace.get_tracer(_NAME)
    name = f"{_OPERATION} {definition.name}"
    with tracer.start_as_current_span(name, kind=SpanKind.INTERNAL, attributes=attributes) as span:
        try:
            result = await work
        except asyncio.CancelledError:
            span.set_attribute("error.type", CallCancelled.default_code)
            raise
        span.set_attribute("toolcrib.outcome", result.outcome)
        span.set_attribute("toolcrib.attempts", result.attempts)
        if result.error is not None:
            span.set_attribute("error.type", result.error.code)
            span.set_status(Status(StatusCode.ERROR, result.error.category.value))
        if invocation.settings.telemetry_content:
            span.set_attributes(_content(result, invocation.settings.scrubber))
    _duration().record(result.duration, _measured(definition, result))
    return result


def _measured(definition: ToolDefinition, result: ToolResult) -> dict[str, str]:
    measured = {"gen_ai.operation.name": _OPERATION, "gen_ai.tool.name": definition.name}
    return measured if result.error is None else {**measured, "error.type": result.error.code}


def _content(result: ToolResult, scrubber: Scrubber) -> dict[str, str]:
    # As JSON, not as text: what is called `password` is a secret, whatever it looks like.
    arguments = None if result.snapshot is None else orjson.loads(result.snapshot)
    value = result.value if result.error is None else result.text
    return {
        "gen_ai.tool.call.arguments": orjson.dumps(scrubber.scrub(arguments)).decode()[:_MAX_CONTENT],
        "gen_ai.tool.call.result": orjson.dumps(scrubber.scrub(value)).decode()[:_MAX_CONTENT],
    }


@cache
def _duration() -> metrics.Histogram:
    # The meter of the API passes on to an SDK that is installed later.
    return metrics.get_meter(_NAME).create_histogram(
        "gen_ai.client.operation.duration", unit="s", description="How long calls of tools took."
    )
