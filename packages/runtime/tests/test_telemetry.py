"""Spans and metrics, recorded by the real SDK of OpenTelemetry in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from small_toolboxes import as_tool, box, called

from toolcrib_runtime.testing import fake_tool

pytestmark = pytest.mark.req("RT-15")

_TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture(scope="module")
def recorded() -> Any:
    command = [sys.executable, str(Path(__file__).with_name("traced_process.py"))]
    ended = subprocess.run(command, capture_output=True, check=True, timeout=60, text=True)
    return json.loads(ended.stdout)


def spans_of(recorded: Any, name: str) -> list[Any]:
    return [each for each in recorded["spans"] if each["name"] == f"execute_tool {name}"]


def test_a_call_is_a_span_with_the_attributes_of_the_conventions(recorded: Any) -> None:
    span = spans_of(recorded, "good")[0]

    assert (span["kind"], span["status"], span["events"]) == ("INTERNAL", "UNSET", [])
    assert span["attributes"].pop("toolcrib.tool.id") == "test:good"
    assert span["attributes"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "good",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "call-1",
        "gen_ai.tool.description": "Say something good.",
        "toolcrib.outcome": "success",
        "toolcrib.attempts": 1,
    }


@pytest.mark.parametrize(
    ("name", "number", "error", "attempts"),
    [
        ("bad", 0, "tool.test.bad.failed", 1),
        ("slow", 0, "toolbox.deadline-exceeded", 1),
        ("flaky", 0, "tool.test.flaky.connection-lost", 3),
        ("good", 1, "toolbox.invalid-arguments", 0),
    ],
)
def test_a_failure_is_a_span_with_the_code_of_the_error(
    recorded: Any, name: str, number: int, error: str, attempts: int
) -> None:
    span = spans_of(recorded, name)[number]

    assert (span["status"], span["attributes"]["error.type"]) == ("ERROR", error)
    assert span["attributes"]["toolcrib.attempts"] == attempts


def test_a_call_whose_caller_was_cancelled_has_a_span_that_says_so(recorded: Any) -> None:
    (span,) = [each for each in recorded["spans"] if each["attributes"].get("gen_ai.tool.call.id") == "call-cancelled"]

    assert span["attributes"]["error.type"] == "toolbox.cancelled"


def test_however_often_it_is_tried_a_call_is_one_span(recorded: Any) -> None:
    assert len(spans_of(recorded, "flaky")) == 1


@pytest.mark.parametrize(("inside", "name"), [("inside", "good"), ("in a thread", "bad")])
def test_the_spans_of_a_handler_are_children_of_its_call(recorded: Any, inside: str, name: str) -> None:
    parents = {each["parent"] for each in recorded["spans"] if each["name"] == inside} - {None}

    assert spans_of(recorded, name)[0]["id"] in parents


def test_the_span_of_a_step_is_a_child_of_the_call_that_it_belongs_to(recorded: Any) -> None:
    (outer,) = spans_of(recorded, "outer")

    assert [each["parent"] for each in spans_of(recorded, "good")].count(outer["id"]) == 1


@pytest.mark.fault("F18")
def test_arguments_and_values_stay_out_of_the_spans(recorded: Any) -> None:
    shy = [
        each
        for each in recorded["spans"]
        if not str(each["attributes"].get("gen_ai.tool.call.id")).startswith("call-open")
    ]
    ours = [each for each in shy if each["name"].startswith("execute_tool")]

    assert not any(each in json.dumps(ours) for each in ("secret", _TOKEN, "fine", "value-of-the-tool"))
    assert not any("gen_ai.tool.call.arguments" in each["attributes"] for each in ours)


@pytest.mark.fault("F18")
def test_a_toolbox_that_asks_for_content_has_it_scrubbed(recorded: Any) -> None:
    spans = {each["attributes"].get("gen_ai.tool.call.id"): each["attributes"] for each in recorded["spans"]}
    good, bad = spans["call-open"], spans["call-open-bad"]

    assert list(json.loads(good["gen_ai.tool.call.arguments"])) == ["password"]
    assert json.loads(good["gen_ai.tool.call.result"])["word"] == "fine"
    assert "value-of-the-tool" in bad["gen_ai.tool.call.result"]
    assert not any(each in json.dumps([good, bad]) for each in ("plain-secret", _TOKEN))


def test_every_call_is_measured_by_tool_and_error(recorded: Any) -> None:
    points = {
        (each["attributes"]["gen_ai.tool.name"], each["attributes"].get("error.type")): each["count"]
        for each in recorded["points"]
    }

    assert {(each["metric"], each["unit"]) for each in recorded["points"]} == {
        ("gen_ai.client.operation.duration", "s")
    }
    assert points == {
        ("good", None): 4,
        ("good", "toolbox.invalid-arguments"): 1,
        ("bad", "tool.test.bad.failed"): 2,
        ("slow", "toolbox.deadline-exceeded"): 1,
        ("flaky", "tool.test.flaky.connection-lost"): 1,
        ("outer", None): 1,
    }


@pytest.fixture
def sdk_without_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK looks loaded; what spans and metrics go to is the nothing of the API."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk", ModuleType("opentelemetry.sdk"))


@pytest.mark.usefixtures("sdk_without_providers")
async def test_results_are_the_same_where_nothing_records_them() -> None:
    good, bad = fake_tool("good", returns=1), fake_tool("bad", raises=ValueError)

    results = [await called(each, {"x": 1}, telemetry_content=True) for each in (good, bad)]

    assert [each.outcome for each in results] == ["success", "error"]
    assert await good.run({}) == 1


@pytest.mark.usefixtures("sdk_without_providers")
async def test_content_of_a_call_with_bad_arguments_is_nothing() -> None:
    result = await called(as_tool(lambda: 1, name="none"), {"x": 1}, telemetry_content=True)

    assert result.outcome == "error"


@pytest.mark.usefixtures("sdk_without_providers")
async def test_the_callers_cancellation_passes_through_a_span() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(box(work).call("work"))
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_tool_that_is_run_alone_has_a_span_too(recorded: Any) -> None:
    assert [each["attributes"]["toolcrib.outcome"] for each in spans_of(recorded, "good")].count("success") == 4
