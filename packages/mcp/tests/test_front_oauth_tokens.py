"""Access tokens of an authorization server, good and forged, against the front on a real socket."""

from __future__ import annotations

import hashlib
import hmac
import logging
import time

import pytest
from front_http_cases import FakeService, call, initialize, message_of, raw, serving, session_headers
from front_oauth_cases import ISSUER, RESOURCE, SCOPE, Issuer, Key, bearer, unsigned

from toolcrib_mcp.front.http.oauth import JwtVerifier
from toolcrib_mcp.front.http.oauth.jwt_verifier import LEEWAY_SECONDS

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]

METADATA = "https://gateway.example/.well-known/oauth-protected-resource/mcp"
REFUSED = f'Bearer error="invalid_token", scope="{SCOPE}", resource_metadata="{METADATA}"'
LONG_AGO, FAR_OFF = 1_600_000_000, 4_000_000_000


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "PS256", "ES256", "ES384", "ES512", "EdDSA"])
async def test_a_good_token_lets_its_subject_in(algorithm):
    issuer, service = Issuer(Key("k", algorithm)), FakeService()

    async with serving(service, **issuer.front(algorithms=(algorithm,))) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token()))

    assert response.status_code == 200
    caller = service.requests[-1].caller
    assert (caller.principal, caller.scopes) == ("ann", frozenset({SCOPE}))


@pytest.mark.parametrize(
    ("claims", "headers"),
    [
        ({"aud": [RESOURCE, "https://other.example"]}, {}),
        ({"aud": f"{RESOURCE}/"}, {}),
        ({"scope": f"openid {SCOPE}"}, {}),
        ({"scope": None, "scp": ["openid", SCOPE]}, {}),
        ({"nbf": LONG_AGO}, {}),
        ({"exp": FAR_OFF + 0.5, "client_id": None, "azp": "app"}, {}),
        ({}, {"typ": "JWT"}),
        ({}, {"typ": None}),
        ({}, {"typ": "application/at+jwt"}),
    ],
    ids=repr,
)
async def test_tokens_may_be_written_in_the_ways_that_issuers_do(claims, headers):
    issuer = Issuer()

    async with serving(FakeService(), **issuer.front()) as url, raw(url) as client:
        token = issuer.token(headers=headers, **claims)
        response = await client.modern("tools/call", call("echo"), authorization=bearer(token))

    assert response.status_code == 200


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"aud": "https://other.example/mcp"}, id="wrong audience"),
        pytest.param({"aud": ["https://gateway.example", "https://other.example"]}, id="several wrong audiences"),
        pytest.param({"aud": f"{RESOURCE}.evil.example"}, id="an audience that only begins right"),
        pytest.param({"aud": None}, id="no audience"),
        pytest.param({"aud": {}}, id="an audience that is none"),
        pytest.param({"exp": LONG_AGO}, id="expired"),
        pytest.param({"exp": None}, id="never expires"),
        pytest.param({"exp": "soon"}, id="expires at no time"),
        pytest.param({"nbf": FAR_OFF}, id="not yet valid"),
        pytest.param({"iat": FAR_OFF}, id="given out in the future"),
        pytest.param({"iss": "https://evil.example"}, id="wrong issuer"),
        pytest.param({"iss": f"{ISSUER}/"}, id="an issuer that is nearly right"),
        pytest.param({"iss": None}, id="no issuer"),
        pytest.param({"sub": None}, id="nobody"),
        pytest.param({"sub": ""}, id="an empty name"),
        pytest.param({"sub": "ann\nscope"}, id="a name with a line break"),
        pytest.param({"sub": " ann"}, id="a name with a blank at its end"),
        pytest.param({"sub": "x" * 300}, id="a name without an end"),
        pytest.param({"sub": "local"}, id="the name of those who are not asked"),
    ],
)
async def test_a_token_that_says_something_else_lets_nobody_in(claims):
    issuer, service = Issuer(), FakeService()

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        token = issuer.token(**claims)
        called = await client.modern("tools/call", call("echo"), authorization=bearer(token))
        opened = await client.post(initialize(), authorization=bearer(token))

    assert (called.status_code, opened.status_code) == (401, 401)
    assert called.headers["www-authenticate"] == REFUSED
    assert service.requests == []


