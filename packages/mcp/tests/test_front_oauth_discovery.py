"""What an OAuth client finds out without a token, and verifiers that others have written."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from front_http_cases import ACCEPT, FakeService, call, initialize, raw, serving
from front_oauth_cases import ISSUER, RESOURCE, SCOPE, Issuer, authorization_server, bearer
from inline_snapshot import snapshot
from mcp import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import extract_resource_metadata_from_www_auth, extract_scope_from_www_auth
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

from toolcrib_mcp.front.http import HttpFrontSettings, ProtectedResource, http_app
from toolcrib_mcp.front.http.oauth import keys_at, verified_by
from toolcrib_mcp.front.http.uvicorn_server import QuietServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]

WELL_KNOWN = "/.well-known/oauth-protected-resource"


class Storage:
    """Where the official client keeps its tokens."""

    tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        raise AssertionError("the client is known already")


class FakeVerifier:
    """A verifier of the SDK's kind that knows one token."""

    def __init__(self, **fields: Any) -> None:
        self.fields = {"client_id": "app", "scopes": [SCOPE], "subject": "ann", **fields}

    async def verify_token(self, token: str) -> AccessToken | None:
        if token == "broken":
            raise RuntimeError(f"the database knows no {token}")
        return AccessToken(token=token, **self.fields) if token == "good" else None


