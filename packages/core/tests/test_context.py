"""The context: who, which run, until when, and nothing of how it runs."""

from __future__ import annotations

import dataclasses
import logging

import pytest

from toolcrib_core.context import Logger, Principal, ToolContext


@pytest.mark.req("AR-4.1", "D1-0p", "D1-4b", "D1-4d")
def test_the_context_has_the_fields_of_the_contract_and_no_execution_only_ones() -> None:
    names = {field.name for field in dataclasses.fields(ToolContext)}

    assert names == {"run_id", "request_id", "user", "tenant", "logger", "tracer", "deadline"}


@pytest.mark.req("AR-4.1", "D1-4c")
def test_every_part_is_optional_and_none_can_be_changed() -> None:
    context = ToolContext(user=Principal(id="ada", roles=frozenset({"admin"})))

    assert context.run_id is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.run_id = "r1"  # type: ignore[misc]  # on purpose


@pytest.mark.req("AR-4.1", "D1-4a")
def test_a_standard_logger_fits(caplog: pytest.LogCaptureFixture) -> None:
    logger: Logger = logging.getLogger("toolcrib.test")
    context = ToolContext(logger=logger)

    assert context.logger is not None
    context.logger.warning("low on %s", "fuel")

    assert caplog.messages == ["low on fuel"]
