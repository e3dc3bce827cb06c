"""`tool_execute`: any form of an id, arguments checked before anything is sent, and errors that a model can act on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gateway_cases import SdkTools, gatewayed
from proxy_cases import ISSUE, ISSUE_FORMS, ISSUE_ID, error_of
from relay_cases import failure_of
from scripted_servers import ScriptedServer
from test_gateway_browsing import listing, tool

from toolcrib_core import ArgumentsTooLarge, InvalidArguments, count_tokens, parse_tool_id
from toolcrib_mcp.browse.compact_schema import LEFT_OUT, compact_schema
from toolcrib_mcp.errors import GatewayError, UpstreamUnavailable
from toolcrib_mcp.gateway import GatewayBehaviour
from toolcrib_mcp.gateway.failing_schema import FAILING_TOKENS, failing_schema
from toolcrib_mcp.rpc import RpcError

CREATED = {"content": [], "structuredContent": {"number": 7}, "novel": 1}


def github(*tools: Any, **answers: Any) -> ScriptedServer:
    return ScriptedServer(**{"tools/list": {"tools": [ISSUE, *tools]}, "tools/call": CREATED, **answers})


def calls(server: ScriptedServer) -> int:
    return server.methods.count("tools/call")


@pytest.mark.req("GW-1.6", "GW-4.2", "CL-3", "D4-4.1k")
@pytest.mark.parametrize("form", ISSUE_FORMS)
async def test_a_call_reaches_the_tool_that_the_id_names_in_any_of_its_forms(form: str) -> None:
    server = github()
    async with gatewayed({"github": server}) as case:
        result = await case.execute(form, title="Broken")

    assert result == CREATED
    assert server.params_of("tools/call") == {"name": "create_issue", "arguments": {"title": "Broken"}}


@pytest.mark.req("CL-3", "CT-20")
@pytest.mark.parametrize("form", ISSUE_FORMS)
async def test_an_error_calls_the_tool_as_its_caller_did(form: str) -> None:
    failing = github(**{"tools/call": RpcError(-32000, "No.")})
    async with gatewayed({"github": failing}) as case:
        wrong = error_of(await case.execute(form, titel="x"))
        one = error_of(await case.execute(form, title="x", labels=[1]))

    assert wrong["message"] == f"The arguments of `{form}` have 2 faults: see `violations`."
    assert all(f"`{form}`" in each["message"] for each in wrong["details"]["violations"])
    others = {f"`{each}`" for each in ISSUE_FORMS if each != form}
    assert not any(each in json.dumps([wrong, one]) for each in others)


@pytest.mark.req("CL-3")
async def test_a_name_that_several_tools_have_is_answered_with_their_ids() -> None:
    async with gatewayed({"github": github(), "gitlab": github()}) as case:
        error = error_of(await case.execute("create_issue", title="x"))
        result = await case.execute(error["details"]["didYouMean"][1], title="x")

    assert error["error"] == "TOOL_NOT_FOUND"
    assert error["message"] == "`create_issue` may be any of 2 tools."
    assert error["details"]["didYouMean"] == [ISSUE_ID, "gitlab:create_issue@1.4.0"]
    assert result == CREATED


@pytest.mark.req("GW-4.4", "GW-7.2", "D4-4.4a", "D4-4.4d")
@pytest.mark.fault("F13")
@pytest.mark.parametrize(
    ("args", "places"),
    [
        ({}, [""]),
        ({"title": ""}, ["/title"]),
        ({"title": 7, "labels": ["a", 3, 4], "estimate": 1.5}, ["/estimate", "/labels/1", "/labels/2", "/title"]),
        ({"titel": "y"}, ["", ""]),
    ],
)
async def test_a_wrong_argument_is_told_with_all_others_and_the_schema_and_reaches_nobody(
    args: Any, places: list[str]
) -> None:
    # The reference tells the first error only, and never shows a schema.
    server = github()
    async with gatewayed({"github": server}) as case:
        error = error_of(await case.execute(ISSUE_ID, **args))

    assert error["error"] == "ARGS_INVALID"
    assert error["retryable"] is False
    assert [each["pointer"] for each in error["details"]["violations"]] == places
    assert error["details"]["schema"] == ISSUE["inputSchema"]
    assert "tool_hydrate" not in json.dumps(error)
    assert calls(server) == 0


@pytest.mark.req("GW-7.2")
async def test_of_a_large_schema_the_failing_part_is_shown_within_its_budget() -> None:
    properties = {f"parameter_{number}": {"type": "string", "description": "Some words. " * 20} for number in range(80)}
    properties["count"] = {"$ref": "#/$defs/Count"}
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["parameter_7"],
        "$defs": {"Count": {"type": "integer", "minimum": 1}, "Other": {"type": "string", "description": "x" * 500}},
    }
    server = listing({**tool("wide"), "inputSchema": schema})
    async with gatewayed({"github": server}) as case:
        error = error_of(await case.execute("github__wide", count="three", parameter_7="x"))

    shown = error["details"]["schema"]
    assert shown["properties"].keys() == {"count", "parameter_7"}
    assert shown["$defs"] == {"Count": {"type": "integer", "minimum": 1}}
    assert count_tokens(json.dumps(shown, separators=(",", ":"))) <= FAILING_TOKENS


@pytest.mark.req("GW-4.4")
@pytest.mark.fault("F13")
async def test_no_argument_value_is_repeated_in_an_error() -> None:
    async with gatewayed({"github": github()}) as case:
        error = error_of(await case.execute(ISSUE_ID, title=["hunter2"], estimate="hunter2"))

    assert "hunter2" not in json.dumps(error)


@pytest.mark.req("GW-7.6", "GW-6.8")
@pytest.mark.parametrize("form", ["github:create_isue@1.4.0", "github__create_isue"])
async def test_a_misspelt_id_is_answered_with_the_right_one(form: str) -> None:
    async with gatewayed({"github": github()}) as case:
        await case.browse(path="/")
        error = error_of(await case.execute(form, title="x"))

    assert error["error"] == "TOOL_NOT_FOUND"
    assert "create_issue" in error["hint"]


@pytest.mark.req("GW-7.6")
@pytest.mark.parametrize("old", ["github:create_issue@1.3.0", "github:create_issue#00000000"])
async def test_an_id_of_before_a_change_is_answered_with_the_one_that_took_its_place(old: str) -> None:
    server = github()
    async with gatewayed({"github": server}) as case:
        await case.browse(path="/")
        error = error_of(await case.execute(old, title="x"))
        result = await case.execute(error["details"]["replacedBy"], title="x")

    assert error["error"] == "TOOL_NOT_FOUND"
    assert error["details"]["replacedBy"] == ISSUE_ID
    assert ISSUE_ID in error["hint"]
    assert result == CREATED


@pytest.mark.req("GW-7.6")
async def test_the_path_of_several_tools_in_place_of_an_id_is_answered_with_how_to_see_them() -> None:
    async with gatewayed({"github": github()}) as case:
        await case.browse(path="/")
        place = error_of(await case.execute("/github"))
        nowhere = error_of(await case.execute("/gitlab"))

    assert place["error"] == nowhere["error"] == "TOOL_NOT_FOUND"
    assert "`tool_browse`" in place["hint"]


@pytest.mark.req("GW-1.5", "GW-6.8", "D4-1.5b")
async def test_an_id_that_two_tools_claim_cannot_be_called() -> None:
    server = ScriptedServer(**{"tools/list": {"tools": [ISSUE, {**ISSUE, "description": "Another one."}]}})
    async with gatewayed({"github": server}) as case:
        await case.browse(path="/")
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert error["error"] == "HYDRATE_FAILED"
    assert calls(server) == 0


@pytest.mark.req("GW-6.8")
async def test_a_server_that_is_not_there_is_told_apart_from_a_tool_that_is_not() -> None:
    dead = ScriptedServer()
    dead.refuses = UpstreamUnavailable("It is not there.", details={"sent": False})
    async with gatewayed({"dead": dead}, behaviour=GatewayBehaviour(patience=0.3)) as case:
        error = error_of(await case.execute("dead:echo#00000000"))

    assert error["error"] == "UPSTREAM_UNAVAILABLE"


@pytest.mark.req("GW-6.8")
async def test_what_a_server_refuses_is_told_in_its_own_words() -> None:
    server = github(**{"tools/call": RpcError(-32000, "No such repository.", {"repository": "x"})})
    async with gatewayed({"github": server}) as case:
        error = error_of(await case.execute(ISSUE_ID, title="x"))

    assert (error["error"], error["message"]) == ("UPSTREAM_ERROR", "No such repository.")
    assert error["details"]["rpcData"] == {"repository": "x"}


@pytest.mark.req("GW-6.6")
async def test_an_error_that_only_the_client_can_act_on_stays_one_of_the_protocol() -> None:
    server = github(**{"tools/call": RpcError(-32042, "Visit this.", {"elicitations": []})})
    async with gatewayed({"github": server}) as case:
        error = await failure_of(case.execute(ISSUE_ID, title="x"), RpcError)

    assert error.code == -32042


@pytest.mark.req("GW-6.6")
async def test_the_other_words_of_the_client_go_with_the_call() -> None:
    server = github()
    async with gatewayed({"github": server}) as case:
        arguments = {"tool_id": ISSUE_ID, "args": {"title": "x"}}
        await case.call("tool_execute", arguments, novel=[1], _meta={"io.example/trace": "t1"})

    params = server.params_of("tools/call")
    assert (params["novel"], params["_meta"]) == ([1], {"io.example/trace": "t1"})


@pytest.mark.parametrize(
    "arguments",
    [{}, {"tool_id": 3}, {"tool_id": "x", "args": [1]}, {"tool_id": "x", "args": "{}"}, {"id": "x"}],
)
async def test_what_is_no_call_of_tool_execute_is_told_so(arguments: dict[str, Any]) -> None:
    async with gatewayed({"github": github()}) as case:
        error = error_of(await case.call("tool_execute", arguments))

    assert error["error"] == "ARGS_INVALID"


async def test_a_tool_is_not_called_by_its_own_name_and_the_error_says_how() -> None:
    server = github()
    async with gatewayed({"github": server}) as case:
        error = await failure_of(case.call("github__create_issue", {"title": "x"}), RpcError)

    assert error.code == -32602
    assert error.data["error"] == "TOOL_NOT_FOUND"
    assert "`tool_execute`" in error.data["hint"]
    assert calls(server) == 0


@pytest.mark.fault("F9")
async def test_a_servers_own_tool_execute_is_reached_by_its_id_and_never_instead_of_ours() -> None:
    server = github({**ISSUE, "name": "tool_execute"})
    async with gatewayed({"github": server}) as case:
        error = error_of(await case.call("tool_execute", {"title": "x"}))
        result = await case.execute("github__tool_execute", title="x")

    assert error["error"] == "ARGS_INVALID"
    assert result == CREATED


@pytest.mark.req("CT-12", "GW-3.4", "D4-4.4c")
@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"tool_id": ISSUE_ID, "args": {"title": "x", "labels": ["a", 3]}}, "/labels/1"),
        ({"tool_id": ISSUE_ID, "args": {"title": "", "estimate": "soon"}}, "/estimate"),
        ({"tool_id": ISSUE_ID, "args": {}}, ""),
        ({"tool_id": ISSUE_ID, "args": {"title": {"$artifact": 3}}}, "/title"),
        ({"tool_id": ISSUE_ID, "args": 3}, "/args"),
        ({"args": {}}, ""),
        ({"tool_id": 3}, "/tool_id"),
    ],
)
async def test_wrong_arguments_are_answered_in_the_shape_of_all_browse_errors(arguments: Any, path: str) -> None:
    server = github()
    async with gatewayed({"github": server}) as case:
        error = error_of(await case.call("tool_execute", arguments))

    assert error["error"] == "ARGS_INVALID"
    assert isinstance(error["message"], str)
    assert error["path"] == path
    assert isinstance(error.get("details", {}), dict)
    assert calls(server) == 0


@pytest.mark.req("GW-1.6", "GW-2.1", "D4-1.6f", "D4-2.1d", "D4-2.1i")
async def test_the_id_of_a_card_hydrates_and_executes_its_tool() -> None:
    server = listing(tool("create_issue"), tool("git.log"), tool("Read File"))
    server.answers["tools/call"] = CREATED
    async with gatewayed({"github": server}) as case:
        page = await case.gateway.browse(query="issue log file", limit=3)
        for each in page.cards:
            hydrated = case.hub.catalog.hydrate(each.card.id)
            parts = parse_tool_id(each.card.id, profile="gateway")
            result = await case.gateway.execute(each.card.id)

            assert hydrated.tool_id == result.tool_id == each.card.id
            assert server.params_of("tools/call")["name"] == hydrated.upstream_name
            assert (each.card.namespace, each.card.name) == (parts.namespace, parts.name)

    assert len(page.cards) == 3


@pytest.mark.req("GW-9.3", "GW-4.4")
async def test_a_program_browses_executes_and_meets_exceptions() -> None:
    box = SdkTools()

    @box.server.tool()
    def double(number: int) -> int:
        """Doubles a number."""
        box.calls.append("double")
        return 2 * number

    async with gatewayed({"box": box}) as case:
        page = await case.gateway.browse(query="double a number")
        wrong = await failure_of(case.gateway.execute(page.cards[0].card.id, {"number": "x"}), InvalidArguments)
        result = await case.gateway.execute(page.cards[0].card.id, {"number": 4})

    assert page.text.startswith("box:double")
    assert wrong.details["schema"]["required"] == ["number"]
    assert (result.text, result.is_error, result.envelope) == ("8", False, None)
    assert box.calls == ["double"]


@pytest.mark.parametrize("budget", [400, 60, 30, 12])
def test_a_schema_is_cut_to_its_budget_from_the_depth_up_and_says_so(budget: int) -> None:
    deep = {
        "type": "object",
        "description": "Deep. " * 30,
        "properties": {"inner": {"type": "object", "properties": {"x": {"type": "string"}}}},
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Everything",
        "properties": {"title": {"type": "string", "description": "What it is called."}, "deep": deep},
        "required": ["title"],
    }

    text = compact_schema(schema, budget=budget)

    assert count_tokens(text) <= budget or "too large" in text
    assert ("$schema" in text) is (budget == 400)
    assert json.loads(text)["type"] == "object"
    if budget >= 30:
        assert json.loads(text)["properties"].keys() == {"title", "deep"}
        assert (LEFT_OUT in text) == (budget < 60)


def test_a_property_that_is_called_like_a_keyword_is_kept() -> None:
    properties = {name: {"type": "string", "title": "Gone"} for name in ("title", "examples", "description", "$id")}
    schema = {"type": "object", "properties": properties, "required": list(properties), "enum": list(range(300))}

    shown = json.loads(compact_schema(schema, budget=110))

    assert list(shown["properties"]) == list(properties)
    assert "Gone" not in json.dumps(shown)
    assert shown["enum"] == [*range(12), LEFT_OUT]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": {"enum": ["x" * 3_000]}},
        {"type": "object", "required": 3},
        {"type": "object", "properties": {"a": {"anyOf": [{"title": "x" * 3_000}, {"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"enum": [f"option {each}" for each in range(900)]}}},
    ],
)
def test_the_schema_of_a_failure_that_no_parameter_is_to_blame_for_is_the_whole(schema: dict[str, Any]) -> None:
    shown = failing_schema(schema, [{"pointer": ""}, "odd"])

    assert shown["type"] == "object"
    assert count_tokens(json.dumps(shown)) <= FAILING_TOKENS


@pytest.mark.req("GW-7.2")
@pytest.mark.parametrize("args", [{}, {"nmae": "x"}])
async def test_of_a_large_schema_what_is_missing_or_misspelt_is_shown(args: Any) -> None:
    properties = {f"parameter_{number}": {"type": "string", "description": "Some words. " * 20} for number in range(80)}
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, **properties},
        "required": ["name"],
        "additionalProperties": False,
    }
    async with gatewayed({"github": listing({**tool("wide"), "inputSchema": schema})}) as case:
        error = error_of(await case.execute("github__wide", **args))

    assert "name" in error["details"]["schema"]["properties"]
    assert count_tokens(json.dumps(error["details"]["schema"], separators=(",", ":"))) <= FAILING_TOKENS


@pytest.mark.req("GW-4.4")
async def test_arguments_that_are_too_large_to_be_validated_are_refused_with_the_schema() -> None:
    server = github()
    async with gatewayed({"github": server}) as case:
        error = await failure_of(case.gateway.execute(ISSUE_ID, {"title": "x" * 5_000_000}), ArgumentsTooLarge)

    assert error.details["schema"] == ISSUE["inputSchema"]
    assert calls(server) == 0


async def test_an_error_of_the_gateway_itself_is_raised_to_a_program() -> None:
    async with gatewayed({"github": github()}) as case:
        error = await failure_of(case.gateway.view("art_x", {"type": "head"}), GatewayError)

    assert error.outward == "VIEW_FAILED"
    assert "keeps no results" in error.message
