"""Looking into definitions and registries at three levels."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import QueryError
from toolcrib_core.inspection import inspect
from toolcrib_core.registry import create_registry

_TOOL = ToolDefinition(
    namespace="fs",
    name="find",
    version="1.0.0",
    description="Find files.",
    tags=["files"],
    input_schema={
        "type": "object",
        "required": ["pattern"],
        "properties": {
            "pattern": {"type": "string"},
            "limit": {"type": ["integer", "null"]},
            "kind": {"enum": ["file", "folder"]},
            "root": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Root"}]},
            "any": True,
            "never": False,
            "free": {},
        },
        "$defs": {"Root": {"type": "object"}},
    },
)


@pytest.mark.req("AR-1.7", "D1-1b")
def test_a_summary_names_the_tool() -> None:
    assert inspect(_TOOL, level="summary") == snapshot(
        {"id": "fs:find@1.0.0", "title": None, "description": "Find files.", "tags": ["files"], "deprecated": False}
    )


@pytest.mark.req("AR-1.7", "D1-1b")
def test_the_standard_level_adds_parameters_risk_lifecycle_and_digests() -> None:
    report: Any = inspect(_TOOL)

    assert report["parameters"] == snapshot(
        {
            "pattern": {"type": "string", "required": True},
            "limit": {"type": "integer | null", "required": False},
            "kind": {"type": "enum", "required": False},
            "root": {"type": "string | Root", "required": False},
            "any": {"type": "any", "required": False},
            "never": {"type": "nothing", "required": False},
            "free": {"type": "any", "required": False},
        }
    )
    assert report["digests"] == {"shape": _TOOL.shape_digest, "prose": _TOOL.prose_digest}
    assert report["risk"]["effects"] == "unknown"


@pytest.mark.req("AR-1.7")
def test_the_full_level_adds_the_serialized_definition() -> None:
    report: Any = inspect(_TOOL, level="full")

    assert report["definition"]["inputSchema"] == _TOOL.input_schema


@pytest.mark.req("AR-1.7")
def test_a_registry_is_counted_and_each_tool_inspected() -> None:
    old = _TOOL.replace(name="old", lifecycle={"deprecated": True}, tags=[], output_schema={})

    report: Any = inspect(create_registry([_TOOL, old]), level="summary")

    assert report["counts"] == snapshot(
        {"tools": 2, "namespaces": 1, "deprecated": 1, "withOutputSchema": 1, "withTags": 1, "lossy": 0}
    )
    assert [each["id"] for each in report["tools"]] == ["fs:find@1.0.0", "fs:old@1.0.0"]


@pytest.mark.req("AR-1.7")
def test_a_report_can_be_changed_without_changing_the_tool() -> None:
    report: Any = inspect(_TOOL, level="full")

    report["definition"]["inputSchema"].clear()
    report["tags"].append("x")

    assert inspect(_TOOL, level="full") != report


@pytest.mark.req("AR-1.7")
def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(QueryError, match="everything"):
        inspect(_TOOL, level="everything")  # type: ignore[arg-type]  # on purpose