@pytest.mark.fault("F19")
@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", ""])
async def test_a_token_that_says_it_needs_no_signature_is_refused(algorithm):
    issuer, service = Issuer(), FakeService()
    token = unsigned({"alg": algorithm, "kid": "first", "typ": "at+jwt"}, issuer.claims())

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(token))

    assert (response.status_code, service.requests) == (401, [])


@pytest.mark.fault("F19")
@pytest.mark.parametrize("secret", ["pem", "n"])
async def test_a_public_key_is_no_secret_to_sign_with(secret):
    key = Key("first", "RS256")
    issuer, service = Issuer(key), FakeService()
    text = unsigned({"alg": "HS256", "kid": "first", "typ": "at+jwt"}, issuer.claims()).rsplit(".", 1)[0]
    shared = key.pem if secret == "pem" else key.jwk["n"].encode()
    signature = hmac.digest(shared, text.encode(), hashlib.sha256)
    token = unsigned({"alg": "HS256", "kid": "first", "typ": "at+jwt"}, issuer.claims(), signature)

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(token))

    assert (response.status_code, service.requests) == (401, [])


@pytest.mark.fault("F19")
async def test_a_token_cannot_bring_its_own_key():
    issuer, mine, service = Issuer(), Key("mine", number=1), FakeService()
    token = issuer.token(key=mine, headers={"kid": "first", "jwk": mine.jwk, "jku": "https://evil.example/jwks"})

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(token))

    assert (response.status_code, service.requests) == (401, [])


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "headers",
    [{"kid": "nobody's"}, {"kid": "../../etc/passwd"}, {"typ": "logout+jwt"}, {"typ": "dpop+jwt"}, {"typ": 7}],
    ids=repr,
)
async def test_what_the_issuer_signed_for_another_purpose_is_no_access_token(headers):
    issuer, service = Issuer(), FakeService()

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token(headers=headers)))

    assert (response.status_code, service.requests) == (401, [])


@pytest.mark.fault("F19")
@pytest.mark.parametrize("headers", [{"alg": ["ES256"]}, {"kid": 7}, {"crit": ["novel"], "novel": 1}], ids=repr)
async def test_a_header_that_cannot_be_read_is_refused(headers):
    issuer, service = Issuer(), FakeService()
    signature = issuer.token().split(".")[2].encode()
    token = unsigned({"alg": "ES256", "kid": "first", "typ": "at+jwt", **headers}, issuer.claims(), signature)

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(token))

    assert (response.status_code, service.requests) == (401, [])


@pytest.mark.fault("F19")
@pytest.mark.parametrize(
    "token",
    [
        "x",
        "..",
        "a.b.c",
        "a.b.c.d.e",
        unsigned({}, {}),
        unsigned({"alg": "ES256"}, {}),
        ("W" * 4 + "1") * 1000,
        "~" * 8192,
    ],
    ids=lambda token: token[:12],
)
async def test_what_is_no_token_at_all_is_refused(token):
    async with serving(FakeService(), **Issuer().front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(token))

    assert response.status_code == 401


@pytest.mark.fault("F19")
async def test_a_token_that_was_changed_after_it_was_signed_is_refused():
    issuer, service = Issuer(), FakeService()
    header, _, signature = issuer.token().split(".")
    body = unsigned({}, issuer.claims(sub="root")).split(".")[1]

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(f"{header}.{body}.{signature}"))

    assert (response.status_code, service.requests) == (401, [])


@pytest.mark.fault("F19", "K21")
@pytest.mark.filterwarnings("ignore:.*below the minimum")
@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512", "PS256"])
async def test_a_key_that_is_too_short_signs_nothing(algorithm):
    issuer, service = Issuer(Key("first", algorithm, number=1)), FakeService()
    token = issuer.token()

    async with serving(service, **issuer.front(algorithms=(algorithm,))) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(token))

    assert (response.status_code, service.requests) == (401, [])


