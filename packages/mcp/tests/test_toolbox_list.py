"""What clients see of a toolbox: names, schemas, hints, pages, and news of changes."""

from __future__ import annotations

from typing import Any

import pytest
from toolbox_cases import EVERY_TOOL, add, boxed, forecast, greet, listed, old_forecast, request_of, serving

from toolcrib_core import ToolDefinition, ToolRisk, WireNameCollision, WireNames
from toolcrib_mcp.front import Notice
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.toolboxes.tool_list import hints_of
from toolcrib_mcp.upstreams import Era
from toolcrib_runtime import create_tool


@pytest.mark.req("GW-9.1")
async def test_a_tool_is_listed_with_everything_its_definition_says() -> None:
    service = serving(forecast)

    tools = await listed(service)

    definition = forecast.definition
    assert tools == {
        "weather__forecast": {
            "name": "weather__forecast",
            "title": "The weather",
            "description": "The weather of the next days.",
            "inputSchema": definition.input_schema,
            "outputSchema": definition.output_schema,
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": False,
                "openWorldHint": False,
            },
            "_meta": {"io.toolcrib/id": "weather:forecast@1.0.0", "io.toolcrib/version": "1.0.0"},
        }
    }


@pytest.mark.req("GW-9.1")
@pytest.mark.parametrize(
    ("risk", "hints"),
    [
        (ToolRisk(), {}),
        (ToolRisk(destructive=True, external_network=True), {"destructiveHint": True, "openWorldHint": True}),
        (
            ToolRisk(effects="none", idempotent=True),
            {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
        ),
        (
            ToolRisk(effects="write", external_network=True),
            {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": True},
        ),
        (
            ToolRisk(effects="read", destructive=True),
            {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": False},
        ),
    ],
)
def test_the_risk_is_told_in_hints_and_nothing_is_vouched_for_that_nobody_declared(
    risk: ToolRisk, hints: dict[str, bool]
) -> None:
    assert hints_of(risk) == hints


async def test_what_came_along_with_an_imported_definition_is_passed_on_but_for_its_hints() -> None:
    definition = ToolDefinition(
        name="read",
        input_schema={"properties": {"path": {"type": "string"}}},
        metadata={"annotations": {"readOnlyHint": True, "category": "files"}, "_meta": {"example.com/x": [1]}},
    )

    tools = await listed(serving(create_tool(definition, lambda path: path)))

    assert tools["read"]["annotations"] == {"category": "files"}
    assert tools["read"]["_meta"] == {"example.com/x": [1], "io.toolcrib/id": definition.id}
    assert tools["read"]["inputSchema"]["type"] == "object"


@pytest.mark.req("GW-9.1")
async def test_the_handshake_era_is_shown_objects_only() -> None:
    service = serving(add, forecast)

    tools = await listed(service, era=Era.HANDSHAKE)

    assert tools["weather__forecast"]["outputSchema"] == forecast.definition.output_schema
    assert tools["add"]["outputSchema"] == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }


async def test_the_modern_era_is_shown_the_schema_as_it_is() -> None:
    tools = await listed(serving(add))

    assert tools["add"]["outputSchema"] == {"type": "integer"}


async def test_a_deprecated_tool_says_what_to_use_instead() -> None:
    tools = await listed(serving(old_forecast))

    assert tools["old_forecast"]["description"] == (
        "Deprecated: use `weather:forecast` instead. The weather, as it was told once."
    )


async def test_a_tool_without_words_is_listed_without_a_description() -> None:
    silent = create_tool(ToolDefinition(name="silent"), lambda **_: None)

    tools = await listed(serving(silent))

    assert "description" not in tools["silent"]
    assert "title" not in tools["silent"]


async def test_tools_can_be_listed_by_id() -> None:
    tools = await listed(serving(forecast, names="id"))

    assert list(tools) == ["weather:forecast@1.0.0"]


async def test_pages_are_in_the_order_of_the_ids_and_visit_every_tool_once() -> None:
    service = serving(page_size=3)

    ids: list[str] = []
    sizes: list[int] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await service.answer(request_of("tools/list", cursor))
        ids += [each["_meta"]["io.toolcrib/id"] for each in page["tools"]]
        sizes.append(len(page["tools"]))
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}

    assert sizes == [3, 3, 3, 1]
    assert ids == sorted(each.id for each in EVERY_TOOL)


async def test_a_page_goes_on_where_the_last_one_ended_although_the_list_has_changed() -> None:
    service = serving(add, forecast, page_size=1)
    first = await service.answer(request_of("tools/list", {}))

    service.replace(boxed(greet, forecast))
    second = await service.answer(request_of("tools/list", {"cursor": first["nextCursor"]}))

    assert [each["name"] for page in (first, second) for each in page["tools"]] == ["add", "greet"]


@pytest.mark.parametrize("cursor", ["", "?", "AAA", "_w==", 7, ["x"]])
async def test_a_cursor_from_elsewhere_is_refused(cursor: object) -> None:
    with pytest.raises(RpcError, match="cursor") as refused:
        await serving(add).answer(request_of("tools/list", {"cursor": cursor}))

    assert refused.value.code == -32602


@pytest.mark.req("GW-9.1")
async def test_clients_are_told_when_the_list_has_changed() -> None:
    service = serving(add)
    told: list[Notice] = []
    service.feed.subscribe(told.append)

    service.replace(boxed(add, greet))

    assert told == [Notice(method="notifications/tools/list_changed")]
    assert set(await listed(service)) == {"add", "greet"}
    assert len(service.toolbox) == 2


async def test_clients_are_not_told_of_a_change_that_nobody_can_see() -> None:
    service = serving(add)
    told: list[Notice] = []
    service.feed.subscribe(told.append)

    service.replace(boxed(add, timeout=1))

    assert told == []


async def test_a_toolbox_that_cannot_be_named_is_not_served() -> None:
    dotted = create_tool(ToolDefinition(name="a.b"), lambda **_: None)
    its_name = WireNames([dotted.id]).encode(dotted.id)
    namesake = create_tool(ToolDefinition(name=its_name), lambda **_: None)
    service = serving(add)

    with pytest.raises(WireNameCollision):
        service.replace(boxed(dotted, namesake))

    assert set(await listed(service)) == {"add"}


@pytest.mark.parametrize("setting", [{"page_size": 0}, {"patience": -1}])
def test_a_setting_that_makes_no_sense_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(setting))):
        serving(add, **setting)


async def test_the_face_is_that_of_a_server_with_tools() -> None:
    service = serving(add, name="sums", instructions="Add.")

    face = await service.face()

    assert service.info == {"name": "sums", "version": "1.2.3"}
    assert face.capabilities == {"tools": {"listChanged": True}}
    assert face.instructions == "Add."


async def test_what_a_toolbox_does_not_have_is_refused() -> None:
    service = serving(add)

    with pytest.raises(RpcError) as unknown:
        await service.answer(request_of("prompts/list", {}))
    with pytest.raises(RpcError) as no_resource:
        await service.subscribe("listener", "file:///x")
    await service.unsubscribe("listener", "file:///x")
    await service.end("conversation")

    assert unknown.value.code == no_resource.value.code == -32601
