"""`toolcrib status` as a real process: by trying the servers, and from a process that serves them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

import pytest
from process_children import until

pytestmark = [pytest.mark.slow, pytest.mark.req("GW-6.4")]


def keyed(workshop, variable):
    """The entry of a server that needs a variable."""
    entry = workshop.server("echo")
    return {**entry, "env": {**entry["env"], "KEY": f"${{{variable}}}"}}


async def test_servers_that_nobody_serves_are_tried_and_closed_again(workshop):
    workshop.write(one=workshop.server("echo", "pid"))

    outcome = await workshop.run("status")

    head, _, heading, row, _, total = outcome.out.splitlines()
    assert outcome.code == 0
    assert outcome.err == ""
    assert head == f"{workshop.config}: no running gateway; started each server to check it."
    assert heading.split() == ["Server", "State", "Transport", "Protocol", "Tools"]
    assert row.split()[:2] == ["one", "started"]
    assert row.split()[-3:] == ["2026-07-28", "(modern)", "2"]
    assert total == "1 server, 1 running, 0 failed, 2 tools."
    assert workshop.alive() == set()


@pytest.mark.fault("F1")
async def test_a_server_that_cannot_start_is_told_with_its_last_words_and_the_rest_is_there(workshop):
    workshop.write(bad=workshop.hostile("crash"), good=workshop.server("echo"), off={"command": "x", "disabled": True})

    outcome = await workshop.run("status")

    assert outcome.code == 1
    assert "bad: The server `bad` could not be started." in outcome.out
    assert "the last lines that it wrote to standard error:" in outcome.out
    assert "Switched off: off." in outcome.out
    assert "2 servers, 1 running, 1 failed, 1 tool." in outcome.out
    assert "\x1b" not in outcome.out


async def test_a_server_whose_variable_is_not_set_is_left_out_loudly_and_the_rest_is_there(workshop):
    workshop.write(keyed=keyed(workshop, "NOT_SET"), good=workshop.server("echo"))

    outcome = await workshop.run("status")
    told = (await workshop.run("status", "--json")).json()
    checks = {each["name"]: each for each in (await workshop.run("doctor", "--json")).json()["checks"]}

    assert outcome.code == 1
    said = "warning: Line 1: The server `keyed` needs the variable `NOT_SET` in `env/KEY`, which is not set."
    assert f"{said} The server is left out." in outcome.out
    assert "1 server, 1 running, 0 failed, 1 left out, 1 tool." in outcome.out
    assert (told["ok"], told["leftOut"], list(told["servers"])) == (False, ["keyed"], ["good"])
    assert (checks["server keyed"]["verdict"], checks["server good"]["verdict"]) == ("broken", "ok")


async def test_a_server_is_not_left_out_where_the_process_that_serves_has_its_variable(workshop, monkeypatch):
    workshop.write(keyed=keyed(workshop, "ONLY_THERE"), good=workshop.server("echo"))
    monkeypatch.setenv("ONLY_THERE", "value")

    async with workshop.serving() as served:
        await served.greet()
        await workshop.told_live()
        monkeypatch.delenv("ONLY_THERE")
        told = (await workshop.run("status", "--json")).json()

    assert (told["source"], told["ok"], told["leftOut"], told["warnings"]) == ("live", True, [], [])


@pytest.mark.fault("F1")
async def test_a_server_that_never_answers_is_given_up_after_the_time_that_was_named(workshop):
    workshop.write(silent=workshop.hostile("hang"), good=workshop.server("echo"))

    async with asyncio.timeout(40):
        outcome = await workshop.run("status", "--timeout", "8", "--json")

    told = outcome.json()["servers"]
    assert outcome.code == 1
    assert (told["good"]["failed"], told["silent"]["failed"]) == (False, True)
    assert "was not ready within" in told["silent"]["startError"]["message"]


async def test_the_status_as_json_is_whole(workshop):
    workshop.write(bad=workshop.hostile("crash"), good=workshop.server("echo"))

    outcome = await workshop.run("status", "--json")

    told = outcome.json()
    bad, good = told["servers"]["bad"], told["servers"]["good"]
    assert outcome.code == 1
    assert (told["config"], told["source"], told["ok"]) == (str(workshop.config), "probe", False)
    assert (good["failed"], good["health"]["state"], good["tools"]["served"]) == (False, "started", 1)
    assert (bad["failed"], bad["health"]["lastFailure"]["code"]) == (True, "toolbox.upstream-unavailable")
    assert bad["health"]["lastFailure"]["details"]["stderr"]


async def test_where_it_is_served_the_live_health_is_shown_and_nothing_is_started(workshop):
    workshop.write(one=workshop.server("echo", "pid"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        await workshop.told_live()
        running = workshop.alive()

        outcome = await workshop.run("status", "--json")

        told = outcome.json()
        assert (outcome.code, told["source"]) == (0, "live")
        assert told["process"]["pid"] == served.pid
        assert (told["process"]["mode"], told["process"]["address"]) == ("transparent", "stdio")
        held = told["process"]["held"]
        assert (held["sessions"], held["tasks"] > 0, held["threads"] > 0) == (1, True, True)
        assert {told["servers"]["one"]["health"]["pid"]} == running == workshop.alive()
        assert await served.ended() == 0


async def test_a_server_that_was_killed_shows_in_the_live_health(workshop):
    workshop.write({"servers": {"one": {"restart": {"when": "never"}}}}, one=workshop.server("echo"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        await workshop.told_live()
        (server,) = workshop.alive()
        os.kill(server, signal.SIGKILL)
        async with asyncio.timeout(20):
            while (outcome := await workshop.run("status")).code == 0:
                pass
        await served.ended()

    assert outcome.code == 1
    assert "served in transparent mode by process" in outcome.out
    assert "one: The server `one` has ended. The program `python` was ended by the signal SIGKILL." in outcome.out


async def test_what_a_killed_process_left_is_not_taken_for_live(workshop):
    workshop.write(one=workshop.server("echo"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        await workshop.told_live()
        served.signal(signal.SIGKILL)
        await served.ended()
    await workshop.none_left()

    outcome = await workshop.run("status", "--json")

    assert (outcome.code, outcome.json()["source"]) == (0, "probe")
    assert list(workshop.state.glob("*/serving-*.json")) == []


@pytest.mark.req("CL-13")
async def test_a_version_that_cannot_be_used_is_told_beside_what_is_still_served(workshop):
    workshop.write(one=workshop.server("echo"))
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        await workshop.told_live()
        workshop.config.write_text("{")
        outcome = await workshop.run("status")
        await served.ended()

    assert outcome.code == 1
    assert "The configuration was changed and cannot be used: `mcp.json`" in outcome.out
    assert "one     started" in outcome.out


async def test_a_configuration_that_cannot_be_used_ends_with_two(workshop):
    workshop.config.write_text("{")

    outcome = await workshop.run("status", "--json")

    assert (outcome.code, json.loads(outcome.out)["error"]["code"]) == (2, "toolbox.invalid-config")
    assert outcome.err.startswith("error: ")


async def test_an_interrupted_trial_leaves_no_server(workshop):
    workshop.write(silent=workshop.hostile("hang"))
    process = await asyncio.create_subprocess_exec(
        *workshop.command("status"), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    await until(lambda: bool(workshop.alive()))

    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(20):
        out, err = await process.communicate()

    assert (process.returncode, out, err) == (130, b"", b"")
    assert workshop.alive() == set()


async def test_a_secret_of_the_configuration_is_in_nothing_that_is_told(workshop):
    secret = "hunter2-very-secret"
    entry = workshop.hostile("crash")
    entry["args"] += ["--banner", secret]
    entry["env"]["TOKEN"] = secret
    workshop.write(bad=entry)

    text, as_json = await workshop.run("status"), await workshop.run("status", "--json")

    assert secret not in text.out + text.err + as_json.out + as_json.err


async def test_the_same_program_by_another_way_to_its_file_is_found_to_be_live(workshop):
    workshop.write(one=workshop.server("echo"))
    (workshop.directory / "link.json").symlink_to(workshop.config)
    async with workshop.serving("--mode", "transparent") as served:
        await served.greet()
        await workshop.told_live()

        outcome = await workshop.run_raw(
            *(
                sys.executable,
                "-m",
                "toolcrib_cli",
                "status",
                "--json",
                "--config",
                "link.json",
                "--state-dir",
                "state",
            ),
            cwd=workshop.directory,
        )
        await served.ended()

    assert json.loads(outcome.out)["source"] == "live"
