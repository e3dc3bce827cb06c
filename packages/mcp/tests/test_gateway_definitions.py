"""`detail: "full"`: every tool can be read whole, and what is shortened says so."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from gateway_cases import HANDLE, gatewayed, modern
from gateway_samples import every_part
from hub_cases import caller
from proxy_cases import ISSUE, ISSUE_FORMS, ISSUE_ID, error_of
from test_gateway_browsing import listing, tool

from toolcrib_core import count_tokens

pytestmark = pytest.mark.req("CL-4")

NESTED: dict[str, Any] = {"type": "string", "description": "The innermost."}
for _depth in range(12):
    NESTED = {"type": "object", "description": "Words. " * 12, "properties": {f"level_{_depth}": NESTED}}
PROSE = "CRITICAL: read this first.\n1. Do not cut.\n2. Nor elide.\n" + "Some words about it. " * 20
DEEP = {
    **tool("deep"),
    "title": "Deep",
    "description": PROSE,
    "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", **NESTED},
    "outputSchema": {"type": "object", "properties": {"done": {"type": "boolean"}}},
    "annotations": {"readOnlyHint": True},
}


def text_of(result: dict[str, Any]) -> str:
    assert "isError" not in result, result
    (block,) = result["content"]
    return str(block["text"])


@pytest.mark.req("D4-4a")
@pytest.mark.parametrize("form", ISSUE_FORMS)
@pytest.mark.parametrize("member", ["query", "path"])
async def test_a_tool_is_read_whole_by_every_form_of_its_id_as_query_or_as_path(form: str, member: str) -> None:
    async with gatewayed({"github": listing(ISSUE)}) as case:
        text = text_of(await case.browse(**{member: form, "detail": "full"}))

    head, data = text.rsplit("\n", 1)
    assert head == f"{ISSUE_ID}\n{ISSUE['title']}\n{ISSUE['description']}"
    assert json.loads(data)["inputSchema"] == ISSUE["inputSchema"]


async def test_nothing_of_a_definition_is_left_out(tmp_path: Path) -> None:
    async with gatewayed({"box": listing(DEEP)}, file=tmp_path / "a.db") as case:
        older = await case.browse(path="box:deep", detail="full", by=caller())
        newer = await case.browse(path="box:deep", detail="full", by=modern())

    text = text_of(older)
    assert text_of(newer) == text
    assert PROSE in text
    assert "…" not in text
    named = ("inputSchema", "outputSchema", "annotations")
    assert json.loads(text.rsplit("\n", 1)[1]) == {name: DEEP[name] for name in named}


async def test_a_schema_that_is_shortened_says_so_and_how_to_read_the_rest() -> None:
    async with gatewayed({"box": listing(DEEP, tool("plain", "title"))}) as case:
        page = text_of(await case.browse(path="/box", detail="schema"))
        (call,) = re.findall(r"^Shortened, whole by tool_browse (\{.*\}): box:deep#\w{8}$", page, re.MULTILINE)
        whole = text_of(await case.call("tool_browse", json.loads(call)))

    assert "The innermost." not in page
    assert "The innermost." in whole


async def test_schemas_that_are_whole_are_not_said_to_be_shortened() -> None:
    async with gatewayed({"box": listing(tool("plain", "title"))}) as case:
        page = text_of(await case.browse(path="/box", detail="schema"))

    assert "Shortened" not in page
    assert json.dumps(tool("plain", "title")["inputSchema"], separators=(",", ":")) in page


async def test_an_error_with_a_part_of_a_schema_says_how_to_read_all_of_it() -> None:
    properties = {f"parameter_{number}": {"type": "string", "description": "Some words. " * 20} for number in range(80)}
    wide = {**tool("wide"), "inputSchema": {"type": "object", "properties": properties}}
    async with gatewayed({"box": listing(wide, tool("plain", "title"))}) as case:
        error = error_of(await case.execute("wide", parameter_7=1))
        (call,) = re.findall(r"tool_browse (\{.*\})", error["hint"])
        whole = await case.call("tool_browse", json.loads(call))
        short = error_of(await case.execute("plain"))

    assert "parameter_79" not in json.dumps(error)
    assert "parameter_79" in json.dumps(whole)
    assert "tool_browse" not in short["hint"]


async def test_a_definition_of_a_hundred_kilobytes_is_kept_and_read_in_parts(tmp_path: Path) -> None:
    properties = {f"parameter_{number}": {"type": "string", "description": "word " * 20} for number in range(1_500)}
    huge = {**tool("huge"), "description": 9 * PROSE, "inputSchema": {"type": "object", "properties": properties}}
    async with gatewayed({"box": listing(huge)}, file=tmp_path / "a.db") as case:
        sent = await case.browse(path="box:huge", detail="full")
        texts = [part.decode() for part in await every_part(case, sent)]
        schema = next(place for place, text in enumerate(texts) if text.startswith("{"))
        handle = list(dict.fromkeys(re.findall(HANDLE, sent["content"][0]["text"])))[schema]
        one = await case.view(handle, type="pointer", pointer="/inputSchema/properties/parameter_1499")

    assert count_tokens(sent["content"][0]["text"]) <= 400
    assert 9 * PROSE in texts[1 - schema]
    assert json.loads(texts[schema])["inputSchema"] == huge["inputSchema"]
    assert "word word" in one["content"][0]["text"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "box:nowhere"}, "TOOL_NOT_FOUND"),
        ({"path": "/box"}, "TOOL_NOT_FOUND"),
        ({"query": "what is there"}, "TOOL_NOT_FOUND"),
        ({}, "ARGS_INVALID"),
        ({"query": "box:plain", "path": "box:plain"}, "ARGS_INVALID"),
    ],
)
async def test_what_is_no_one_tool_is_refused_with_what_to_do(arguments: dict[str, str], code: str) -> None:
    async with gatewayed({"box": listing(tool("plain"), tool("other"))}) as case:
        error = error_of(await case.browse(**arguments, detail="full"))

    assert error["error"] == code
    assert error["path"] == arguments.get("path", "")
    assert error["hint"]


@pytest.mark.parametrize("member", ["description", "title"])
async def test_a_tool_with_text_that_a_person_does_not_see_is_not_read_either(member: str) -> None:
    bell = {**tool("bell"), member: "Rings.\u202e Done."}
    async with gatewayed({"box": listing(bell, tool("plain"))}) as case:
        error = error_of(await case.browse(path="box:bell", detail="full"))

    assert error["error"] == "TOOL_NOT_FOUND"


async def test_the_line_of_a_place_is_its_path_and_what_is_there() -> None:
    async with gatewayed({"box": listing(tool("plain"), tool("other"))}) as case:
        page = text_of(await case.browse(path="/"))

    assert page == "/box — 2 tools: other, plain\n"
