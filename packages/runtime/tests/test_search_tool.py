"""The tool that finds tools."""

from __future__ import annotations

from typing import Any

import pytest
from small_toolboxes import box

from toolcrib_core import CARD_MAX_TOKENS, InvalidDefinition, ToolErrorCategory, ToolLifecycle, count_tokens
from toolcrib_runtime import RunnableTool, Toolbox, create_search_tool, create_toolbox
from toolcrib_runtime.search_tool import MAX_LIMIT
from toolcrib_runtime.testing import FakeTool, fake_tool

SHOP = {
    "issue_refund": "Give a customer the money for an order back.",
    "track_shipment": "Say where a parcel is on its way.",
    "translate_message": "Translate a text into another language.",
    "flag_fraud": "Mark an order as a possible fraud.",
    "create_invoice": "Write an invoice for an order.",
}


def shop() -> list[FakeTool]:
    return [fake_tool(f"shop:{name}", description=text) for name, text in SHOP.items()]


def searching(*tools: RunnableTool, **options: Any) -> Toolbox:
    toolbox = create_toolbox(tools)
    return toolbox.extend(create_search_tool(toolbox, **options))


async def found(toolbox: Toolbox, query: str, **arguments: Any) -> Any:
    result = await toolbox.call("search_tools", {"query": query, **arguments})
    return result.unwrap()


def names(answer: Any) -> list[str]:
    return [each["card"].split()[0].partition("#")[0] for each in answer["tools"]]


@pytest.mark.req("RT-14", "D1-7c")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("refund an order", "shop:issue_refund"),
        ("where is my parcel", "shop:track_shipment"),
        ("put this into another language", "shop:translate_message"),
        ("this order looks like fraud", "shop:flag_fraud"),
    ],
)
async def test_the_best_tool_comes_first_in_whatever_order_they_were_registered(query: str, first: str) -> None:
    for tools in (shop(), shop()[::-1]):
        answer = await found(searching(*tools), query)

        assert names(answer)[0] == first
        scores = [each["score"] for each in answer["tools"]]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.req("RT-14", "D1-7c")
async def test_the_order_is_that_of_the_core_search() -> None:
    toolbox = searching(*shop())

    answer = await found(toolbox, "order", limit=10)

    hits = create_toolbox(shop()).search("order", limit=10).hits
    assert names(answer) == [hit.id.partition("#")[0] for hit in hits]
    assert answer["fitting"] == len(hits)


@pytest.mark.req("RT-14")
async def test_the_id_on_a_card_can_be_called() -> None:
    tools = shop()
    toolbox = searching(*tools)
    answer = await found(toolbox, "refund")

    result = await toolbox.call(answer["tools"][0]["card"].split()[0], {})

    assert result.tool_id == tools[0].id


@pytest.mark.req("RT-14")
async def test_every_card_is_one_line_within_the_token_budget() -> None:
    wordy = fake_tool("wordy", description="Give an order back. " + "Order 订单 😀 and so on.\n" * 500)

    answer = await found(searching(*shop(), wordy), "order", limit=10)

    for each in answer["tools"]:
        assert "\n" not in each["card"]
        assert count_tokens(f"{each['card']}\n") <= CARD_MAX_TOKENS


@pytest.mark.req("RT-14")
async def test_a_tool_that_has_no_card_is_left_out_and_hides_no_other() -> None:
    nameless = fake_tool("x" * 200, description="Give an order back.")

    answer = await found(searching(*shop(), nameless), "give an order back", limit=10)

    assert "shop:issue_refund" in names(answer)
    assert not any("xxxx" in name for name in names(answer))


@pytest.mark.req("RT-14")
async def test_it_says_why_only_when_it_is_asked() -> None:
    toolbox = searching(*shop())

    plain, explained = await found(toolbox, "refund"), await found(toolbox, "refund", explain=True)

    assert not any("why" in each for each in plain["tools"])
    why = explained["tools"][0]["why"]
    assert [(match["said"], match["fields"]) for match in why["matches"]] == [("refund", ["name"])]
    assert why["unmatched"] == []


@pytest.mark.req("RT-14")
async def test_nothing_fits_is_an_answer() -> None:
    answer = await found(searching(*shop()), "zzzz qqqq")

    assert answer == {"tools": [], "confident": False, "fitting": 0}


@pytest.mark.req("RT-14")
async def test_it_gives_as_many_as_it_is_asked_for() -> None:
    toolbox = searching(*shop(), limit=2)

    few, more = await found(toolbox, "order"), await found(toolbox, "order", limit=3)

    assert (len(few["tools"]), len(more["tools"])) == (2, 3)


@pytest.mark.req("RT-11", "RT-14")
@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        ({"query": "order", "limit": 0}, "/limit"),
        ({"query": "order", "limit": MAX_LIMIT + 1}, "/limit"),
        ({"query": "order", "limit": "5"}, "/limit"),
        ({"query": ""}, "/query"),
        ({"query": "x" * 2_001}, "/query"),
        ({}, "/query"),
    ],
)
async def test_wrong_arguments_are_validation_errors(arguments: dict[str, Any], pointer: str) -> None:
    result = await searching(*shop()).call("search_tools", arguments)

    assert result.error is not None
    assert result.error.category is ToolErrorCategory.VALIDATION
    violations: Any = result.error.details["violations"]
    assert pointer in {each["pointer"] or "/query" for each in violations}


@pytest.mark.req("RT-14")
@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1])
def test_a_limit_of_its_own_that_it_would_refuse_is_refused(limit: int) -> None:
    with pytest.raises(InvalidDefinition, match="between 1 and 50"):
        create_search_tool(box(), limit=limit)


@pytest.mark.req("RT-14")
async def test_it_does_not_find_itself() -> None:
    answer = await found(searching(*shop()), "search tools: find tools by what they do", limit=MAX_LIMIT)

    assert not any("search_tools" in name for name in names(answer))


@pytest.mark.req("RT-14")
async def test_it_runs_nothing_and_needs_no_approval() -> None:
    tools = shop()

    await found(searching(*tools), "order", limit=MAX_LIMIT)

    assert [tool.calls for tool in tools] == [[]] * len(tools)


@pytest.mark.req("RT-14")
async def test_a_second_one_by_another_name_searches_another_toolbox() -> None:
    toolbox = searching(*shop())
    other = create_search_tool(create_toolbox([fake_tool("fs:read", description="Read a file.")]), name="search_files")

    result = await toolbox.extend(other).call("search_files", {"query": "read"})

    assert names(result.value) == ["fs:read"]


@pytest.mark.req("RT-14")
async def test_deprecated_tools_stand_where_the_core_search_puts_them() -> None:
    old = fake_tool("shop:refund_old", description="Refund.", lifecycle=ToolLifecycle(deprecated=True))
    toolbox = searching(*shop(), old)

    answer = await found(toolbox, "refund")

    hits = create_toolbox([*shop(), old]).search("refund", limit=5).hits
    assert names(answer) == [hit.id.partition("#")[0] for hit in hits]
