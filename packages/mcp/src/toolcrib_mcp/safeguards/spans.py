"""One span for every call, by OpenTelemetry's conventions for generative AI and MCP, through the API package only.

Without a configured SDK no span is made. Nothing of what is in a call or its result is in a span.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from toolcrib_core import ToolError
from toolcrib_mcp.audit.events import printable
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.call import GuardedCall
from toolcrib_runtime.errors import CallCancelled

OK: Final = "ok"
TOOL_ERROR: Final = "tool-error"
"""The outcome of a call whose result says `isError`."""

ASKED: Final = "asked"
"""The outcome of a call whose client has to answer a question first."""

_NAME: Final = "toolcrib.mcp"
_OPERATION: Final = "execute_tool"
_CONVENTION: Final = "tool_error"
_PARENT, _STATE = "traceparent", "tracestate"
_MAX_PARENT, _MAX_STATE = 128, 512
_propagator = TraceContextTextMapPropagator()
# The tracer of the API passes on to an SDK that is installed later.
_tracer = trace.get_tracer(_NAME)


class CallSpan:
    """The span of one call, which may be none."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def trace_id(self) -> str | None:
        """The trace that the call belongs to, in hex: the client's where it named one; `None` where there is none."""
        context = self._span.get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else None

    def onward(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The params with this span as the server's parent; as they came where no span is made."""
        if not self._span.is_recording():
            return params
        carried: dict[str, str] = {}
        _propagator.inject(carried, trace.set_span_in_context(self._span, Context()))
        meta = params.get("_meta")
        kept = meta if isinstance(meta, Mapping) else {}
        others = {key: value for key, value in kept.items() if key not in {_PARENT, _STATE}}
        return {**params, "_meta": {**others, **carried}}

    def ended(self, outcome: str) -> None:
        """Note how the call ended: `ok`, `asked`, `tool-error`, or the code of an error."""
        if not self._span.is_recording():
            return
        self._span.set_attribute("toolcrib.outcome", printable(outcome))
        if outcome not in {OK, ASKED}:
            self._span.set_attribute("error.type", _CONVENTION if outcome == TOOL_ERROR else printable(outcome))
            self._span.set_status(Status(StatusCode.ERROR))


@contextmanager
def call_span(call: GuardedCall, *, tracer: Tracer | None = None) -> Iterator[CallSpan]:
    """The span around a call; an exception that leaves the block is noted by its code, never by its text.

    Without a `tracer` it is made by that of whatever SDK the process has installed.
    """
    name = printable(call.tool.definition.name)
    parent, links = _origin(call.request.meta)
    span = (tracer or _tracer).start_span(f"{_OPERATION} {name}", context=parent, kind=SpanKind.CLIENT, links=links)
    traced = CallSpan(span)
    if not span.is_recording():
        yield traced
        return
    span.set_attributes(_attributes(call, name))
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield traced
        except BaseException as error:
            traced.ended(_code(error))
            raise


def _attributes(call: GuardedCall, name: str) -> dict[str, str]:
    return {
        "gen_ai.operation.name": _OPERATION,
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": printable(call.request.caller.protocol_version),
        "toolcrib.tool.id": printable(call.tool.tool_id),
        "toolcrib.server": printable(call.tool.upstream),
    }


def _origin(meta: Mapping[str, Any]) -> tuple[Context | None, list[Link]]:
    """The span that the client named, and beside it the one that is under way here; or only the latter."""
    named, state = meta.get(_PARENT), meta.get(_STATE)
    if not isinstance(named, str) or len(named) > _MAX_PARENT:
        return None, []
    carrier = {_PARENT: named}
    if isinstance(state, str) and len(state) <= _MAX_STATE:
        carrier[_STATE] = state
    parent = _propagator.extract(carrier, Context())
    if not trace.get_current_span(parent).get_span_context().is_valid:
        return None, []
    around = trace.get_current_span().get_span_context()
    return parent, [Link(around)] if around.is_valid else []


def _code(error: BaseException) -> str:
    match error:
        case ToolError():
            return error.code
        case RpcError():
            return str(error.code)
        case asyncio.CancelledError():
            return CallCancelled.default_code
    return type(error).__name__
