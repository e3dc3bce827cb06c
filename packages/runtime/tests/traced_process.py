"""A process that runs tools under the OpenTelemetry SDK and prints what was recorded, as JSON.

The providers of OpenTelemetry can be set once in a process, so that the tests set them in this one.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolcrib_runtime import Policy, RetryPolicy, RuntimeToolContext, ToolCall, create_toolbox, tool

POLICY = Policy(by_risk=None)


@tool(name="good", namespace="test", effects="read")
async def good(password: str) -> dict[str, str]:
    """Say something good."""
    with trace.get_tracer("handler").start_as_current_span("inside"):
        await asyncio.sleep(0)
    return {"token": "ghp_" + "a1B2" * 9, "word": "fine"}


@tool(name="bad", namespace="test", effects="read")
def bad() -> None:
    """Say something bad."""
    with trace.get_tracer("handler").start_as_current_span("in a thread"):
        raise ValueError("value-of-the-tool")


@tool(name="slow", namespace="test", effects="read")
async def slow() -> None:
    """Take too long."""
    await asyncio.Event().wait()


@tool(name="flaky", namespace="test", effects="read", retries=RetryPolicy(attempts=3, first_delay=0))
async def flaky() -> None:
    """Fail in passing."""
    raise ConnectionError


@tool(name="outer", namespace="test", effects="read")
async def outer(context: RuntimeToolContext) -> object:
    """Call another one."""
    return await context.call(good, {"password": "inner-secret"})


async def run() -> None:
    secret = {"password": "plain-secret"}
    shy = create_toolbox([good, bad, slow, flaky, outer], policy=POLICY)
    open_hearted = create_toolbox([good, bad], policy=POLICY, telemetry_content=True)
    await shy.execute(ToolCall("test:good", secret, id="call-1"))
    await shy.call("test:bad")
    await shy.call("test:slow", timeout=0.01)
    await shy.call("test:flaky")
    await shy.call("test:good", {"password": 5})
    await shy.call("test:outer")
    await open_hearted.execute(ToolCall("test:good", secret, id="call-open"))
    await open_hearted.execute(ToolCall("test:bad", id="call-open-bad"))
    task = asyncio.create_task(shy.execute(ToolCall("test:slow", id="call-cancelled")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await good.run(secret)


def recorded(exporter: InMemorySpanExporter, reader: InMemoryMetricReader) -> dict[str, Any]:
    spans = [
        {
            "name": each.name,
            "kind": each.kind.name,
            "status": each.status.status_code.name,
            "attributes": dict(each.attributes or {}),
            "id": each.context.span_id,
            "parent": each.parent and each.parent.span_id,
            "events": [event.name for event in each.events],
        }
        for each in exporter.get_finished_spans()
    ]
    data = reader.get_metrics_data()
    points = [
        {"metric": metric.name, "unit": metric.unit, "count": point.count, "attributes": dict(point.attributes)}
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    ]
    return {"spans": spans, "points": points}


def main() -> None:
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    asyncio.run(run())
    print(json.dumps(recorded(exporter, reader)))  # noqa: T201  # whoever started the process reads it


if __name__ == "__main__":
    main()
