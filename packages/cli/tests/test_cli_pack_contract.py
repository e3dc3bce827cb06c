"""The contract of context packs, over MCP: the examples of its reference as they stand there, and three real agents."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from toolcrib_cli.pack.opening import opened_packs
from toolcrib_contextpacks import ContextPacks

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples/handoff"
PACK = "pk_abcd2345"

READ = json.loads("""
[
{ "name": "output", "arguments": { "action": "read", "id": "pk_abcd2345" } },
{ "name": "output", "arguments": { "action": "read", "id": "pk_abcd2345", "profile": "reviewer" } },
{ "name": "output", "arguments": { "action": "read", "id": "pk_abcd2345", "profile": "executor" } },
{ "name": "output", "arguments": { "action": "read", "id": "pk_abcd2345",
                                   "page_token": "<next_page_token-from-legend>" } },
{ "name": "output", "arguments": { "action": "list", "freshness": "expired" } },
{ "name": "output", "arguments": { "action": "read", "id": "pk_abcd2345", "contains": "TODO" } },
{ "name": "output", "arguments": { "action": "read", "id": "pk_abcd2345", "profile": "reviewer",
                                   "page_token": "<page_token>", "contains": "TODO" } }
]
""")
LEGACY = json.loads('{ "action":"get", "id":"pk_abcd2345", "mode":"full", "cursor":"<cursor>", "match":"TODO" }')


class Tools:
    """The two tools, as a client of the official SDK calls them."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, name: str, arguments: dict[str, Any]) -> str:
        """The text of a call that must go well."""
        result = await self.client.call_tool(name, arguments)
        text = _text(result)
        assert not result.is_error, text
        return text

    async def refused(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The error of a call that must fail."""
        result = await self.client.call_tool(name, arguments)
        assert result.is_error
        error: dict[str, Any] = json.loads(_text(result))
        assert {"kind", "code", "message", "details", "request_id"} <= error.keys()
        return error


def _text(result: Any) -> str:
    return "".join(each.text for each in result.content if isinstance(each, TextContent))


def _legend(page: str) -> dict[str, str]:
    head = page.partition("\n[CONTENT]\n")[0].splitlines()
    return dict(line.removeprefix("- ").split(": ", 1) for line in head if line.startswith("- "))


@asynccontextmanager
async def tools(folder: Path, *command: str) -> AsyncIterator[Tools]:
    """A server in a process of its own, over the database of the folder."""
    arguments = ["-m", "toolcrib_cli", *(command or ("pack", "serve"))]
    environ = {"TOOLCRIB_PACKS": str(folder / "packs.db"), "CONTEXT_PACK_SOURCE_ROOT": str(folder), "HOME": str(folder)}
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environ)
    async with asyncio.timeout(60), Client(server, read_timeout_seconds=30) as client:
        yield Tools(client)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A source tree, and the pack that the examples speak of."""
    (tmp_path / "code.py").write_text("def f():\n    return 1  # TODO: two\n", encoding="utf-8")
    sections = [
        {"key": "scope", "title": "Scope", "description": "All of it."},
        {
            "key": "findings",
            "title": "Findings",
            "description": "A blocker, a gap, and a todo.",
            "refs": [
                {"key": f"place-{number}", "path": "code.py", "line_start": 1, "line_end": 2} for number in range(9)
            ],
        },
        {"key": "qa", "title": "QA", "description": "verdict: pass"},
    ]
    with opened_packs(str(tmp_path / "packs.db"), tmp_path) as packs:
        _keep(packs, {"name": "example", "title": "Example", "status": "finalized", "sections": sections})
    return tmp_path


def _keep(packs: ContextPacks, document: dict[str, Any]) -> None:
    """Have the document under the id of the examples."""
    made = packs.write(document).pack
    packs.delete(pack_id=made.id)
    packs.adopt(replace(made, id=PACK))


@pytest.mark.req(
    "D2-1.read.a",
    "D2-1.read.f",
    "D2-1.read.h",
    "D2-5g",
    "D2-5i",
    "D2-6a",
    "D2-6b",
    "D2-6c",
    "D2-6d",
    "D2-6e",
    "D2-6f",
    "D2-7.73a",
)
@pytest.mark.req("CP-8", "CP-9", "CP-10", "CP-11")
async def test_the_examples_of_the_reference_give_what_it_says(folder: Path) -> None:
    compact, review, execute, continuing, expired, matching, mapped = READ
    async with tools(folder) as served:
        pages = [await served.call(**_named(each)) for each in (compact, review, execute, matching)]
        token = _legend(pages[0])["next_page_token"]
        second = await served.call(**_named(continuing, page_token=token))
        stale = await served.refused(**_named(continuing))
        none = await served.call(**_named(expired))
        full = await served.call(
            "output", {"action": "read", "id": PACK, "profile": "reviewer", "contains": "TODO", "limit": 4}
        )
        drilled = await served.call(**_named(mapped, page_token=_legend(full)["next_page_token"]))

    legends = [_legend(each) for each in pages]
    assert [each["profile"] for each in legends] == ["orchestrator", "reviewer", "executor", "orchestrator"]
    assert (legends[0]["limit"], legends[0]["chunks_returned"], legends[0]["has_more"]) == ("6", "6", "true")
    assert "```" not in pages[0]
    assert "# TODO: two\n```" in pages[1]
    assert (legends[1]["limit"], legends[1]["has_more"]) == ("all", "false")
    assert "```" not in pages[2]
    assert int(legends[2]["limit"]) > 6
    assert legends[3]["chunks_total"] == "1"
    assert _legend(full)["chunks_total"] == "10"
    for found in legends:
        assert (found["selected_by"], found["selected_revision"], found["selected_status"]) == (
            "exact_id",
            "1",
            "finalized",
        )
        assert found["freshness_state"] == "fresh"
        assert {"expires_at", "ttl_remaining"} <= found.keys()
    assert _legend(second)["offset"] == "6"
    assert (stale["kind"], stale["code"]) == ("validation", "invalid_data")
    assert "invalid_page_token" in stale["message"]
    assert "No context packs found." in none
    assert (_legend(drilled)["profile"], _legend(drilled)["offset"]) == ("reviewer", "4")


@pytest.mark.req("CP-3", "CP-12", "CP-11")
@pytest.mark.req("D2-1b", "D2-2l", "D2-2m", "D2-2o")
async def test_calls_of_earlier_contracts_are_told_what_takes_their_place(folder: Path) -> None:
    async with tools(folder) as served:
        legacy = await served.refused("output", LEGACY)
        plain = await served.refused("output", {"action": "get", "id": PACK})
        fields = {
            old: await served.refused("output", {"action": "read", "id": PACK, old: "x"})
            for old in ("mode", "cursor", "match")
        }
        form = await served.refused("output", {"action": "read", "id": PACK, "format": "json"})
        nothing = await served.refused("output", {"action": "read"})
        deleting = await served.refused("input", {"action": "delete"})
        operation = await served.refused("input", {"action": "write", "op": "upsert_section", "section_key": "scope"})
        actions = {
            old: await served.refused("input", {"action": old, "id": PACK})
            for old in ("create", "upsert_ref", "set_status", "touch_ttl", "delete_pack")
        }
        inside = await served.refused("input", {"action": "write", "title": "T", "document": {"sections": []}})
        unknown = await served.refused("input", {"action": "frobnicate"})

    for error in (
        legacy,
        plain,
        *fields.values(),
        form,
        nothing,
        deleting,
        operation,
        *actions.values(),
        inside,
        unknown,
    ):
        assert (error["kind"], error["code"]) == ("validation", "invalid_data")
    assert "use action='read'" in legacy["message"]
    assert legacy["details"]["suggested_arguments"] == READ[6]["arguments"]
    assert plain["details"]["suggested_arguments"] == {"action": "read", "id": PACK}
    assert legacy["details"]["requested_action"] == "get"
    assert legacy["details"]["allowed_actions"] == ["list", "read"]
    assert {old: each["details"]["supported_field"] for old, each in fields.items()} == {
        "mode": "profile",
        "cursor": "page_token",
        "match": "contains",
    }
    assert "always markdown" in form["message"]
    for error in (nothing, deleting):
        assert error["details"]["mutually_interchangeable"] == ["id", "name"]
        assert error["details"]["required_fields"] == ["id|name"]
    assert operation["details"]["supported_field"] == "document"
    assert (operation["details"]["requested_op"], operation["details"]["allowed_ops"]) == ("upsert_section", [])
    mapped = {old: error["details"]["legacy_mapping"][old] for old, error in actions.items()}
    assert mapped == {
        "create": "write",
        "upsert_ref": "write",
        "set_status": "write",
        "touch_ttl": "ttl",
        "delete_pack": "delete",
    }
    assert "action='write'" in actions["create"]["message"]
    assert inside["details"]["unsupported_field"] == "title"
    assert unknown["details"]["allowed_actions"] == ["list", "get", "write", "ttl", "delete"]


@pytest.mark.req("CP-2")
@pytest.mark.req("D2-1m")
async def test_the_schemas_say_every_field_of_every_item(folder: Path) -> None:
    async with tools(folder) as served:
        listed = {each.name: each for each in (await served.client.list_tools()).tools}

    assert set(listed) == {"input", "output"}
    assert listed["output"].input_schema["properties"]["action"]["enum"] == ["list", "read"]
    document = listed["input"].input_schema["properties"]["document"]
    section = document["properties"]["sections"]["items"]
    for name, shape, required in (
        ("document", document, ["sections"]),
        ("section", section, ["key", "title"]),
        ("ref", section["properties"]["refs"]["items"], ["key", "path", "line_start", "line_end"]),
        ("diagram", section["properties"]["diagrams"]["items"], ["key", "title", "mermaid"]),
    ):
        assert (name, shape["required"], shape["additionalProperties"]) == (name, required, False)
    for tool in listed.values():
        assert tool.input_schema["additionalProperties"] is False
        assert all(each.get("description") for each in tool.input_schema["properties"].values())
        assert tool.description
    assert listed["output"].annotations is not None
    assert listed["output"].annotations.read_only_hint is True


@pytest.mark.req("CP-20")
async def test_packs_are_served_in_the_gateway_beside_other_servers(folder: Path) -> None:
    serving = ("serve", "--contextpacks", "--mode", "gateway", "--state-dir", str(folder / "state"))
    async with tools(folder, *serving) as served:
        names = {each.name for each in (await served.client.list_tools()).tools}
        browsed = await served.call("tool_browse", {"path": "/contextpacks"})
        tool_id = re.findall(r"contextpacks:output#[0-9a-f]{8}", browsed)[0]
        executed = await served.call("tool_execute", {"tool_id": tool_id, "args": {"action": "list"}})

    assert {"tool_browse", "tool_execute"} <= names
    assert PACK in executed


@pytest.mark.req("CT-26", "CP-12", "CP-18")
@pytest.mark.parametrize("mode", ["gateway", "proxy"])
async def test_what_is_not_found_and_what_conflicts_keeps_its_code_through_the_gateway(folder: Path, mode: str) -> None:
    serving = ("serve", "--contextpacks", "--mode", mode, "--state-dir", str(folder / "state"))
    taken, late = {"name": "example", "sections": []}, {"sections": [], "status": "draft"}
    calls = {
        ("not_found", "not_found", "NOT_FOUND"): [
            ("input", {"action": "get", "id": "pk_zzzzzzzz"}),
            ("input", {"action": "delete", "id": "pk_zzzzzzzz"}),
            ("input", {"action": "delete", "name": "no-such-pack"}),
            ("output", {"action": "read", "name": "no-such-pack"}),
        ],
        ("conflict", "conflict", "CONFLICT"): [("input", {"action": "write", "document": taken})],
        ("conflict", "revision_conflict", "CONFLICT"): [
            ("input", {"action": "write", "id": PACK, "expected_revision": 7, "document": late})
        ],
    }
    async with tools(folder, *serving) as served:
        found = {
            codes: [
                await served.refused("tool_execute", {"tool_id": f"contextpacks:{name}", "args": arguments})
                for name, arguments in each
            ]
            for codes, each in calls.items()
        }

    assert [(each["kind"], each["code"], each["error"]) for errors in found.values() for each in errors] == [
        codes for codes, each in calls.items() for _ in each
    ]


@pytest.mark.req("CP-20")
async def test_three_agents_in_three_processes_hand_work_over(tmp_path: Path) -> None:
    database = str(tmp_path / "handoff.db")

    pack_id = (await _run("scout.py", database)).strip()
    reviewed = await _run("reviewer.py", database, pack_id)
    executed = await _run("executor.py", database, "token-check")

    assert reviewed == "['qa.verdict'] was missing; now finalized in revision 2\n"
    assert executed.splitlines() == [
        "## Handoff summary [handoff]",
        "## Scope [scope]",
        "## Findings [findings]",
        "## Findings [findings]",
        "#### compare [findings]",
        "#### flow [findings]",
        "## Plan [plan]",
        "## QA [qa]",
    ]


async def _run(script: str, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(EXAMPLES / script), *arguments, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()


def _named(example: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"name": example["name"], "arguments": {**example["arguments"], **more}}