@asynccontextmanager
async def _serving_itself(issuer: Issuer, service: FakeService, keys: str) -> AsyncIterator[str]:
    """A front that is called by the very address it listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        issuer.resource = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        settings = HttpFrontSettings(drain_timeout=0.2, **issuer.front(keys=keys_at(keys)))
        front = http_app(service, settings=settings)
        server = QuietServer(front, settings=settings)
        running = asyncio.create_task(server.serve([listening]))
        await server.until_ready(running)
        try:
            yield issuer.resource
        finally:
            await front.aclose()
            await server.aclose(running)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_finds_the_issuer_gets_a_token_and_calls(mode):
    issuer, service, storage = Issuer(), FakeService(), Storage()

    async with (
        asyncio.timeout(60),
        authorization_server(issuer) as place,
        _serving_itself(issuer, service, f"{place}/jwks") as url,
    ):
        auth = ClientCredentialsOAuthProvider(url, storage, client_id="app", client_secret="s", issuer=place)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=30, verify=False) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            result = await client.call_tool("echo", {"nonce": "n1"})

    assert result.content[0].text == "n1"
    assert storage.tokens is not None
    assert {each.caller.principal for each in service.requests} == {"machine"}
    assert storage.tokens.access_token not in repr(service.requests)


@pytest.mark.parametrize("path", ["", "/mcp"])
async def test_anybody_may_ask_where_tokens_are_given_out(path):
    async with serving(FakeService(), **Issuer().front()) as url, raw(url) as client:
        response = await client.client.get(url.replace("/mcp", WELL_KNOWN + path))

    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.json() == snapshot(
        {
            "resource": "https://gateway.example/mcp",
            "authorization_servers": ["https://issuer.example"],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["mcp:use"],
        }
    )


async def test_whoever_comes_without_a_token_is_sent_there():
    issuer, service = Issuer(), FakeService()

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        called, opened = await client.modern("tools/call", call("echo")), await client.post(initialize())
        listening = await client.client.get(url, headers=ACCEPT)

    for response in (called, opened, listening):
        assert response.status_code == 401
        assert extract_resource_metadata_from_www_auth(response) == f"https://gateway.example{WELL_KNOWN}/mcp"
        assert extract_scope_from_www_auth(response) == SCOPE
        assert "error" not in response.headers["www-authenticate"]
    assert service.requests == []


@pytest.mark.parametrize(
    ("method", "path"), [("POST", WELL_KNOWN), ("GET", f"{WELL_KNOWN}/other"), ("PUT", WELL_KNOWN)]
)
async def test_nothing_else_is_told(method, path):
    async with serving(FakeService(), **Issuer().front()) as url, raw(url) as client:
        response = await client.client.request(method, url.replace("/mcp", path))

    assert response.status_code == 404


async def test_without_oauth_there_is_nothing_to_tell():
    async with serving(FakeService()) as url, raw(url) as client:
        response = await client.client.get(url.replace("/mcp", WELL_KNOWN))

    assert response.status_code == 404


@pytest.mark.fault("F19")
async def test_what_is_told_is_told_to_pages_of_this_host_only():
    async with serving(FakeService(), **Issuer().front()) as url, raw(url) as client:
        place = url.replace("/mcp", WELL_KNOWN)
        rebound = await client.client.get(place, headers={"host": "evil.example"})
        foreign = await client.client.get(place, headers={"origin": "https://evil.example"})
        own = await client.client.get(place, headers={"host": "gateway.example", "origin": "https://gateway.example"})

    assert [each.status_code for each in (rebound, foreign, own)] == [421, 403, 200]


@pytest.mark.parametrize(
    ("url", "path", "host"),
    [
        ("https://gw.example", WELL_KNOWN, "gw.example"),
        ("https://gw.example/", WELL_KNOWN, "gw.example"),
        ("https://gw.example:8443/tools/mcp", f"{WELL_KNOWN}/tools/mcp", "gw.example"),
        ("http://[::1]:80/mcp", f"{WELL_KNOWN}/mcp", "[::1]"),
    ],
)
def test_the_place_of_the_metadata_comes_from_the_name(url, path, host):
    resource = ProtectedResource(url=url, issuers=(ISSUER,))

    assert resource.metadata_path == path
    assert resource.metadata_url.endswith(path)
    assert resource.host == host
    assert b"scopes_supported" not in resource.metadata()


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "gateway.example"},
        {"url": "https://"},
        {"url": "https://["},
        {"url": f"{RESOURCE}#part"},
        {"url": f'{RESOURCE}"'},
        {"url": f"{RESOURCE}\r\nset-cookie: a=b"},
        {"issuers": ()},
        {"issuers": ("issuer",)},
        {"required_scopes": ("two words",)},
        {"required_scopes": ('quo"te',)},
    ],
    ids=repr,
)
def test_names_that_no_header_can_carry_are_refused(fields):
    with pytest.raises(ValueError, match=r"`url`|`issuers`|`required_scopes`"):
        ProtectedResource(**{"url": RESOURCE, "issuers": (ISSUER,), **fields})


def test_a_resource_needs_somebody_who_knows_its_tokens():
    with pytest.raises(ValueError, match="authenticate"):
        HttpFrontSettings(resource=ProtectedResource(url=RESOURCE, issuers=(ISSUER,)))


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 200),
        ({"resource": RESOURCE}, 200),
        ({"expires_at": 4_000_000_000}, 200),
        ({"subject": None}, 401),
        ({"expires_at": 1}, 401),
        ({"scopes": []}, 403),
    ],
    ids=repr,
)
async def test_any_verifier_of_the_sdk_can_say_who_comes(fields, status):
    service = FakeService()
    resource = ProtectedResource(url=RESOURCE, issuers=(ISSUER,), required_scopes=(SCOPE,))
    known = verified_by(FakeVerifier(**fields))

    async with serving(service, resource=resource, authenticate=known) as url, raw(url) as client:
        good = await client.modern("tools/call", call("echo"), authorization=bearer("good"))
        bad = await client.modern("tools/call", call("echo"), authorization=bearer("bad"))

    assert (good.status_code, bad.status_code) == (status, 401)
    assert [each.caller.principal for each in service.requests] == (["ann"] if status == 200 else [])


@pytest.mark.fault("F19")
@pytest.mark.parametrize("resource", [None, "https://other.example/mcp"])
async def test_what_a_verifier_knows_for_another_resource_is_refused(resource):
    authenticate = verified_by(FakeVerifier(resource=resource), resource=RESOURCE)

    assert await authenticate("good") is None


async def test_a_verifier_that_fails_lets_nobody_in_and_its_words_stay_here(caplog):
    service = FakeService()

    async with serving(service, authenticate=verified_by(FakeVerifier())) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer("broken"))

    assert (response.status_code, service.requests) == (503, [])
    assert "RuntimeError" in caplog.text
    assert "knows no" not in caplog.text + response.text
