"""What a report of losses says is true of any schema, and nothing that was not demanded narrows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.oracle import CASES, check
from tests.adapters.schemas import input_schemas
from toolcrib_core import SchemaError, ToolDefinition, convert_schema
from toolcrib_gemini.strict import SCHEMA


@pytest.mark.req("AD-2")
@pytest.mark.fault("B11")
@settings(max_examples=300 * CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=input_schemas, seed=st.integers(0, 999))
def test_no_conversion_differs_from_the_original_without_saying_so(schema: dict[str, Any], seed: int) -> None:
    try:
        original = ToolDefinition(name="t", input_schema=schema).input_schema
    except SchemaError:
        return  # it is refused before any adapter sees it

    converted = convert_schema(original, SCHEMA)

    assert not converted.report.blocking
    assert [str(each) for each in check(original, converted, seed=seed).silent] == []
