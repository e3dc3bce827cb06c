"""What a report of losses says is true of any schema, and a conversion that would narrow is not used."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adapters.oracle import CASES, check
from tests.adapters.schemas import input_schemas
from toolcrib_anthropic.strict import PLAIN, STRICT
from toolcrib_core import SchemaError, ToolDefinition, VendorDialect, first_fitting

MODES = [pytest.param((PLAIN,), id="plain"), pytest.param((STRICT, PLAIN), id="strict")]


@pytest.mark.req("AD-2")
@pytest.mark.fault("B11")
@pytest.mark.parametrize("dialects", MODES)
@settings(max_examples=300 * CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=input_schemas, seed=st.integers(0, 999))
def test_no_conversion_differs_from_the_original_without_saying_so(
    dialects: tuple[VendorDialect, ...], schema: dict[str, Any], seed: int
) -> None:
    try:
        original = ToolDefinition(name="t", input_schema=schema).input_schema
    except SchemaError:
        return  # it is refused before any adapter sees it

    converted = first_fitting(original, *dialects)

    assert not converted.report.blocking
    assert [str(each) for each in check(original, converted, seed=seed).silent] == []
