"""Findability: requests that must lead to a tool, and tools in each other's way."""

from __future__ import annotations

import pytest

from toolcrib_core.definition import ToolDefinition
from toolcrib_core.errors import QueryError, UnknownTool
from toolcrib_core.search import SearchIndex, findability

INVOICE = ToolDefinition(namespace="billing", name="send_invoice", description="Send an invoice to a customer.")
REFUND = ToolDefinition(
    namespace="billing",
    name="refund",
    description="Give a customer money back.",
    metadata={"searchCases": ["pay a customer back", "send an invoice"]},
)
WEATHER = ToolDefinition(namespace="weather", name="forecast", description="The weather of the next days.")


@pytest.mark.req("AR-3.1")
def test_a_case_says_where_its_tool_came_out_and_who_is_in_front() -> None:
    index = SearchIndex.build([INVOICE, REFUND, WEATHER])

    report = findability(index, {WEATHER.id: ["weather of tomorrow"]})

    ranks = {(case.tool_id, case.request): case.rank for case in report.cases}
    assert ranks[WEATHER.id, "weather of tomorrow"] == 1
    assert ranks[REFUND.id, "pay a customer back"] == 1
    missed = report.missed
    assert [case.request for case in missed] == ["send an invoice"]
    assert missed[0].in_front[0] == INVOICE.id
    assert missed[0].why_first is not None
    assert {match.said for match in missed[0].why_first.matches} >= {"send", "invoice"}


@pytest.mark.req("AR-3.1")
def test_tools_that_say_the_same_of_themselves_are_named_as_a_pair() -> None:
    twin = INVOICE.replace(namespace="accounts")
    index = SearchIndex.build([INVOICE, twin, WEATHER])

    report = findability(index)

    assert [(pair.first, pair.second) for pair in report.confusable] == [(twin.id, INVOICE.id)]
    assert report.self_queries == 3


def test_a_case_for_a_tool_that_is_not_there_is_refused() -> None:
    index = SearchIndex.build([WEATHER])

    with pytest.raises(UnknownTool, match="billing:refund"):
        findability(index, {REFUND.id: ["money back"]})


def test_more_cases_than_are_run_at_once_are_refused() -> None:
    index = SearchIndex.build([WEATHER])

    with pytest.raises(QueryError, match="10001 search cases"):
        findability(index, {WEATHER.id: [f"weather {number}" for number in range(10_001)]})
