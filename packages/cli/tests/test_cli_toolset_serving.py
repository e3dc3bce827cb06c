"""Toolsets in a gateway that really runs: two users with tokens over HTTP, and one over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from toolset_services import Service, web_service
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_cli.toolpack.beginning import run_new

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket, pytest.mark.req("TS-10", "TS-11")]

EXA = "builtin-exa-web-search"
KEYS = {"alice": "canary-key-of-alice", "bob": "canary-key-of-bob"}


@pytest.fixture
def exa() -> Iterator[Service]:
    with web_service() as service:
        service.answer = {"results": [{"title": "One", "url": "https://one.example"}]}
        yield service


@pytest.fixture
def tokens(workshop: Any, monkeypatch: pytest.MonkeyPatch, exa: Service) -> dict[str, str]:
    """A token for each user, each with a toolset, and one for an administrator."""
    for name in ("TOOLCRIB_MASTER_KEY", "TOOLCRIB_MASTER_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(workshop.state))
    monkeypatch.setenv("TOOLCRIB_EXA_URL", exa.url)
    monkeypatch.setenv("TOOLCRIB_TOOLSETS_ALLOW", "loopback")
    workshop.write(one=workshop.server("echo"))
    _run("toolset", "init-key")
    _run("toolset", "enable", EXA)
    for user, key in KEYS.items():
        _run("toolset", "create", EXA, f"web-{user}", "--user", user, "--key-file", "-", text=key)
    made = {user: json.loads(_run("token", "create", user, "--json")) for user in KEYS}
    return {
        **{user: each["token"] for user, each in made.items()},
        "bob-id": made["bob"]["id"],
        "root": _run("token", "create", "root", "--role", "admin").strip(),
    }


def _run(*arguments: str, text: str | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=text)
    assert result.exit_code == 0, result.exception or result.output
    return str(result.stdout)


@asynccontextmanager
async def _client(url: str, token: str, era: str) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=era, read_timeout_seconds=30) as client:
            yield client


async def _ids(client: Client) -> set[str]:
    # A search does not wait for the server that everybody has, its own path does.
    await client.call_tool("tool_browse", {"path": "/one"})
    page = await client.call_tool("tool_browse", {"query": "search the web or echo", "limit": 20})
    return {each["id"] for each in page.meta["io.toolcrib/cards"]["cards"]}


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_two_users_see_and_use_their_own_and_nothing_of_each_other(
    workshop: Any, tokens: dict[str, str], exa: Service, era: str
) -> None:
    options = ("--http", "127.0.0.1:0", "--toolsets", "--auth", "tokens", "--admin-api", "--log-level", "debug")
    async with workshop.serving(*options) as served:
        url = await served.url()
        async with _client(url, tokens["alice"], era) as alice, _client(url, tokens["bob"], era) as bob:
            hers, his = await _ids(alice), await _ids(bob)
            mine = next(each for each in hers if each.startswith("web-alice:search"))
            result = await alice.call_tool("tool_execute", {"tool_id": mine, "args": {"query": "cribs"}})
            stolen = await bob.call_tool("tool_execute", {"tool_id": mine, "args": {"query": "cribs"}})
            await asyncio.to_thread(_run, "toolset", "update", "web-alice", "--user", "alice", "--off")
            gone = await alice.call_tool("tool_execute", {"tool_id": mine, "args": {"query": "cribs"}})
        api = await _management(url.removesuffix("/mcp"), tokens)
        await asyncio.to_thread(_run, "token", "revoke", tokens["bob-id"])
        refused = await _status(url, tokens["bob"])

    assert {each.partition(":")[0] for each in hers} == {"one", "web-alice"}
    assert {each.partition(":")[0] for each in his} == {"one", "web-bob"}
    assert "One" in result.content[0].text
    assert [each.headers["x-api-key"] for each in exa.asked] == [KEYS["alice"]]
    assert stolen.is_error
    assert gone.is_error
    assert api == {"alice": 200, "root": 200, "nobody": 401, "alice's own": ["web-alice"]}
    assert refused == 401
    kept = b"".join(each.read_bytes() for each in workshop.state.rglob("*") if each.is_file())
    written = served.err.encode() + repr((hers, his, result, stolen, gone)).encode() + kept
    texts = [*KEYS.values(), *(each for each in tokens.values() if each.startswith("tcat_"))]
    assert not [each for each in texts if each.encode() in written]


async def _management(base: str, tokens: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with httpx2.AsyncClient(timeout=30) as http:
        for who, path in (("alice", "toolsets"), ("root", "toolset_types/app-configs"), ("nobody", "toolsets")):
            headers = {"authorization": f"Bearer {tokens.get(who, who)}"}
            answer = await http.get(f"{base}/api/v1/{path}", headers=headers)
            found[who] = answer.status_code
            if who == "alice":
                found["alice's own"] = [each["name"] for each in answer.json()["toolsets"]]
    return found


async def _status(url: str, token: str) -> int:
    async with httpx2.AsyncClient(timeout=30) as http:
        return (await http.post(url, json={}, headers={"authorization": f"Bearer {token}"})).status_code


async def test_a_client_over_standard_input_and_output_is_who_its_user_says(
    workshop: Any, tokens: dict[str, str], exa: Service
) -> None:
    command, *arguments = workshop.command("serve", "--toolsets", "--principal", "bob")
    # The SDK hands a server only a few variables unless it is told of more.
    given = {name: os.environ[name] for name in ("TOOLCRIB_EXA_URL", "TOOLCRIB_TOOLSETS_ALLOW")}
    server = StdioServerParameters(command=command, args=arguments, env=given)
    async with Client(server, read_timeout_seconds=30) as client:
        ids = await _ids(client)
        mine = next(each for each in ids if each.startswith("web-bob:search"))
        result = await client.call_tool("tool_execute", {"tool_id": mine, "args": {"query": "cribs"}})

    assert not result.is_error
    assert exa.asked[0].headers["x-api-key"] == KEYS["bob"]


_ALONE = {
    "toolsets": (("--toolsets", "--principal", "bob"), "web-bob:search"),
    "toolpacks": (("--toolpacks", "packs"), "text:greet"),
    "context packs": (("--contextpacks",), "contextpacks:output"),
}


@pytest.mark.req("CT-27")
@pytest.mark.parametrize("servers", ["no configuration", "no servers in it"])
@pytest.mark.parametrize("what", sorted(_ALONE))
async def test_tools_of_each_kind_are_served_without_any_mcp_server(
    workshop: Any, tokens: dict[str, str], what: str, servers: str
) -> None:
    run_new("python", "text.greet", folder=workshop.directory / "packs", url="https://example.com/", force=False)
    workshop.config.unlink()
    if servers == "no servers in it":
        workshop.config.write_text('{"mcpServers": {}}')
    options, expected = _ALONE[what]
    arguments = ["-m", "toolcrib_cli", "serve", "--state-dir", str(workshop.state), *options]
    names = ("TOOLCRIB_EXA_URL", "TOOLCRIB_TOOLSETS_ALLOW", "TOOLCRIB_STATE_DIR")
    given = {name: os.environ[name] for name in names}
    server = StdioServerParameters(command=sys.executable, args=arguments, env=given, cwd=workshop.directory)
    async with Client(server, read_timeout_seconds=30) as client:
        top = await client.call_tool("tool_browse", {"path": "/"})
        tools = await client.call_tool("tool_browse", {"path": f"/{expected.partition(':')[0]}"})
        await workshop.told_live()
        asked = [sys.executable, "-m", "toolcrib_cli", "status", "--json", "--state-dir", str(workshop.state)]
        status = await workshop.run_raw(*asked, cwd=workshop.directory)

    assert (status.code, status.json()["source"]) == (0, "live")
    assert len(top.content[0].text.splitlines()) == 1, "nothing else is served, as the demo would be"
    assert expected in tools.content[0].text


@pytest.mark.req("CT-27")
async def test_over_http_toolsets_and_their_api_are_served_without_any_mcp_server(
    workshop: Any, tokens: dict[str, str]
) -> None:
    workshop.config.write_text('{"mcpServers": {}}')
    options = ("--http", "127.0.0.1:0", "--toolsets", "--auth", "tokens", "--admin-api")
    async with workshop.serving(*options) as served:
        told = await served.line(" at http")
        url = told.split()[-1]
        api = (await served.line("management API")).split()[-1]
        async with _client(url, tokens["alice"], "auto") as alice:
            page = await alice.call_tool("tool_browse", {"path": "/"})
        found = await _management(url.removesuffix("/mcp"), tokens)
        status = await workshop.run("status", "--json")

    assert (status.code, status.json()["source"], status.json()["servers"]) == (0, "live", {})
    assert told.startswith("toolcrib serves toolsets in gateway mode at ")
    assert api == f"{url.removesuffix('/mcp')}/api/v1"
    assert page.content[0].text.splitlines() == ["/web-alice — 4 tools: answer, contents, search"]
    assert found["alice's own"] == ["web-alice"]


@pytest.mark.req("CT-27", "TS-10")
async def test_of_two_names_that_differ_in_case_the_one_in_lower_case_keeps_it(
    workshop: Any, tokens: dict[str, str]
) -> None:
    for name in ("Web", "web"):
        await asyncio.to_thread(_run, "toolset", "create", EXA, name, "--user", "bob", "--key-file", "-", text=name)
    command, *arguments = workshop.command("serve", "--toolsets", "--principal", "bob")
    given = {name: os.environ[name] for name in ("TOOLCRIB_EXA_URL", "TOOLCRIB_TOOLSETS_ALLOW")}
    server = StdioServerParameters(command=command, args=arguments, env=given)
    async with Client(server, read_timeout_seconds=30) as client:
        ids = await _ids(client)
        answers = [
            await client.call_tool("tool_execute", {"tool_id": each, "args": {"query": "cribs"}})
            for each in sorted(ids)
            if each.startswith(("web:search", "my-web:search"))
        ]

    assert {each.partition(":")[0] for each in ids} == {"one", "web", "my-web", "web-bob"}
    assert [each.is_error for each in answers] == [False, False]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--toolsets",), "--principal"),
        (("--toolsets", "--http", "127.0.0.1:0"), "--auth tokens"),
        (("--auth", "tokens"), "--http"),
        (("--admin-api",), "--http"),
        (("--toolsets", "--principal", "x", "--mode", "proxy"), "--mode"),
        (("--principal", "x", "--http", "127.0.0.1:0"), "--principal"),
    ],
)
def test_options_that_do_not_go_together_are_refused_with_what_is_missing(
    options: tuple[str, ...], hint: str, tmp_path: Path
) -> None:
    result = CliRunner().invoke(app, ["serve", "--demo", "--state-dir", str(tmp_path), *options])

    assert hint in str(getattr(result.exception, "hint", ""))
