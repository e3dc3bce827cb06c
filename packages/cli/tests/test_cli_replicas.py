"""Several processes of `toolcrib serve --http` on one database answer as one would."""

from __future__ import annotations

import asyncio
import re
import signal
from typing import Any

import pytest
from replica_cases import HANDSHAKE, MODERN, Client, clients, serving, text_of
from typer.testing import CliRunner

from toolcrib_cli.app import app

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow, pytest.mark.req("GW-9.2")]

TOOLS = ("echo", "alpha", "beta", "drop", "pid")
LARGE = "\n".join(f"2026-11-18 INFO line {number} of the log" for number in range(600))
POLICY = """
default = "allow"

[[rule]]
tool = "drop"
decision = "ask"

[[budget]]
tool = "alpha"
calls = 2
per = "day"
"""


@pytest.fixture
def shared(workshop: Any, store_url: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """What every process is told of the database; the configuration has two servers and a policy."""
    monkeypatch.setenv("TOOLCRIB_MASTER_KEY", "correct horse battery staple 42")
    workshop.write({"cacheStable": True}, one=workshop.server(*TOOLS), two=workshop.server("echo", "gamma"))
    workshop.permit(POLICY)
    return ("--shared", store_url)


async def _until_known(client: Client, replicas: int) -> None:
    """Wait until every replica knows the tools of both servers: before that, its pages say what is starting."""
    for replica in range(replicas):
        for tool in ("one:echo", "two:echo"):
            await client.call("tool_browse", to=replica, path=tool, detail="full")


async def _ids(client: Client) -> dict[str, str]:
    page = await client.call("tool_browse", path="/one")
    return {each["name"]: each["id"] for each in page["_meta"]["io.toolcrib/cards"]["cards"]}


async def _round(client: Client) -> list[Any]:
    """One walk through everything that is not a matter of chance: what was answered, in order."""
    told: list[Any] = []
    # By path: what is found by words depends on whether a process has loaded its sentence model yet, also in one alone.
    for path, limit in (("/one", 2), ("/", 10), ("/one", 50), ("/two", 1)):
        told += [await client.call("tool_browse", path=path, limit=limit) for _ in range(2)]
    told.append(await client.call("tool_browse", path="/Not A Path"))
    # Last: the list names what is behind, which a replica knows once its servers have started.
    told += [await client.request("tools/list") for _ in range(2)]
    ids = await _ids(client)
    told += [ids, await client.execute(ids["echo"], nonce="small"), await client.execute(ids["echo"], nonce=7)]
    large = await client.execute(ids["echo"], nonce=LARGE)
    handle = re.findall(r"art_[a-z2-7]+", text_of(large))[0]
    told.append(handle)
    selector, cursor, pages = {"type": "all"}, {}, 0
    while pages == 0 or cursor:
        page = await client.call("tool_view", handle=handle, selector=selector, **cursor)
        told.append(page)
        found = re.search(r'cursor "([^"]+)"', text_of(page))
        cursor, pages = ({"cursor": found[1]} if found else {}), pages + 1
    assert pages > 2
    told.append(await client.call("tool_view", handle=handle, selector=selector, cursor="12-0.aaaaaaaaaa"))
    told.append(await client.call("tool_view", handle="art_aaaaaaaaaaaaaaaa", selector=selector))
    return told


async def test_a_client_that_goes_to_another_replica_with_every_request_is_answered_as_by_one_process(
    workshop: Any, shared: tuple[str, ...]
) -> None:
    rounds = []
    for number, options in ((1, ()), (2, shared)):
        async with serving(workshop, number, *options) as served:
            urls = [await each.url() for each in served]
            async with clients(urls, HANDSHAKE, MODERN) as made:
                await _until_known(made[0], len(urls))
                rounds.append([await _round(each) for each in made])

    for alone, together in zip(*rounds, strict=True):
        assert [pair for pair in zip(alone, together, strict=True) if pair[0] != pair[1]] == []


async def _granted(workshop: Any, result: Any, *shared: str) -> None:
    """Allow the call that a result says is waited for, at the command line of a fourth machine."""
    found = re.search(r"toolcrib approvals grant (\S+?)`", text_of(result))
    assert found is not None, text_of(result)
    options = ["--config", str(workshop.config), "--state-dir", str(workshop.directory / "elsewhere"), *shared]
    run = await asyncio.to_thread(CliRunner().invoke, app, ["approvals", "grant", found[1], "--yes", *options])
    assert run.exit_code == 0, run.output


async def test_approvals_budgets_and_keys_count_once_for_all_replicas_also_after_one_was_killed(
    workshop: Any, shared: tuple[str, ...]
) -> None:
    async with serving(workshop, 2, *shared) as (one, other):
        urls = [await one.url(), await other.url()]
        async with clients(urls, HANDSHAKE, MODERN) as made:
            for client in made:
                ids = await _ids(client)
                await _approved_once(workshop, client, ids["drop"], *shared, nonce=client.era)
            ids = await _ids(made[0])
            keyed = {"_meta": {"io.toolcrib/idempotencyKey": "k1"}}
            pids = [text_of(await made[0].execute(ids["pid"], to=each, more=keyed)) for each in (0, 1, 0)]
            plain = {text_of(await made[0].execute(ids["pid"], to=each)) for each in (0, 1)}
            spent = [(await made[each % 2].execute(ids["alpha"], to=each)).get("isError", False) for each in range(4)]
            waiting = await made[0].execute(ids["drop"], to=0, nonce="after the end")

            one.signal(signal.SIGKILL)
            await one.ended()
            await _granted(workshop, waiting, *shared)
            done = await made[0].execute(ids["drop"], to=1, nonce="after the end")
            again = await made[0].execute(ids["drop"], to=1, nonce="after the end")
            seen = await made[0].call("tool_browse", to=1, path="/one")

    assert len(set(pids)) == 1
    assert len(plain) == 2
    assert spent == [False, False, True, True]
    assert (done.get("isError", False), again["isError"]) == (False, True)
    assert "drop" in text_of(seen)


async def _approved_once(workshop: Any, client: Client, tool: str, *shared: str, nonce: str) -> None:
    asked = await client.execute(tool, to=0, nonce=nonce)
    asked_again = await client.execute(tool, to=1, nonce=nonce)
    await _granted(workshop, asked, *shared)
    done = await client.execute(tool, to=1, nonce=nonce)
    replayed = [await client.execute(tool, to=each, nonce=nonce) for each in (0, 1)]

    assert asked == asked_again
    assert (asked["isError"], done.get("isError", False)) == (True, False)
    assert text_of(done) == "drop"
    assert [each["isError"] for each in replayed] == [True, True]
    assert all("needs approval" in text_of(each) for each in replayed)


async def test_what_was_signed_at_one_replica_is_good_once_at_any_other_and_not_when_it_was_changed(
    workshop: Any, shared: tuple[str, ...]
) -> None:
    async with serving(workshop, 2, *shared) as (one, other):
        urls = [await one.url(), await other.url()]
        async with clients(urls, MODERN, asks=True) as (client,):
            drop = (await _ids(client))["drop"]
            yes = {"inputResponses": {"approval": {"action": "accept", "content": {"answer": "once"}}}}
            state = (await client.execute(drop, to=0))["requestState"]
            middle = len(state) // 2
            changed = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
            answer = {"name": "tool_execute", "arguments": {"tool_id": drop, "args": {}}, **yes}
            forged = [
                await client.request("tools/call", {**answer, "requestState": changed}, to=each) for each in (0, 1)
            ]
            foreign = await client.execute(drop, to=1, more={**yes, "requestState": state}, nonce="another call")
            done = await client.execute(drop, to=1, more={**yes, "requestState": state})
            replayed = [await client.execute(drop, to=each, more={**yes, "requestState": state}) for each in (0, 1)]
        async with clients(urls, HANDSHAKE) as (client,):
            ended = await client.end(to=1)
            after = [(await client.send("tools/list", to=each)).status_code for each in (0, 1)]

    assert forged[0] == forged[1]
    assert text_of(done) == "drop"
    assert foreign["isError"]
    assert [each["isError"] for each in replayed] == [True, True]
    assert (ended, after) == (200, [404, 404])


@pytest.mark.parametrize(("mode", "echo"), [("proxy", "tool_execute"), ("transparent", "one__echo")])
async def test_the_other_modes_go_on_with_sessions_of_other_replicas_too(
    workshop: Any, monkeypatch: pytest.MonkeyPatch, mode: str, echo: str
) -> None:
    monkeypatch.setenv("TOOLCRIB_MASTER_KEY", "correct horse battery staple 42")
    workshop.write(one=workshop.server("echo"), two=workshop.server("gamma"))
    database = str(workshop.directory / "shared.db")

    async with serving(workshop, 2, "--mode", mode, "--shared", database) as served:
        urls = [await each.url() for each in served]
        async with clients(urls, HANDSHAKE, MODERN) as made:
            lists = [[await each.request("tools/list", to=turn) for turn in (0, 1)] for each in made]
            tool_id = next(each["name"] for each in lists[0][0]["result"]["tools"] if "echo" in each["name"])
            given: dict[str, Any] = {"nonce": "n1"}
            arguments = given if mode == "transparent" else {"tool_id": tool_id, "args": given}
            results = [await each.call(echo, to=turn, **arguments) for each in made for turn in (0, 1)]

    assert [each[0] for each in lists] == [each[1] for each in lists]
    assert [text_of(each) for each in results] == ["n1"] * 4


@pytest.mark.parametrize("address", [[], ["--http", "0"]], ids=["stdio", "http"])
async def test_without_a_master_key_nothing_is_shared(
    workshop: Any, monkeypatch: pytest.MonkeyPatch, address: list[str]
) -> None:
    for name in ("TOOLCRIB_MASTER_KEY", "TOOLCRIB_MASTER_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    workshop.write(one=workshop.server())
    database = workshop.directory / "shared.db"

    # A client that stays connected: without one, a process over standard input and output ends before it shares.
    async with workshop.serving("--shared", str(database), *address) as served:
        await served.line("TOOLCRIB_MASTER_KEY")
        code = await served.process.wait()

    assert code == 1
    assert not database.exists()