@pytest.mark.fault("F19")
async def test_a_way_to_sign_that_is_not_listed_is_refused_even_with_a_good_key():
    issuer = Issuer(Key("first", "RS384"))

    async with serving(FakeService(), **issuer.front(algorithms=("RS256",))) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token()))

    assert response.status_code == 401


async def test_clocks_may_differ_a_little():
    issuer, service = Issuer(), FakeService()
    just_now, soon = time.time() - 1, time.time() + LEEWAY_SECONDS - 1

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        old = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token(exp=just_now)))
        new = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token(nbf=soon, iat=soon)))

    assert (old.status_code, new.status_code) == (200, 200)


@pytest.mark.fault("F19")
@pytest.mark.parametrize("scope", [None, "", "openid", "mcp:user", "MCP:USE", ["mcp:use extra"]])
async def test_a_token_without_the_scope_is_told_which_it_needs(scope):
    issuer, service = Issuer(), FakeService()

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        response = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token(scope=scope)))

    assert response.status_code == 403
    expected = f'Bearer error="insufficient_scope", scope="{SCOPE}", resource_metadata="{METADATA}"'
    assert response.headers["www-authenticate"] == expected
    assert service.requests == []


async def test_another_claim_may_say_who_it_is():
    issuer, service = Issuer(), FakeService()

    async with serving(service, **issuer.front(principal_claim="email")) as url, raw(url) as client:
        named = bearer(issuer.token(email="ann@example.com"))
        known = await client.modern("tools/call", call("echo"), authorization=named)
        nobody = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token(email=["ann"])))

    assert (known.status_code, nobody.status_code) == (200, 401)
    assert service.requests[-1].caller.principal == "ann@example.com"


@pytest.mark.fault("F19")
async def test_a_session_that_was_stolen_is_of_no_use_with_another_token():
    issuer, service = Issuer(), FakeService()
    ann, eve = bearer(issuer.token()), bearer(issuer.token(sub="eve"))
    narrowed, renewed = bearer(issuer.token(scope=f"{SCOPE} more")), bearer(issuer.token(jti="another"))

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        await client.initialize(authorization=ann)
        stolen = await client.handshake("tools/call", call("echo"), authorization=eve)
        stream = await client.client.get(url, headers={**session_headers(client), "authorization": eve})
        ended = await client.client.delete(url, headers={**session_headers(client), "authorization": eve})
        other = await client.handshake("tools/call", call("echo"), authorization=narrowed)
        own = await client.handshake("tools/call", call("echo", nonce="mine"), authorization=renewed)

    assert [each.status_code for each in (stolen, stream, ended, other)] == [404] * 4
    assert message_of(own)["result"]["content"][0]["text"] == "mine"
    assert [each.caller.principal for each in service.requests] == ["ann"]


@pytest.mark.fault("F20")
async def test_an_access_token_goes_no_further_than_the_front(caplog):
    issuer, service = Issuer(), FakeService()
    caplog.set_level(logging.DEBUG)
    good, bad = issuer.token(), issuer.token(aud="https://other.example")

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        await client.initialize(authorization=bearer(good))
        await client.handshake("tools/call", call("echo"), authorization=bearer(good))
        await client.modern("tools/call", call("echo"), authorization=bearer(good))
        refused = await client.modern("tools/call", call("echo"), authorization=bearer(bad))

    assert len(service.requests) == 2
    said = repr(service.requests) + caplog.text + refused.text + repr(refused.headers)
    parts = {part for token in (good, bad) for part in token.split(".")}
    assert not [part for part in parts if part in said]
    assert "an access token was refused: InvalidAudienceError" in caplog.text


@pytest.mark.parametrize("algorithms", [(), ("none",), ("HS256",), ("RS256", "HS512")])
def test_a_way_to_sign_that_is_never_taken_cannot_be_asked_for(algorithms):
    with pytest.raises(ValueError, match="algorithms"):
        JwtVerifier(None, issuer=ISSUER, resource=RESOURCE, algorithms=algorithms)
