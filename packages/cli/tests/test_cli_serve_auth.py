"""`toolcrib serve` for clients that bring access tokens of an authorization server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from front_oauth_cases import ISSUER, RESOURCE, SCOPE, Issuer, bearer
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from toolset_services import web_service
from typer.testing import CliRunner

from toolcrib_cli.app import app

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]

EXA = "builtin-exa-web-search"
OAUTH = {"issuer": ISSUER, "resource": RESOURCE, "jwks": "jwks.json", "requiredScopes": [SCOPE]}
ANYWHERE = ("--http", "127.0.0.1:0")


@pytest.fixture
def issuer(workshop: Any) -> Issuer:
    """An issuer whose keys lie beside the configuration."""
    issuer = Issuer()
    (workshop.directory / "jwks.json").write_bytes(issuer.document())
    return issuer


@asynccontextmanager
async def _client(url: str, token: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"authorization": bearer(token)}, timeout=30, verify=False) as http,
        Client(streamable_http_client(url, http_client=http), read_timeout_seconds=30) as client,
    ):
        yield client


async def _status(url: str, **headers: str) -> int:
    async with httpx2.AsyncClient(timeout=30, verify=False) as http:
        return (await http.post(url, json={}, headers=headers)).status_code


def _failure(*options: str) -> Any:
    return CliRunner().invoke(app, ["serve", *options]).exception


@pytest.mark.slow
@pytest.mark.fault("F19", "F20")
async def test_who_brings_a_token_for_this_gateway_is_served_and_nobody_else(workshop: Any, issuer: Issuer) -> None:
    http = {"oauth": OAUTH, "allowedHosts": ["tools.example"]}
    workshop.write({"mode": "transparent", "http": http}, one=workshop.server("echo"))
    good, foreign = issuer.token(), issuer.token(aud="https://other.example")

    async with workshop.serving("--auth", "oauth", "--log-level", "debug", *ANYWHERE) as served:
        url = await served.url()
        async with _client(url, good) as client:
            result = await client.call_tool("echo", {"nonce": "n1"})
        nobody, wrong = await _status(url), await _status(url, authorization=bearer(foreign))
        rebound = await _status(url, authorization=bearer(good), host="evil.example")
        named = await _status(url, authorization=bearer(good), host="tools.example")
        async with httpx2.AsyncClient(timeout=30, verify=False) as plain:
            told = (await plain.get(url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"))).json()

    assert result.content[0].text == "n1"
    # An empty object is no message, which is told only to those who may come in.
    assert (nobody, wrong, rebound, named) == (401, 401, 421, 400)
    assert (told["resource"], told["authorization_servers"]) == (RESOURCE, [ISSUER])
    written = served.err + "".join(
        each.read_bytes().decode("latin-1") for each in workshop.state.rglob("*") if each.is_file()
    )
    parts = {part for token in (good, foreign) for part in token.split(".")[1:]}
    assert not [part for part in parts if part in written]


@pytest.mark.slow
async def test_a_configuration_with_oauth_is_not_served_without_it_by_mistake(workshop: Any, issuer: Issuer) -> None:
    workshop.write({"http": {"oauth": OAUTH, "port": 0}}, one=workshop.server("echo"))

    async with workshop.serving() as served:
        asked = await _status(await served.url())
    async with workshop.serving("--auth", "none") as served:
        not_asked = await _status(await served.url())

    assert (asked, not_asked) == (401, 400)


@pytest.mark.slow
@pytest.mark.req("GW-8.7")
async def test_limits_of_the_configuration_count_for_an_address_that_is_named(workshop: Any) -> None:
    workshop.write({"http": {"requestsPerMinute": 2}}, one=workshop.server("echo"))

    async with workshop.serving(*ANYWHERE) as served:
        url = await served.url()
        statuses = [await _status(url) for _ in range(3)]

    assert statuses == [400, 400, 429]


@pytest.fixture
def toolsets(workshop: Any, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A toolset for each of two users."""
    with web_service() as exa:
        monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(workshop.state))
        monkeypatch.setenv("TOOLCRIB_EXA_URL", exa.url)
        monkeypatch.setenv("TOOLCRIB_TOOLSETS_ALLOW", "loopback")
        for name in ("TOOLCRIB_MASTER_KEY", "TOOLCRIB_MASTER_KEY_FILE"):
            monkeypatch.delenv(name, raising=False)
        workshop.write({"http": {"oauth": OAUTH}}, one=workshop.server("echo"))
        _run("toolset", "init-key")
        _run("toolset", "enable", EXA)
        for user in ("ann", "bob"):
            _run("toolset", "create", EXA, f"web-{user}", "--user", user, "--key-file", "-", text=f"key-of-{user}")
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("toolsets")
@pytest.mark.req("D3-5b")
async def test_toolsets_are_those_of_whom_the_token_names(workshop: Any, issuer: Issuer) -> None:
    reaching, narrow = issuer.token(scope=f"{SCOPE} scope_toolset-{EXA}"), issuer.token()

    async with workshop.serving("--toolsets", *ANYWHERE) as served:
        url = await served.url()
        async with _client(url, reaching) as client:
            hers = await _namespaces(client)
        async with _client(url, narrow) as client:
            without = await _namespaces(client)

    assert (hers, without) == ({"one", "web-ann"}, {"one"})


@pytest.mark.parametrize(
    ("settings", "options", "hint"),
    [
        ({}, ("--auth", "oauth", *ANYWHERE), "http.oauth"),
        ({"http": {}}, ("--auth", "oauth"), "http.oauth"),
        ({}, ("--auth", "oauth"), "--http"),
        ({"http": {"oauth": {**OAUTH, "jwks": "missing.json"}}}, (), "JWKS"),
    ],
)
def test_what_is_missing_for_oauth_is_told(
    settings: dict[str, Any], options: tuple[str, ...], hint: str, workshop: Any
) -> None:
    workshop.write(settings, one=workshop.server("echo"))

    failure = _failure("--config", str(workshop.config), "--state-dir", str(workshop.state), *options)

    assert failure.code == "toolbox.invalid-config"
    assert hint in failure.hint


async def _namespaces(client: Client) -> set[str]:
    await client.call_tool("tool_browse", {"path": "/one"})  # waits for this server, where a search would not
    page = await client.call_tool("tool_browse", {"query": "search the web or echo", "limit": 20})
    return {each["id"].partition(":")[0] for each in page.meta["io.toolcrib/cards"]["cards"]}


def _run(*arguments: str, text: str | None = None) -> None:
    result = CliRunner().invoke(app, list(arguments), input=text)
    assert result.exit_code == 0, result.exception or result.output
