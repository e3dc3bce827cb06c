"""Artifacts as arguments: what a reference stands for, and that nothing is sent where it stands for nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from gateway_cases import gatewayed, text_block
from gateway_samples import CSV, LARGE, PNG, ROWS, box, image, made, received, text_in
from proxy_cases import error_of
from relay_cases import failure_of

from toolcrib_core import ArgumentsTooLarge, ToolError
from toolcrib_mcp.gateway.references import MAX_REFERENCES
from toolcrib_mcp.gateway.referred import MAX_OPERATIONS
from toolcrib_store import ArtifactLimits


@pytest.mark.req("GW-7.5")
async def test_a_kept_result_is_passed_on_with_a_pointer_and_a_patch_without_being_read(tmp_path: Path) -> None:
    async with gatewayed({"box": box({"content": LARGE["json"]})}, file=tmp_path / "a.db") as case:
        handle = await made(case)
        patch = [{"op": "replace", "path": "/name", "value": "changed"}, {"op": "remove", "path": "/price"}]
        row = {"$artifact": handle, "pointer": "/items/3", "patch": patch}
        await case.execute(
            "box__sink", whole={"$artifact": handle}, deep=[{"row": row}], **{"a/b~": row}, plain={"x": [1]}
        )
        given = received(case)

    assert given["whole"] == {"items": ROWS, "next": None}
    assert given["deep"] == [{"row": {"id": 3, "name": "changed"}}]
    assert given["a/b~"] == {"id": 3, "name": "changed"}
    assert given["plain"] == {"x": [1]}


@pytest.mark.req("GW-7.5")
@pytest.mark.parametrize(
    ("content", "value"),
    [
        ([text_block(CSV)], CSV),
        ([image(PNG + bytes(1024 * 1024))], base64.b64encode(PNG + bytes(1024 * 1024)).decode()),
    ],
)
async def test_text_is_passed_on_as_text_and_anything_else_in_base64(tmp_path: Path, content: Any, value: str) -> None:
    async with gatewayed({"box": box({"content": content})}, file=tmp_path / "a.db") as case:
        await case.execute("box__sink", it={"$artifact": await made(case)})
        given = received(case)

    assert given == {"it": value}


@pytest.mark.req("GW-7.5", "GW-4.4")
@pytest.mark.fault("F13")
async def test_what_a_reference_stands_for_is_validated_before_it_is_sent(tmp_path: Path) -> None:
    async with gatewayed({"box": box({"content": LARGE["records"]})}, file=tmp_path / "a.db") as case:
        handle = await made(case)
        wrong = error_of(await case.execute("box__strict", title={"$artifact": handle}))
        right = await case.execute("box__strict", rows={"$artifact": handle})

    assert wrong["error"] == "ARGS_INVALID"
    assert [each["pointer"] for each in wrong["details"]["violations"]] == ["/title"]
    assert text_in(right) == "taken"


DOUBLING = [{"op": "copy", "from": "", "path": "/items/-"}] * 60


@pytest.mark.req("GW-7.5")
@pytest.mark.fault("G1", "G3")
@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"$artifact": "art_aaaaaaaaaaaaaaaa"}, "no artifact has the handle"),
        ({"pointr": "/items"}, "`pointer` and `patch`, not `pointr`"),
        ({"pointer": "/items/900"}, "leads nowhere"),
        ({"pointer": "/items/-"}, "leads nowhere"),
        ({"pointer": "items"}, "leads nowhere"),
        ({"pointer": "/items/0/name/0"}, "leads nowhere"),
        ({"pointer": 3}, "must be a JSON pointer"),
        ({"patch": {"op": "remove"}}, "must be a list"),
        ({"patch": [{"op": "remove", "path": "/next"}] * (MAX_OPERATIONS + 1)}, "at most 1,000 operations"),
        ({"patch": [{"op": "replace", "path": "/next", "value": 1}, {"op": "remove", "path": "/gone"}]}, "operation 1"),
        ({"patch": [{"op": "test", "path": "/next", "value": "hunter2"}]}, "tests for another value"),
        ({"patch": [{"op": "explode", "path": ""}]}, "not an operation of RFC 6902"),
        ({"patch": ["remove"]}, "not an operation of RFC 6902"),
        ({"patch": [{"op": "copy", "path": "/x"}]}, "operation 0"),
        ({"patch": [{"op": "copy", "from": "/nowhere", "path": "/x"}]}, "a place that is not there"),
        ({"patch": DOUBLING}, "copies too much"),
    ],
)
async def test_a_reference_that_leads_nowhere_is_told_with_its_place_and_nothing_is_sent(
    tmp_path: Path, reference: dict[str, Any], said: str
) -> None:
    async with gatewayed({"box": box({"content": LARGE["json"]})}, file=tmp_path / "a.db") as case:
        reference = {"$artifact": await made(case), **reference}
        error = error_of(await case.execute("box__sink", deep=[reference]))
        heard = case.servers["box"].methods.count("tools/call")  # type: ignore[attr-defined]  # a scripted one

    assert error["error"] == "ARGS_INVALID"
    assert error["details"]["pointer"] == "/deep/0"
    assert said in error["message"]
    assert "hunter2" not in json.dumps(error)
    assert heard == 1


@pytest.mark.req("GW-7.5")
async def test_only_json_can_be_pointed_into(tmp_path: Path) -> None:
    async with gatewayed({"box": box({"content": LARGE["log"]})}, file=tmp_path / "a.db") as case:
        error = error_of(await case.execute("box__sink", it={"$artifact": await made(case), "pointer": "/a"}))

    assert "only JSON can be pointed into" in error["message"]


@pytest.mark.req("GW-7.5")
async def test_an_argument_that_only_looks_like_a_reference_is_left_as_it_is(tmp_path: Path) -> None:
    args = {"a": {"$artifact": "no handle"}, "b": {"$artifact": 3}}
    async with gatewayed({"box": box({})}, file=tmp_path / "a.db") as case:
        await case.execute("box__sink", **args)
        given = received(case)

    assert given == args


@pytest.mark.req("GW-7.5")
@pytest.mark.fault("G3")
async def test_references_are_bounded_in_number_and_size(tmp_path: Path) -> None:
    large = {"content": [text_block("word " * 2_000_000)]}
    async with gatewayed({"box": box(large)}, file=tmp_path / "a.db", limits=ArtifactLimits()) as case:
        reference = {"$artifact": await made(case)}
        number = error_of(await case.execute("box__sink", all=[reference] * (MAX_REFERENCES + 1)))
        size = error_of(await case.execute("box__sink", all=[reference] * 2))

    assert "may name 32 artifacts" in number["message"]
    assert "16,777,216 bytes together" in size["message"]


@pytest.mark.req("GW-7.5")
async def test_a_gateway_that_keeps_nothing_follows_no_reference() -> None:
    async with gatewayed({"box": box({})}) as case:
        error = error_of(await case.execute("box__sink", it={"$artifact": "art_aaaaaaaaaaaaaaaa"}))

    assert "keeps no artifacts" in error["message"]


@pytest.mark.req("GW-7.5")
async def test_arguments_that_are_nested_too_deeply_are_not_looked_through(tmp_path: Path) -> None:
    deep: Any = {"$artifact": "art_aaaaaaaaaaaaaaaa"}
    for _ in range(600):
        deep = [deep]
    async with gatewayed({"box": box({})}, file=tmp_path / "a.db") as case:
        error = await failure_of(case.gateway.execute("box__sink", {"deep": deep}), ToolError)

    assert isinstance(error, ArgumentsTooLarge)


@pytest.mark.req("GW-7.5")
async def test_a_deep_value_that_is_copied_is_no_way_to_overflow(tmp_path: Path) -> None:
    deep = {"a": "[" * 900 + "]" * 900, "b": "word " * 9_000}
    text = '{"a":' + deep["a"] + ',"b":"' + deep["b"] + '"}'
    async with gatewayed({"box": box({"content": [text_block(text)]})}, file=tmp_path / "a.db") as case:
        reference = {"$artifact": await made(case), "patch": [{"op": "copy", "from": "/a", "path": "/c"}]}
        error = error_of(await case.execute("box__sink", it=reference))

    assert error["error"] == "ARGS_INVALID"


@pytest.mark.req("GW-7.5")
async def test_json_that_cannot_be_read_exactly_is_not_passed_on(tmp_path: Path) -> None:
    text = "[" * 1_000 + "123456789012345678901234567890" + "]" * 1_000 + " \t" * 9_000
    async with gatewayed({"box": box({"content": [text_block(text)]})}, file=tmp_path / "a.db") as case:
        error = error_of(await case.execute("box__sink", it={"$artifact": await made(case)}))

    assert "cannot be read as JSON without loss" in error["message"]
