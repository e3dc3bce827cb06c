"""Several servers behind a transparent service: nothing collides, and a dead one takes nothing from the others."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import MCPError
from relay_cases import ERAS, Client, failure_of, text_of, transparent, until
from relay_servers import RelayServer
from scripted_servers import HANDSHAKE, ScriptedServer

from toolcrib_mcp.errors import UpstreamFailed, UpstreamUnavailable
from toolcrib_mcp.front.feed import Notice
from toolcrib_mcp.front.service import Caller, Request
from toolcrib_mcp.relay import routes
from toolcrib_mcp.rpc import RpcError
from toolcrib_mcp.upstreams.eras import Era

UNAVAILABLE = "io.toolcrib/unavailable"
DEAD = UpstreamUnavailable("Nobody is there.", details={"stderr": "a secret path"})


def two() -> tuple[RelayServer, RelayServer]:
    """One of each era, with the same names for everything."""
    return RelayServer("one", era=Era.HANDSHAKE), RelayServer("two", era=Era.MODERN)


def dead(name: str = "dead") -> RelayServer:
    server = RelayServer(name)
    server.refuses = DEAD
    return server


def names(result: dict[str, Any], member: str, field: str = "name") -> list[str]:
    return [each[field] for each in result[member]]


async def complete(client: Client, ref: dict[str, Any]) -> str:
    params = {"ref": ref, "argument": {"name": "who", "value": "y"}}
    return str((await client.ask("completion/complete", params))["completion"]["values"][0])


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("front", ERAS)
async def test_tools_are_named_by_their_server_and_called_there(front: Era) -> None:
    async with transparent(*two()) as case, case.client(front) as client:
        tools = await client.ask("tools/list")
        results = [await client.call(f"{server}__echo", arguments={"nonce": server}) for server in ("one", "two")]

    assert {"one__echo", "two__echo", "one__ask", "two__ask"} <= set(names(tools, "tools"))
    assert names(tools, "tools") == sorted(names(tools, "tools"))
    assert UNAVAILABLE not in tools.get("_meta", {})
    assert [text_of(each) for each in results] == ["one echo one", "two echo two"]


@pytest.mark.req("GW-6.8")
async def test_a_tool_that_does_not_exist_is_a_clear_error_with_the_nearest() -> None:
    async with transparent(*two()) as case, case.client(Era.MODERN) as client:
        await client.ask("tools/list")
        error = await failure_of(client.call("one__ecko"), UpstreamFailed)

    assert error.rpc_code == -32602
    assert error.rpc_data["error"] == "TOOL_NOT_FOUND"
    assert error.rpc_data["retryable"] is False
    assert "`one__echo`" in error.rpc_data["hint"]


@pytest.mark.parametrize("name", [None, 5])
async def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    async with transparent(*two()) as case, case.client(Era.MODERN) as client:
        error = await failure_of(client.ask("tools/call", {"name": name}), UpstreamFailed)

    assert error.rpc_code == -32602


async def test_a_tool_can_be_called_before_its_server_was_started() -> None:
    async with transparent(*two()) as case, case.client(Era.MODERN) as client:
        result = await client.call("two__echo")

    assert text_of(result) == "two echo None"


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("front", ERAS)
async def test_prompts_are_named_by_their_server_and_fetched_there(front: Era) -> None:
    async with transparent(*two()) as case, case.client(front) as client:
        listed = await client.ask("prompts/list")
        got = [await client.ask("prompts/get", {"name": f"{each}__greet"}) for each in ("one", "two")]
        completed = await complete(client, {"type": "ref/prompt", "name": "two__greet"})

    assert [(each["name"], each["title"]) for each in listed["prompts"]] == [
        ("one__greet", "one"),
        ("two__greet", "two"),
    ]
    assert [each["messages"][0]["content"]["text"] for each in got] == ["one greet None", "two greet None"]
    assert completed == "two greet y"


@pytest.mark.parametrize("params", [{"name": "tow__greet"}, {"name": 5}])
async def test_a_prompt_that_does_not_exist_is_a_clear_error(params: dict[str, Any]) -> None:
    async with transparent(*two()) as case, case.client(Era.MODERN) as client:
        error = await failure_of(client.ask("prompts/get", params), UpstreamFailed)

    assert error.rpc_code == -32602
    if isinstance(params["name"], str):
        assert error.rpc_data == {"didYouMean": "two__greet"}


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("front", ERAS)
async def test_resources_are_read_where_they_are(front: Era) -> None:
    async with transparent(*two()) as case, case.client(front) as client:
        listed = await client.ask("resources/list")
        templates = await client.ask("resources/templates/list")
        uris = ["file:///a", "only:///one", "only:///two", "two:///by-template", "hidden:///two", "hidden:///one"]
        read = [(await client.ask("resources/read", {"uri": uri}))["contents"][0]["text"] for uri in uris]
        completed = await complete(client, {"type": "ref/resource", "uri": "two:///{path}"})

    assert names(listed, "resources", "uri") == ["file:///a", "only:///one", "only:///two"]
    assert listed["_meta"]["io.toolcrib/shadowed"] == [{"uri": "file:///a", "server": "two", "servedBy": "one"}]
    assert names(templates, "resourceTemplates", "uriTemplate") == ["one:///{path}", "two:///{path}"]
    owners = ["one", "one", "two", "two", "two", "one"]
    assert read == [f"{owner} has {uri}" for owner, uri in zip(owners, uris, strict=True)]
    assert completed == "two two:///{path} y"


async def test_a_resource_that_was_found_is_looked_for_there_next_time() -> None:
    one, other = two()
    async with transparent(one, other) as case, case.client(Era.MODERN) as client:
        for _ in (1, 2):
            await client.ask("resources/read", {"uri": "hidden:///two"})

    assert [method for method, _ in one.heard].count("resources/read") == 1
    assert [method for method, _ in other.heard].count("resources/read") == 2


async def test_a_resource_that_nobody_has_is_an_error_of_a_server() -> None:
    async with transparent(*two()) as case, case.client(Era.MODERN) as client:
        error = await failure_of(client.ask("resources/read", {"uri": "none:///x"}), UpstreamFailed)
        no_uri = await failure_of(client.ask("resources/read", {"uri": 5}), UpstreamFailed)

    assert (error.rpc_code, error.rpc_message) == (-32002, "one has no such resource.")
    assert no_uri.rpc_code == -32602


async def test_lists_that_changed_are_read_again() -> None:
    one, other = two()
    async with transparent(one, other) as case, case.client(Era.MODERN) as client:
        before = await client.ask("resources/read", {"uri": "file:///a"})
        one.resources = ["only:///one"]
        case.hub.feed.publish(Notice(method="notifications/resources/list_changed"))
        after = await client.ask("resources/read", {"uri": "file:///a"})

    assert before["contents"][0]["text"] == "one has file:///a"
    assert after["contents"][0]["text"] == "two has file:///a"
    assert [method for method, _ in one.heard].count("resources/read") == 1


@pytest.mark.req("GW-6.6")
@pytest.mark.parametrize("server", ["one", "two"])
async def test_changes_of_a_resource_are_told_by_the_server_that_has_it(server: str) -> None:
    async with transparent(*two()) as case, case.client(Era.HANDSHAKE) as client:
        await client.ask("resources/subscribe", {"uri": f"only:///{server}"})
        await client.ask("resources/unsubscribe", {"uri": f"only:///{server}"})
        await client.ask("resources/unsubscribe", {"uri": f"only:///{server}"})

    heard = [method for method, _ in case.servers[server].heard]
    assert {"resources/subscribe", "subscriptions/listen"} & set(heard)


@pytest.mark.req("GW-6.2")
@pytest.mark.req("GW-6.8")
async def test_one_dead_server_among_three_is_named_and_the_rest_is_served() -> None:
    one, other = two()
    async with transparent(one, dead(), other) as case, case.client(Era.MODERN) as client:
        lists = {
            member: await client.ask(method)
            for member, method in [
                ("tools", "tools/list"),
                ("prompts", "prompts/list"),
                ("resources", "resources/list"),
                ("resourceTemplates", "resources/templates/list"),
            ]
        }
        echoed = await client.call("two__echo")
        read = await client.ask("resources/read", {"uri": "only:///two"})

    for member, result in lists.items():
        assert result[member]
        ((missing),) = result["_meta"][UNAVAILABLE]
        assert missing["server"] == "dead"
        assert missing["error"] == "UPSTREAM_UNAVAILABLE"
        assert missing["retryable"] is True
        assert "a secret path" not in str(missing)
    assert text_of(echoed) == "two echo None"
    assert read["contents"][0]["text"] == "two has only:///two"


@pytest.mark.req("GW-6.8")
async def test_what_only_a_dead_server_may_have_is_not_said_to_be_missing() -> None:
    one, other = two()
    async with transparent(one, dead(), other) as case, case.client(Era.MODERN) as client:
        tool = await failure_of(client.call("dead__echo"), UpstreamFailed)
        prompt = await failure_of(client.ask("prompts/get", {"name": "dead__greet"}), UpstreamFailed)
        resource = await failure_of(client.ask("resources/read", {"uri": "none:///x"}), UpstreamFailed)

    for error in (tool, prompt, resource):
        assert error.rpc_code == -32000
        assert error.rpc_data["error"] == "UPSTREAM_UNAVAILABLE"
        assert error.rpc_data["retryable"] is True


@pytest.mark.req("GW-6.2")
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
async def test_when_all_are_dead_a_list_is_an_error_and_not_empty(method: str) -> None:
    async with transparent(dead("a"), dead("b")) as case, case.client(Era.MODERN) as client:
        error = await failure_of(client.ask(method), UpstreamFailed)

    assert error.rpc_data["error"] == "UPSTREAM_UNAVAILABLE"
    assert names(error.rpc_data["details"], "servers", "server") == ["a", "b"]


@pytest.mark.req("GW-6.8")
@pytest.mark.parametrize("method", ["tools/list", "resources/list", "tools/call"])
async def test_a_sole_server_that_is_dead_is_an_error_at_once(method: str) -> None:
    server = RelayServer("sole")
    async with transparent(server) as case, case.client(Era.MODERN) as client:
        server.refuses = DEAD
        await case.hub.shared("sole").aclose()
        error = await failure_of(client.ask(method, {"name": "echo"}), UpstreamFailed)

    assert error.rpc_code == -32000
    assert error.rpc_data["error"] == "UPSTREAM_UNAVAILABLE"
    assert error.rpc_data["details"]["upstream"] == "sole"


@pytest.mark.req("GW-6.8")
async def test_a_sole_server_that_never_came_is_an_error_from_the_beginning() -> None:
    async with transparent(dead()) as case:
        error = await failure_of(case.service.face(), Exception)

    assert error.data["error"] == "UPSTREAM_UNAVAILABLE"


async def test_the_face_of_several_is_what_they_can_do_together() -> None:
    async with transparent(*two()) as case:
        face = await case.service.face()

    assert face.capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert face.capabilities["completions"] == {}
    assert "logging" not in face.capabilities
    assert face.instructions == "2 servers: one, two.\n\none: Use one well.\n\ntwo: Use two well."


async def test_a_long_list_comes_in_pages_of_one_list() -> None:
    one, other = two()
    one.prompts = [f"p{number}" for number in range(4)]
    async with transparent(one, other) as case, case.client(Era.MODERN) as client:
        case.service.relay.pages._size = 3  # a thousand prompts would only take longer
        first = await client.ask("prompts/list")
        one.prompts = []
        second = await client.ask("prompts/list", {"cursor": first["nextCursor"]})
        tools = await client.ask("tools/list")
        more = await client.ask("tools/list", {"cursor": tools["nextCursor"]})
        wrong = await failure_of(client.ask("tools/list", {"cursor": first["nextCursor"]}), UpstreamFailed)

    assert names(first, "prompts") == ["one__p0", "one__p1", "one__p2"]
    assert names(second, "prompts") == ["one__p3", "two__greet"]
    assert "nextCursor" not in second
    assert len(tools["tools"]) == len(more["tools"]) == 3
    assert wrong.rpc_code == -32602


@pytest.mark.req("GW-6.2")
async def test_a_list_that_a_living_server_cannot_give_is_named() -> None:
    one, other = two()
    one.lists_fail = True
    async with transparent(one, other) as case, case.client(Era.MODERN) as client:
        listed = await client.ask("prompts/list")

    assert names(listed, "prompts") == ["two__greet"]
    (missing,) = listed["_meta"][UNAVAILABLE]
    assert (missing["server"], missing["error"]) == ("one", "UPSTREAM_ERROR")


@pytest.mark.req("GW-6.2")
async def test_a_list_without_an_end_is_served_as_far_as_it_was_read_and_named() -> None:
    endless = ScriptedServer(
        initialize={**HANDSHAKE, "capabilities": {"tools": {}, "prompts": {}}},
        **{"prompts/list": {"prompts": [{"name": "p"}], "nextCursor": "again"}},
    )
    async with (
        transparent(RelayServer("one"), more={"endless": endless.connect}) as case,
        case.client(Era.MODERN) as client,
    ):
        listed = await client.ask("prompts/list")

    assert names(listed, "prompts") == ["one__greet", "endless__p"]
    assert [each["server"] for each in listed["_meta"][UNAVAILABLE]] == ["endless"]


@pytest.mark.req("GW-6.8")
async def test_the_owner_of_a_resource_has_the_last_word_unless_it_has_it_no_more() -> None:
    one, other = two()
    async with transparent(one, other) as case, case.client(Era.MODERN) as client:
        await client.ask("resources/list")
        one.read_error = MCPError(-32050, "The disk is full.")
        failed = await failure_of(client.ask("resources/read", {"uri": "file:///a"}), UpstreamFailed)
        one.read_error = MCPError(-32002, "It is gone.")
        moved = await client.ask("resources/read", {"uri": "file:///a"})
        other.read_error = MCPError(-32051, "Not today.")
        neither = await failure_of(client.ask("resources/read", {"uri": "file:///a"}), UpstreamFailed)

    assert (failed.rpc_code, failed.rpc_message) == (-32050, "The disk is full.")
    assert moved["contents"][0]["text"] == "two has file:///a"
    assert neither.rpc_code == -32051
    assert [method for method, _ in other.heard].count("resources/read") == 2


@pytest.mark.req("GW-6.8")
async def test_the_owner_of_a_resource_that_is_gone_is_not_replaced_by_another() -> None:
    one, other = two()
    async with transparent(one, other) as case, case.client(Era.MODERN) as client:
        await client.ask("resources/list")
        await case.hub.shared("one").aclose()
        error = await failure_of(client.ask("resources/read", {"uri": "file:///a"}), UpstreamFailed)
        unlisted = await failure_of(client.ask("resources/read", {"uri": "none:///x"}), UpstreamFailed)

    assert error.rpc_data["error"] == unlisted.rpc_data["error"] == "UPSTREAM_UNAVAILABLE"


async def test_a_resource_whose_changes_nobody_tells_of_cannot_be_watched() -> None:
    async with transparent(dead("a"), dead("b")) as case:
        error = await failure_of(case.service.subscribe("me", "file:///a"), RpcError)

    assert error.data["error"] == "UPSTREAM_UNAVAILABLE"


async def test_servers_that_refuse_to_watch_are_heard() -> None:
    one, other = RelayServer("one", era=Era.HANDSHAKE), RelayServer("two", era=Era.HANDSHAKE)
    one.read_error = other.read_error = MCPError(-32002, "I do not watch.")
    async with transparent(one, other) as case:
        error = await failure_of(case.service.subscribe("me", "file:///a"), RpcError)

    assert (error.code, error.message) == (-32002, "I do not watch.")


async def test_news_that_come_while_lists_are_read_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MAX_LEARNT", 1)
    one, other = two()
    async with transparent(one, other) as case, case.client(Era.MODERN) as client:

        def change() -> None:
            case.hub.feed.publish(Notice(method="notifications/resources/list_changed"))

        one.on_resources = change
        before = await client.ask("resources/read", {"uri": "file:///a"})
        one.on_resources = lambda: None
        one.resources = []
        after = await client.ask("resources/read", {"uri": "file:///a"})
        hidden = [await client.ask("resources/read", {"uri": f"hidden:///{each}"}) for each in ("one", "two", "one")]

    assert before["contents"][0]["text"] == "one has file:///a"
    assert after["contents"][0]["text"] == "two has file:///a"
    assert [each["contents"][0]["text"] for each in hidden] == [
        f"{each} has hidden:///{each}" for each in ("one", "two", "one")
    ]


async def test_a_sole_server_that_does_not_watch_says_so_itself() -> None:
    blunt = ScriptedServer(**{"resources/subscribe": RpcError(-32099, "I do not watch.")})
    async with transparent(more={"blunt": blunt.connect}) as case:
        error = await failure_of(case.service.subscribe("me", "file:///a"), RpcError)

    assert error.code == -32099


async def test_what_a_client_watched_is_forgotten_with_it() -> None:
    async with transparent(*two()) as case:
        async with case.client(Era.HANDSHAKE) as client:
            await client.ask("resources/subscribe", {"uri": "only:///one"})
        watched = case.service.relay._watched

    assert watched == {}


async def test_a_method_that_nobody_knows_has_no_server_to_go_to() -> None:
    async with transparent(*two()) as case, case.client(Era.MODERN) as client:
        error = await failure_of(client.ask("novel/method"), UpstreamFailed)
        no_ref = await failure_of(client.ask("completion/complete", {"argument": {}}), UpstreamFailed)

    assert error.rpc_code == -32601
    assert no_ref.rpc_code == -32602


async def test_without_servers_there_is_nothing() -> None:
    async with transparent() as case, case.client(Era.MODERN) as client:
        listed = await client.ask("tools/list")
        error = await failure_of(client.ask("resources/read", {"uri": "file:///a"}), UpstreamFailed)
        face = await case.service.face()

    assert listed["tools"] == []
    assert error.rpc_code == -32602
    assert (face.capabilities, face.instructions) == ({}, None)


@pytest.mark.req("GW-6.5")
async def test_a_server_that_comes_later_is_listed_then() -> None:
    late = dead("late")
    async with transparent(RelayServer("one"), late) as case, case.client(Era.MODERN) as client:
        before = await client.ask("tools/list")
        late.refuses = None
        await until(lambda: case.hub.shared("late").known_tools)
        after = await client.ask("tools/list")

    assert UNAVAILABLE in before["_meta"]
    assert UNAVAILABLE not in after.get("_meta", {})
    assert "late__echo" in names(after, "tools")


async def test_many_calls_at_once_find_their_servers() -> None:
    async with transparent(*two()) as case, case.client(Era.MODERN) as client:
        lists = [await client.ask("tools/list") for _ in (1, 2)]
        tools = [f"{server}__echo" for server in ("one", "two") for _ in range(25)]
        results = await asyncio.gather(*(client.call(tool) for tool in tools))

    assert lists[0] == lists[1]
    assert [text_of(each) for each in results] == [f"{tool.replace('__', ' ')} None" for tool in tools]


async def test_a_relay_of_one_server_passes_on_what_is_not_about_tools() -> None:
    async with transparent(RelayServer("sole")) as case:
        caller = Caller(era=Era.MODERN, protocol_version="2026-07-28")
        asked = {"method": "prompts/list", "params": {}, "caller": caller, "channel": None}
        listed = await case.service.relay.answer(Request(**asked))
        error = await failure_of(case.service.relay.answer(Request(**asked | {"method": "tools/list"})), RpcError)

    assert names(listed, "prompts") == ["greet"]
    assert error.code == -32601


async def test_tools_that_the_operator_does_not_admit_are_not_served() -> None:
    async with (
        transparent(RelayServer("sole"), deny=("h*", "fail")) as case,
        case.client(Era.MODERN) as client,
    ):
        listed = [await client.ask("tools/list"), await client.ask("tools/list", {"cursor": "more"})]
        error = await failure_of(client.call("hang"), UpstreamFailed)
        echoed = await client.call("echo")

    served = [name for page in listed for name in names(page, "tools")]
    assert "echo" in served
    assert not {"hang", "fail"} & set(served)
    assert (error.rpc_code, error.rpc_data["error"]) == (-32602, "TOOL_NOT_FOUND")
    assert not case.servers["sole"].hanging.is_set()
    assert text_of(echoed) == "sole echo None"
