"""`tools/list` of the proxy: every tool, in order and in pages, and a word about the servers that are missing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from gateway_cases import gatewayed
from hub_cases import Heard, eventually
from proxy_cases import ISSUE, ISSUE_ID, error_of, proxied
from relay_cases import failure_of
from relay_servers import RelayServer
from scripted_servers import ECHO, HANDSHAKE, ScriptedServer

from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.proxy.pages import PAGE_SIZE
from toolcrib_mcp.rpc import RpcError

TOOLS_CHANGED = "notifications/tools/list_changed"
PROMPTS_CHANGED = "notifications/prompts/list_changed"


def listing(*tools: dict[str, Any]) -> ScriptedServer:
    return ScriptedServer(**{"tools/list": {"tools": list(tools)}})


def refusing() -> ScriptedServer:
    server = ScriptedServer()
    server.refuses = UpstreamUnavailable("It is not there.", details={"sent": False})
    return server


@pytest.mark.req("GW-4.1", "D4-4.1a")
async def test_the_list_has_the_two_tools_of_the_proxy_and_every_tool_stripped() -> None:
    async with proxied({"github": listing(ISSUE), "files": listing(ECHO)}) as case:
        result = await case.ask("tools/list")

    own, stripped = result["tools"][:2], result["tools"][2:]
    assert [tool["name"] for tool in own] == ["tool_hydrate", "tool_execute"]
    assert [tool["name"].partition(":")[0] for tool in stripped] == ["files", "github"]
    assert stripped[1] == {
        "name": ISSUE_ID,
        "description": "Creates an issue. It has a title.",
        "inputSchema": {"type": "object"},
    }
    assert "_meta" not in result
    assert "nextCursor" not in result


@pytest.mark.req("GW-6.3", "D4-4.1j")
async def test_tools_of_every_page_without_description_and_with_odd_names_are_listed() -> None:
    # The reference reads the first page only, and drops the tools that it cannot name.
    odd = [{**ECHO, "name": name} for name in ("GitHub.create", "3d_render", "größe", "a.b/c")]

    def page(params: dict[str, Any]) -> dict[str, Any]:
        return {"tools": odd[2:]} if params.get("cursor") else {"tools": odd[:2], "nextCursor": "2"}

    async with proxied({"odd": ScriptedServer(**{"tools/list": page})}) as case:
        names = (await case.names())[2:]

        assert {(await case.runtime.hydrate(each)).upstream_name for each in names} == {tool["name"] for tool in odd}


@pytest.mark.req("D4-4.1l")
@pytest.mark.parametrize("names", ["id", "percent", "safe"])
async def test_names_come_in_the_form_that_was_asked_for(names: Any) -> None:
    expected = {"id": ISSUE_ID, "percent": "github%3Acreate_issue%401.4.0", "safe": "github__create_issue"}
    async with proxied({"github": listing(ISSUE)}, names=names) as case:
        assert (await case.names())[2:] == [expected[names]]


@pytest.mark.req("GW-5.4", "GW-9.3", "D4-5.4b")
async def test_a_cache_stable_list_is_the_same_list_and_never_has_a_marker() -> None:
    servers = {"github": listing(ISSUE), "files": listing(ECHO)}
    async with proxied(servers) as plain, proxied(servers, cache_stable=True) as stable:
        await stable.runtime.hydrate(ISSUE_ID)
        lists = [await plain.ask("tools/list"), await stable.ask("tools/list"), await stable.ask("tools/list")]

    assert lists[0] == lists[1] == lists[2]
    assert "__cache_breakpoint__" not in str(lists)


async def test_a_list_that_has_not_changed_is_not_made_again() -> None:
    async with proxied({"github": listing(ISSUE)}) as case:
        first = await case.runtime.stripped()

        assert await case.runtime.stripped() is first


async def test_what_a_program_does_to_its_list_is_not_seen_by_others() -> None:
    async with proxied({"github": listing(ISSUE)}) as case:
        mine = await case.runtime.list_tools()
        mine[0]["inputSchema"]["properties"] = {}
        mine[0]["description"] = "Mine."

        assert (await case.runtime.list_tools())[0]["inputSchema"] == {"type": "object"}


async def test_a_long_list_comes_in_pages_with_the_tools_of_the_proxy_on_the_first() -> None:
    tools = [{**ECHO, "name": f"tool_{number:04}"} for number in range(PAGE_SIZE + 3)]
    async with proxied({"files": listing(*tools)}, patience=20) as case:
        first = await case.ask("tools/list")
        last = await case.ask("tools/list", cursor=first["nextCursor"])
        refused = await failure_of(case.ask("tools/list", cursor="mine"), RpcError)

    names = [tool["name"] for tool in first["tools"] + last["tools"]]
    assert len(first["tools"]) == PAGE_SIZE + 2
    assert len(last["tools"]) == 3
    assert names[:2] == ["tool_hydrate", "tool_execute"]
    assert names[2:] == sorted(set(names[2:]))
    assert "nextCursor" not in last
    assert refused.code == -32602


@pytest.mark.req("GW-6.2")
async def test_a_server_that_is_not_there_is_named_and_the_others_are_listed() -> None:
    async with proxied({"dead": refusing(), "github": listing(ISSUE)}, patience=0.5) as case:
        result = await case.ask("tools/list")

    assert [tool["name"] for tool in result["tools"][2:]] == [ISSUE_ID]
    (missing,) = result["_meta"]["io.toolcrib/unavailable"]
    assert missing["server"] == "dead"
    assert missing["error"] == "UPSTREAM_UNAVAILABLE"
    assert missing["retryable"] is True


@pytest.mark.req("GW-6.2")
async def test_when_no_server_is_there_the_list_is_an_error_and_never_an_empty_one() -> None:
    async with proxied({"dead": refusing(), "gone": refusing()}, patience=0.5) as case:
        error = await failure_of(case.ask("tools/list"), RpcError)
        raised = await failure_of(case.runtime.list_tools(), UpstreamUnavailable)

    assert error.data["error"] == "UPSTREAM_UNAVAILABLE"
    assert [each["server"] for each in error.data["details"]["servers"]] == ["dead", "gone"]
    assert raised.retryable is True


@pytest.mark.req("GW-6.2")
async def test_a_server_that_fails_to_list_is_named_too() -> None:
    broken = ScriptedServer(**{"tools/list": RpcError(-32603, "Out of order.")})
    async with proxied({"broken": broken, "github": listing(ISSUE)}, patience=0.5) as case:
        result = await case.ask("tools/list")

    (missing,) = result["_meta"]["io.toolcrib/unavailable"]
    assert (missing["server"], missing["error"]) == ("broken", "UPSTREAM_ERROR")


async def test_servers_that_have_no_tools_are_an_empty_list_and_no_failure() -> None:
    toolless = ScriptedServer(
        initialize={**HANDSHAKE, "capabilities": {"prompts": {}}}, **{"tools/list": RpcError(-32601, "No.")}
    )
    async with proxied({"empty": listing(), "toolless": toolless}) as case:
        result = await case.ask("tools/list")

    assert [tool["name"] for tool in result["tools"]] == ["tool_hydrate", "tool_execute"]
    assert "_meta" not in result


async def test_no_servers_at_all_are_no_failure() -> None:
    async with proxied() as case:
        assert await case.names() == ["tool_hydrate", "tool_execute"]


@pytest.mark.req("GW-6.4")
async def test_a_server_that_hangs_delays_the_list_once_and_is_not_waited_for_again() -> None:
    hanging = ScriptedServer(**{"tools/list": None})
    async with proxied({"slow": hanging, "github": listing(ISSUE)}, patience=0.3) as case:
        loop = asyncio.get_running_loop()
        await case.ask("tools/list")
        case.runtime.missing._patience = 60.0
        began = loop.time()
        again = await case.ask("tools/list")
        took = loop.time() - began

    assert [each["server"] for each in again["_meta"]["io.toolcrib/unavailable"]] == ["slow"]
    assert took < 10


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize("tool_id", ["dead:echo#00000000", "dead%3Aecho%2300000000", "dead__echo"])
async def test_a_tool_of_a_server_that_is_not_there_is_unavailable_and_not_unknown(tool_id: str) -> None:
    async with proxied({"dead": refusing(), "github": listing(ISSUE)}, patience=0.5) as case:
        error = error_of(await case.call("tool_execute", {"tool_id": tool_id}))

    assert error["error"] == "UPSTREAM_UNAVAILABLE"
    assert error["retryable"] is True


async def test_each_asker_gets_an_error_of_its_own() -> None:
    async with proxied({"dead": refusing()}, patience=0.5) as case:
        one = await failure_of(case.runtime.hydrate("dead:echo#00000000"), UpstreamUnavailable)
        await case.runtime.missing.wait()

        assert case.runtime.missing.failure_of("dead") is not case.runtime.missing.failure_of("dead")
        assert case.runtime.missing.failure_of("dead") is not one


async def test_a_server_that_was_never_asked_is_told_to_be_not_known_yet() -> None:
    async with proxied({"dead": refusing()}) as case:
        (told,) = case.runtime.missing.told()

    assert told["server"] == "dead"
    assert "not known yet" in told["message"]


async def test_a_tool_is_found_although_nobody_has_listed_yet() -> None:
    async with proxied({"github": listing(ISSUE), "github__x": listing(ECHO)}) as case:
        hydrated = await case.runtime.hydrate(ISSUE_ID)

    assert hydrated.upstream == "github"


async def test_of_two_namespaces_that_fit_the_longer_is_meant() -> None:
    async with proxied({"git": refusing(), "git__hub": refusing()}, patience=0.2) as case:
        assert case.runtime.missing.server_of("git__hub__create") == "git__hub"
        assert case.runtime.missing.server_of("git:create#00000000") == "git"
        assert case.runtime.missing.server_of("github:create") is None


@pytest.mark.req("GW-6.5")
async def test_clients_hear_of_a_change_that_shows_in_their_list() -> None:
    # The reference forgets every tool it knew on such a change, and tells no client.
    server = listing(ISSUE)
    async with proxied({"github": server}) as case:
        heard = Heard(case.hub)
        await case.names()
        await heard.until(lambda _: TOOLS_CHANGED in heard.methods)
        heard.notices.clear()
        server.answers["tools/list"] = {"tools": [ISSUE, {**ECHO, "name": "novelty"}]}
        await server.tell(TOOLS_CHANGED)
        await heard.until(lambda _: TOOLS_CHANGED in heard.methods)
        names = await case.names()

    assert ISSUE_ID in names
    assert any("novelty" in name for name in names)
    assert case.service.feed is case.hub.feed


@pytest.mark.req("GW-6.5")
async def test_clients_hear_nothing_of_a_change_that_they_cannot_see_but_calls_are_checked_by_it() -> None:
    server = listing(ISSUE)
    async with proxied({"github": server}) as case:
        heard = Heard(case.hub)
        before = await case.ask("tools/list")
        await heard.until(lambda _: TOOLS_CHANGED in heard.methods)
        heard.notices.clear()
        stricter = {
            **ISSUE["inputSchema"],
            "properties": {**ISSUE["inputSchema"]["properties"], "estimate": {"minimum": 3}},
        }
        server.answers["tools/list"] = {"tools": [{**ISSUE, "inputSchema": stricter}]}
        revision = case.hub.catalog.snapshot().revision
        await server.tell(TOOLS_CHANGED)
        await eventually(lambda: case.hub.catalog.snapshot().revision > revision)
        error = error_of(await case.execute(ISSUE_ID, title="x", estimate=1))
        after = await case.ask("tools/list")
        # What was to be told of tools would be told before this.
        await server.tell(PROMPTS_CHANGED)
        await heard.until(lambda _: PROMPTS_CHANGED in heard.methods)

    assert error["error"] == "ARGS_INVALID"
    assert before == after
    assert heard.methods == [PROMPTS_CHANGED]


@pytest.mark.req("GW-6.4")
async def test_tools_of_a_server_that_has_ended_stay_listed_and_calling_them_starts_it_again() -> None:
    server = ScriptedServer()
    async with proxied({"files": server}) as case:
        name = (await case.names())[-1]
        await server.die()
        names = await case.names()
        result = await case.execute(name, nonce="n2")

    assert names[-1] == name
    assert result == {"echo": {"nonce": "n2"}}
    assert server.lives == 2


@pytest.mark.req("GW-6.2")
async def test_servers_of_the_sdk_in_either_era_are_listed() -> None:
    async with proxied({"one": RelayServer("one"), "two": RelayServer("two")}) as case:
        names = await case.names()

    assert sum(name.startswith("one:") for name in names) == sum(name.startswith("two:") for name in names) > 10


@pytest.mark.req("GW-4.1", "GW-4.2", "D4-4b")
@pytest.mark.parametrize("names", ["id", "percent", "safe"])
@pytest.mark.parametrize("cache_stable", [False, True], ids=["ranked", "stable"])
async def test_no_mode_of_the_proxy_or_gateway_lists_a_schema(names: Any, *, cache_stable: bool) -> None:
    servers = {"github": listing(ISSUE)}
    async with proxied(servers, names=names, cache_stable=cache_stable) as proxy:
        listed = (await proxy.ask("tools/list"))["tools"]
        page = await proxy.runtime.browse(path="/github")
    async with gatewayed(servers) as gateway:
        tools = (await gateway.ask("tools/list"))["tools"]

    assert [each["inputSchema"] for each in listed[2:]] == [{"type": "object"}]
    assert "labels" not in json.dumps(listed) + json.dumps(tools) + json.dumps(page.to_json()) + page.text
