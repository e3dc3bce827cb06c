"""`toolcrib serve` as a real process, with unmodified clients of the official SDK in both eras."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from contextlib import suppress

import pytest
from mcp import Client, MCPError, StdioServerParameters

pytestmark = pytest.mark.slow

ERAS = ("auto", "legacy")


async def _names(client):
    return [tool.name for tool in (await client.list_tools()).tools]


def _text(result):
    return result.content[0].text


@pytest.mark.req("GW-6.1", "GW-6.2")
@pytest.mark.parametrize("era", ERAS)
async def test_one_server_is_served_as_it_is_over_stdio(workshop, era):
    workshop.write(one=workshop.server("echo", "pid"))

    async with workshop.client("--mode", "transparent", era=era) as client:
        names = await _names(client)
        result = await client.call_tool("echo", {"nonce": "n1"})

    assert (names, _text(result)) == (["echo", "pid"], "n1")


@pytest.mark.req("GW-6.1", "GW-6.2")
@pytest.mark.parametrize("era", ERAS)
async def test_several_servers_are_served_as_one_over_stdio(workshop, era):
    workshop.write(one=workshop.server("echo"), two=workshop.server("echo", "pid"))

    async with workshop.client("--mode", "transparent", era=era) as client:
        names = await _names(client)
        result = await client.call_tool("two__echo", {"nonce": "n2"})

    assert (sorted(names), _text(result)) == (["one__echo", "two__echo", "two__pid"], "n2")


@pytest.mark.req("GW-6.1", "GW-4.2")
@pytest.mark.parametrize("era", ERAS)
async def test_without_a_mode_the_gateway_is_served(workshop, era):
    workshop.write(one=workshop.server("echo"), two=workshop.server("pid"))

    async with workshop.client(era=era) as client:
        names = await _names(client)
        page = await client.call_tool("tool_browse", {"path": "/one/echo"})
        result = await client.call_tool("tool_execute", {"tool_id": "one__echo", "args": {"nonce": "n3"}})

    assert names == ["tool_browse", "tool_execute", "tool_view"]
    assert _text(page).startswith("one:echo")
    assert _text(result) == "n3"


@pytest.mark.req("GW-7.4")
async def test_what_was_kept_can_be_read_after_the_process_was_started_anew(workshop):
    workshop.write(one=workshop.server("echo"))
    long = " ".join(f"word{number}" for number in range(2_000))

    async with workshop.client(era="auto") as client:
        result = await client.call_tool("tool_execute", {"tool_id": "one__echo", "args": {"nonce": long}})
    handle = result.meta["io.toolcrib/envelope"]["artifacts"][0]["handle"]
    async with workshop.client(era="auto") as client:
        seen = await client.call_tool(
            "tool_view", {"handle": handle, "selector": {"type": "search", "text": "word1999", "context": 0}}
        )

    assert "word1999" in _text(seen)


@pytest.mark.req("GW-6.1", "GW-6.2", "GW-4.1")
@pytest.mark.parametrize("era", ERAS)
async def test_the_proxy_lists_hydrates_and_executes_over_stdio(workshop, era):
    workshop.write(one=workshop.server("echo"), two=workshop.server("pid"))

    async with workshop.client("--mode", "proxy", era=era) as client:
        hydrate, execute, echo, pid = await _names(client)
        schema = await client.call_tool("tool_hydrate", {"tool_id": echo})
        result = await client.call_tool("tool_execute", {"tool_id": echo, "args": {"nonce": "n3"}})

    assert (hydrate, execute) == ("tool_hydrate", "tool_execute")
    assert (echo.partition("#")[0], pid.partition("#")[0]) == ("one:echo", "two:pid")
    assert "nonce" in _text(schema)
    assert _text(result) == "n3"


@pytest.mark.enable_socket
@pytest.mark.req("GW-6.1", "GW-6.2")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("mode", ["proxy", "transparent"])
async def test_both_modes_are_served_over_http(workshop, mode, era):
    workshop.write(one=workshop.server("echo"))

    async with workshop.serving("--mode", mode, "--http", "127.0.0.1:0") as served:
        async with Client(await served.url(), mode=era, read_timeout_seconds=30) as client:
            names = await _names(client)
            called = (
                ("echo", {"nonce": "n4"})
                if mode == "transparent"
                else ("tool_execute", {"tool_id": names[2], "args": {"nonce": "n4"}})
            )
            result = await client.call_tool(*called)
        served.signal(signal.SIGTERM)
        code = await served.ended()

    assert (_text(result), code) == ("n4", 0)


@pytest.mark.req("GW-6.1")
async def test_the_mode_of_the_settings_counts_when_none_is_named(workshop):
    workshop.write({"mode": "transparent"}, one=workshop.server("echo"))

    async with workshop.client(era="auto") as client:
        names = await _names(client)

    assert names == ["echo"]


@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F1")
@pytest.mark.parametrize("mode", ["crash", "hang"])
async def test_a_server_that_cannot_start_keeps_the_others_from_nothing(workshop, mode):
    workshop.write(bad=workshop.hostile(mode), good=workshop.server("echo"))

    async with asyncio.timeout(30), workshop.client("--mode", "transparent", era="legacy") as client:
        listed = await client.list_tools()
        result = await client.call_tool("good__echo", {"nonce": "n5"})

    assert [tool.name for tool in listed.tools] == ["good__echo"]
    assert [each["server"] for each in listed.meta["io.toolcrib/unavailable"]] == ["bad"]
    assert _text(result) == "n5"


@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F2")
async def test_a_server_that_is_killed_while_serving_comes_back(workshop):
    workshop.write(one=workshop.server("echo", "pid"), two=workshop.server("pid"))

    async with workshop.client("--mode", "transparent", era="auto") as client:
        before, other = _text(await client.call_tool("one__pid")), _text(await client.call_tool("two__pid"))
        os.kill(int(before), signal.SIGKILL)
        with suppress(MCPError):  # a call that was sent before the end was noticed is not sent again
            await client.call_tool("one__pid")
        after = _text(await client.call_tool("one__pid"))
        unaffected = _text(await client.call_tool("two__pid"))

    assert after != before
    assert unaffected == other


async def test_known_tools_are_kept_for_the_next_time(workshop):
    workshop.write(one=workshop.server("echo"), two=workshop.server("pid"))

    async with workshop.client("--mode", "proxy", era="auto") as client:
        await _names(client)

    (manifest,) = workshop.state.glob("*/catalog.json")
    assert '"echo"' in manifest.read_text()
    assert list(workshop.state.glob("*/serving-*")) == []


@pytest.mark.fault("F16")
async def test_when_the_client_closes_standard_input_everything_ends(workshop):
    workshop.write(one=workshop.server("echo"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        running = workshop.alive()

        code = await served.ended()

    assert code == 0
    assert len(running) == 1
    assert workshop.alive() == set()


@pytest.mark.req("GW-8.7")
@pytest.mark.fault("F16")
async def test_at_sigterm_calls_under_way_are_answered_and_nothing_is_left(workshop):
    workshop.write(one=workshop.server("pause"), two=workshop.server("pause"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        await served.ask("tools/list", {})
        sent = {served.send("tools/call", {"name": f"{name}__pause"}) for name in ("one", "two") for _ in range(16)}
        first = await served.receive()

        served.signal(signal.SIGTERM)

        answers = [first]
        while (answer := await served.receive()) is not None:
            answers.append(answer)
        code = await served.ended()

    assert code == 0
    assert {answer["id"] for answer in answers if "result" in answer} == sent
    assert workshop.alive() == set()


@pytest.mark.enable_socket
@pytest.mark.req("GW-8.7")
@pytest.mark.fault("F16")
async def test_at_sigterm_under_load_over_http_what_was_taken_in_is_answered(workshop):
    workshop.write(one=workshop.server("pause"))
    async with workshop.serving("--mode", "transparent", "--http", "127.0.0.1:0") as served:
        async with Client(await served.url(), mode="auto", read_timeout_seconds=30) as client:
            await client.call_tool("pause")
            calls = [asyncio.create_task(client.call_tool("pause")) for _ in range(16)]
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)

            served.signal(signal.SIGTERM)
            results = await asyncio.gather(*calls)
        code = await served.ended()

    assert code == 0
    assert {_text(result) for result in results} == {"pause"}


@pytest.mark.req("GW-8.7")
@pytest.mark.fault("F16")
async def test_a_call_that_never_ends_holds_up_the_end_for_some_seconds_only(workshop):
    workshop.write(one=workshop.server("hang"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        sent = served.send("tools/call", {"name": "hang"})
        await served.has_read()

        served.signal(signal.SIGTERM)

        async with asyncio.timeout(15):
            answer = await served.receive()
            code = await served.ended()

    assert (answer["id"], "error" in answer, code) == (sent, True, 0)


@pytest.mark.req("GW-8.7")
@pytest.mark.fault("F16")
async def test_a_second_signal_ends_everything_at_once(workshop):
    workshop.write(one=workshop.server("hang"), stubborn=workshop.hostile("ignores_sigterm"))
    async with workshop.serving("--mode", "transparent", "--log-level", "info") as served:
        await served.greet()
        await served.ask("tools/list", {})
        served.send("tools/call", {"name": "one__hang"})
        await served.has_read()
        served.signal(signal.SIGTERM)
        await served.line("asked to stop")

        served.signal(signal.SIGTERM)

        # By itself it would wait five seconds for the call, and then two for the server that does not want to go.
        async with asyncio.timeout(6.5):
            await served.process.wait()

    assert workshop.alive() == set()


@pytest.mark.req("GW-6.1")
async def test_a_missing_file_is_told_in_two_lines(workshop):
    outcome = await workshop.run("serve")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0] == "error: The configuration `mcp.json` is not there."
    assert len(outcome.err.splitlines()) == 2


@pytest.mark.req("GW-6.1")
async def test_without_any_configuration_the_demo_is_served_and_that_is_said(workshop):
    environ = {name: value for name, value in os.environ.items() if name != "TOOLCRIB_CONFIG"}

    outcome = await workshop.run_raw(
        *(sys.executable, "-m", "toolcrib_cli", "serve", "--state-dir", str(workshop.state)),
        cwd=workshop.directory,
        env=environ,
    )

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("demo: there is no configuration here")
    assert "toolcrib init" in outcome.err


@pytest.mark.req("GW-6.1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "not an object"),
        ('{"mcpServers": {}}', "has no servers in it"),
        ('{"mcpServers": {"a": {"command": "x"}}, "toolcrib": {"mood": "good"}}', "`toolcrib/mood` cannot be used"),
        ('{"mcpServers": {"a": {"command": "${NO_SUCH_VARIABLE}"}}}', "needs the variable `NO_SUCH_VARIABLE`"),
    ],
)
async def test_a_configuration_that_cannot_be_used_is_refused_in_words(workshop, text, said):
    workshop.config.write_text(text)

    outcome = await workshop.run("serve", "--mode", "proxy")

    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert said in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.req("GW-6.1")
async def test_a_key_that_is_not_read_is_a_warning_and_no_more(workshop):
    workshop.write(one={**workshop.server("echo"), "mood": "good"})

    async with workshop.serving("--mode", "transparent") as served:
        warned = await served.line("warning:")
        await served.greet()

    assert "`mood`" in warned


@pytest.mark.enable_socket
async def test_a_port_that_is_taken_is_refused_in_words(workshop):
    workshop.write(one=workshop.server("echo"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        outcome = await workshop.run("serve", "--mode", "proxy", "--http", f"127.0.0.1:{port}")

    assert outcome.code == 2
    assert outcome.err.startswith(f"error: The address `127.0.0.1:{port}` cannot be served on")
    assert "Traceback" not in outcome.err


@pytest.mark.fault("F19")
async def test_an_address_for_the_whole_network_is_refused_without_tokens(workshop):
    workshop.write(one=workshop.server("echo"))

    outcome = await workshop.run("serve", "--mode", "proxy", "--http", "0.0.0.0:0")

    assert outcome.code == 2
    assert "token" in outcome.err


async def test_a_state_directory_that_was_named_and_cannot_be_used_is_refused(workshop):
    workshop.write(one=workshop.server("echo"))
    workshop.state.write_text("in the way")

    outcome = await workshop.run("serve", "--mode", "proxy")

    assert outcome.code == 2
    assert "cannot be used" in outcome.err


async def test_a_state_directory_of_the_environment_that_cannot_be_used_is_done_without(workshop):
    workshop.write(one=workshop.server("echo"))
    workshop.state.write_text("in the way")

    outcome = await workshop.run_raw(
        *(sys.executable, "-m", "toolcrib_cli", "serve", "--config", str(workshop.config), "--mode", "proxy"),
        env={**os.environ, "TOOLCRIB_STATE_DIR": str(workshop.state)},
    )

    assert outcome.code == 0
    assert "Known tools, live health and large results are not kept" in outcome.err


async def test_a_client_that_reads_standard_error_finds_no_banner_there(workshop):
    workshop.write(one=workshop.server("echo"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        await served.ended()

    assert served.err == ""


@pytest.mark.req("GW-6.1")
@pytest.mark.slow
async def test_the_demo_is_browsed_executed_and_viewed_by_an_unmodified_client(workshop):
    arguments = ["-m", "toolcrib_cli", "serve", "--demo", "--state-dir", str(workshop.state)]
    served = StdioServerParameters(command=sys.executable, args=arguments, cwd=workshop.directory)

    async with Client(served, read_timeout_seconds=30) as client:
        # Unlike a search, the path of a server waits for it.
        await client.call_tool("tool_browse", {"path": "/database"})
        page = await client.call_tool("tool_browse", {"query": "query the example database of a workshop"})
        tool_id = page.meta["io.toolcrib/cards"]["cards"][0]["id"]
        large = await client.call_tool("tool_execute", {"tool_id": tool_id, "args": {"sql": "SELECT * FROM loans"}})
        handle = large.meta["io.toolcrib/envelope"]["artifacts"][0]["handle"]
        rows = {"type": "rows", "columns": ["id"], "count": 2}
        view = await client.call_tool("tool_view", {"handle": handle, "selector": rows})

    assert "of 400" in view.content[0].text


HEAVY = {"alembic", "cryptography", "httpx", "mcp", "numpy", "sqlalchemy", "tiktoken", "toolcrib_semantic", "uvicorn"}
# Serves as the command does, but composes nothing by itself; tells its modules at a signal.
TELLING_ITS_MODULES = """
import json, signal, sys
from toolcrib_cli.app import main
import toolcrib_mcp.serving.deferred, toolcrib_mcp.serving.running
toolcrib_mcp.serving.running.UNASKED = toolcrib_mcp.serving.deferred._AFTER_ANSWER = 86400
signal.signal(signal.SIGUSR1, lambda *_: print("modules", json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True))
main()
"""


@pytest.mark.req("CL-12")
async def test_no_heavy_module_is_imported_before_the_tools_are_listed(workshop):
    workshop.write(one=workshop.hostile("hang"))
    command = [sys.executable, "-c", TELLING_ITS_MODULES, *workshop.command("serve")[3:]]
    async with workshop.serving(command=command) as served:
        await served.greet()
        listed = await served.ask("tools/list", {})
        served.signal(signal.SIGUSR1)
        modules = json.loads((await served.line("modules")).partition(" ")[2])

    assert [tool["name"] for tool in listed["tools"]] == ["tool_browse", "tool_execute", "tool_view"]
    assert not HEAVY & set(modules)
    assert "toolcrib_mcp.hub" not in modules
