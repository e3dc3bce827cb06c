"""Spans of calls, recorded by the real SDK of OpenTelemetry, and without any."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from span_cases import CANARY, PARENT, TRACE, guarded

from toolcrib_mcp.audit import call_event
from toolcrib_mcp.errors import UpstreamTimeout
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.safeguards.spans import call_span

pytestmark = pytest.mark.req("GW-8.6")


class Recorded:
    """A tracer of the SDK, and the spans that it has ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = provider.get_tracer("test")

    def spans(self, name: str = "execute_tool read") -> list[ReadableSpan]:
        return [each for each in self._exporter.get_finished_spans() if each.name == name]

    def span(self, name: str = "execute_tool read") -> ReadableSpan:
        (found,) = self.spans(name)
        return found


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_call_is_a_span_with_the_attributes_of_the_conventions(recorded: Recorded) -> None:
    with call_span(guarded(), tracer=recorded.tracer) as span:
        span.ended("ok")

    made = recorded.span()
    assert (made.kind, made.status.status_code, list(made.events)) == (SpanKind.CLIENT, StatusCode.UNSET, [])
    assert attributes(made) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "read",
        "gen_ai.tool.type": "function",
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2025-11-25",
        "toolcrib.tool.id": "files:read#01234567",
        "toolcrib.server": "files",
        "toolcrib.outcome": "ok",
    }


def test_a_call_belongs_to_the_trace_that_its_client_named(recorded: Recorded) -> None:
    with call_span(guarded(named=True), tracer=recorded.tracer) as span:
        assert span.trace_id == TRACE

    made = recorded.span()
    assert made.parent is not None
    assert (made.parent.trace_id, made.parent.span_id) == (int(TRACE, 16), 0xB7AD6B7169203331)


def test_the_server_is_told_of_our_span_as_its_parent(recorded: Recorded) -> None:
    with call_span(guarded(named=True), tracer=recorded.tracer) as span:
        onward = span.onward({"name": "x", "_meta": {"traceparent": PARENT, "tracestate": "a=b", "other": 1}})
        unusable = span.onward({"_meta": "none"})

    ours = f"00-{TRACE}-{recorded.span().context.span_id:016x}-01"
    assert onward == {"name": "x", "_meta": {"other": 1, "traceparent": ours, "tracestate": "vendor=1"}}
    assert unusable == {"_meta": {"traceparent": ours, "tracestate": "vendor=1"}}


def test_what_happens_in_a_call_is_a_child_of_it(recorded: Recorded) -> None:
    with call_span(guarded(), tracer=recorded.tracer), recorded.tracer.start_as_current_span("inside"):
        pass

    inside = recorded.span("inside")
    assert inside.parent is not None
    assert inside.parent.span_id == recorded.span().context.span_id


@pytest.mark.parametrize(("outcome", "error"), [("tool-error", "tool_error"), ("UPSTREAM_TIMEOUT", "UPSTREAM_TIMEOUT")])
def test_a_result_that_is_a_failure_is_one_in_the_span(recorded: Recorded, outcome: str, error: str) -> None:
    with call_span(guarded(), tracer=recorded.tracer) as span:
        span.ended(outcome)

    made = recorded.span()
    assert (made.status.status_code, attributes(made)["error.type"]) == (StatusCode.ERROR, error)


def test_a_question_to_the_client_is_no_failure(recorded: Recorded) -> None:
    with call_span(guarded(), tracer=recorded.tracer) as span:
        span.ended("asked")

    made = recorded.span()
    assert (made.status.status_code, "error.type" in attributes(made)) == (StatusCode.UNSET, False)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UpstreamTimeout(CANARY), "toolbox.upstream-timeout"),
        (RpcError(-32001, CANARY), "-32001"),
        (ValueError(CANARY), "ValueError"),
        (asyncio.CancelledError(CANARY), "toolbox.cancelled"),
    ],
)
@pytest.mark.fault("F18")
def test_what_is_raised_has_its_code_in_the_span_and_never_its_text(
    recorded: Recorded, error: BaseException, code: str
) -> None:
    with suppress(type(error)), call_span(guarded(), tracer=recorded.tracer):
        raise error

    made = recorded.span()
    assert (made.status.status_code, attributes(made)["error.type"]) == (StatusCode.ERROR, code)
    assert CANARY not in str(made.to_json())


def test_a_span_that_is_under_way_here_is_linked_or_is_the_parent(recorded: Recorded) -> None:
    with recorded.tracer.start_as_current_span("around"):
        with call_span(guarded(named=True), tracer=recorded.tracer):
            pass
        with call_span(guarded(), tracer=recorded.tracer):
            pass

    around = recorded.span("around").context.span_id
    named, unnamed = recorded.spans()
    assert named.parent is not None
    assert unnamed.parent is not None
    assert (named.parent.span_id, [each.context.span_id for each in named.links]) == (0xB7AD6B7169203331, [around])
    assert (unnamed.parent.span_id, list(unnamed.links)) == (around, [])


def test_without_an_sdk_no_span_is_made_and_nothing_is_changed() -> None:
    params = {"name": "x", "_meta": {"traceparent": PARENT}}

    with call_span(guarded(named=True)) as span:
        span.ended("ok")

        assert span.onward(params) is params
        assert span.trace_id == TRACE
    with call_span(guarded()) as span:
        assert span.trace_id is None


@pytest.mark.parametrize(
    "named",
    [5, None, ["x"], "", "00-xyz", "x" * 10_000, f"00-{'0' * 32}-b7ad6b7169203331-01", f"00-{TRACE}-{'0' * 16}-01"],
)
def test_a_trace_that_is_none_is_not_taken(named: Any) -> None:
    with call_span(guarded(meta={"traceparent": named})) as span:
        assert span.trace_id is None


@pytest.mark.parametrize("state", [7, "x" * 10_000, "=", "\x00"])
def test_a_trace_counts_whatever_its_state_is(state: Any) -> None:
    with call_span(guarded(meta={"traceparent": PARENT, "tracestate": state})) as span:
        assert span.trace_id == TRACE


def test_the_event_of_a_call_has_what_is_known_and_nothing_of_what_is_in_it() -> None:
    call = guarded(principal="ada", info={"name": "desk", "version": "1.2"})

    event = call_event(call, outcome="ok", duration_ms=2.0)

    assert (event.kind, event.principal, event.client, event.server) == ("call", "ada", "desk/1.2", "files")
    assert (event.tool, event.definition) == ("files:read#01234567", call.tool.digest)
    assert (event.argument_count, event.argument_bytes, event.outcome) == (1, 25, "ok")
    assert event.arguments is None
    assert CANARY not in repr(event)
    assert call.arguments_digest not in repr(event)


def test_the_event_has_arguments_only_where_they_are_asked_for() -> None:
    assert call_event(guarded(), "refused", with_arguments=True).arguments == b'{"query":"canary-61d0aa"}'


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({}, None),
        ({"name": 5}, None),
        ({"name": ""}, None),
        ({"name": "a", "version": 1}, "a"),
        ({"name": "a" * 999}, "a" * 200),
    ],
)
def test_a_client_is_told_as_far_as_it_said_something_usable(info: Any, told: str | None) -> None:
    assert call_event(guarded(info=info)).client == told


@pytest.mark.parametrize("arguments", [{"a": {1, 2}}, {"a": "\ud800"}, {"a": 2**70}])
def test_arguments_that_are_no_json_have_no_digest(arguments: Any) -> None:
    event = call_event(guarded(arguments=arguments))

    assert (event.arguments_digest, event.argument_bytes, event.argument_count) == (None, None, 1)
