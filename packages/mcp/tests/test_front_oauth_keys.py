"""The keys of an issuer: read, kept, changed and lost."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from front_http_cases import FakeService, call, raw, serving
from front_oauth_cases import Issuer, Key, authorization_server, bearer

from toolcrib_mcp.errors import ConfigError, GatewayError
from toolcrib_mcp.front.http.oauth import IssuerKeys, keys_at
from toolcrib_mcp.front.http.oauth.issuer_keys import FRESH_SECONDS, KEPT_SECONDS, RETRY_SECONDS
from toolcrib_mcp.front.http.oauth.key_set import MAX_KEYS, read_key_set
from toolcrib_runtime.guards.net import NetGrant
from toolcrib_runtime.testing import FakeClock

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]


def _document(*keys):
    return json.dumps({"keys": keys}).encode()


async def _settled(keys):
    """Wait for a reading that goes on beside."""
    await asyncio.wait([keys._reading])


async def test_keys_are_read_once_for_many_tokens():
    issuer, clock = Issuer(), FakeClock()
    keys = IssuerKeys(issuer.read, clock=clock)

    found = await asyncio.gather(*(keys.find("first", "ES256") for _ in range(20)))

    assert None not in found
    assert issuer.readings == 1


async def test_one_who_gives_up_waiting_does_not_stop_the_reading_for_others():
    issuer, go_on = Issuer(), asyncio.Event()

    async def read():
        await go_on.wait()
        return await issuer.read()

    keys = IssuerKeys(read)
    first, second = (asyncio.create_task(keys.find("first", "ES256")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    go_on.set()

    assert await second is not None
    assert first.cancelled() or first.cancelling()


async def test_a_new_key_is_read_when_a_token_names_it_and_the_old_one_is_forgotten():
    issuer, clock = Issuer(Key("old")), FakeClock()
    keys = IssuerKeys(issuer.read, clock=clock)
    await keys.find("old", "ES256")
    issuer.keys = [Key("new", number=1)]

    await clock.advance(RETRY_SECONDS)

    assert await keys.find("new", "ES256") is not None
    assert await keys.find("old", "ES256") is None


async def test_tokens_that_name_invented_keys_do_not_make_the_issuer_be_asked_again_and_again():
    issuer, clock = Issuer(), FakeClock()
    keys = IssuerKeys(issuer.read, clock=clock)
    await keys.find("first", "ES256")

    await clock.advance(RETRY_SECONDS)
    found = [await keys.find(f"invented-{number}", "ES256") for number in range(50)]

    assert set(found) == {None}
    assert issuer.readings == 2


async def test_keys_that_are_known_for_a_while_are_read_again_while_they_still_count():
    issuer, clock = Issuer(), FakeClock()
    keys = IssuerKeys(issuer.read, clock=clock)
    await keys.find("first", "ES256")
    issuer.keys = [Key("second", number=1)]

    await clock.advance(FRESH_SECONDS + 1)
    meanwhile = await keys.find("first", "ES256")
    await _settled(keys)
    afterwards = await keys.find("first", "ES256")

    assert (meanwhile is None, afterwards is None) == (False, True)


async def test_while_the_issuer_is_down_the_last_keys_count_and_then_nobody_can_tell(caplog):
    issuer, clock = Issuer(), FakeClock()
    keys = IssuerKeys(issuer.read, clock=clock)
    await keys.find("first", "ES256")
    issuer.failing = True

    await clock.advance(KEPT_SECONDS)
    last = await keys.find("first", "ES256")
    await _settled(keys)
    await clock.advance(RETRY_SECONDS)
    with pytest.raises(GatewayError) as refused:
        await keys.find("first", "ES256")
    issuer.failing = False
    await clock.advance(RETRY_SECONDS)
    again = await keys.find("first", "ES256")

    assert last is not None
    assert again is not None
    assert refused.value.hint is not None
    assert "the issuer is down" in caplog.text


@pytest.mark.fault("F19")
async def test_without_keys_nobody_comes_in_and_everybody_is_told_to_come_again():
    issuer, service = Issuer(), FakeService()
    issuer.failing = True

    async with serving(service, **issuer.front()) as url, raw(url) as client:
        token = bearer(issuer.token())
        responses = [await client.modern("tools/call", call("echo"), authorization=token) for _ in range(3)]

    assert {each.status_code for each in responses} == {503}
    assert {each.headers["retry-after"] for each in responses} == {"5"}
    assert (service.requests, issuer.readings) == ([], 1)


async def test_keys_change_under_a_front_that_reads_them_by_http():
    issuer, clock, service = Issuer(Key("old")), FakeClock(), FakeService()

    async with authorization_server(issuer) as place:
        front = issuer.front(keys=keys_at(f"{place}/jwks", clock=clock))
        async with serving(service, **front) as url, raw(url) as client:
            old = bearer(issuer.token())
            before = await client.modern("tools/call", call("echo"), authorization=old)
            issuer.keys = [Key("new", "EdDSA")]
            await clock.advance(RETRY_SECONDS)
            after = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token()))
            revoked = await client.modern("tools/call", call("echo"), authorization=old)

    assert [each.status_code for each in (before, after, revoked)] == [200, 200, 401]
    assert issuer.readings == 2


@pytest.mark.parametrize("broken", ["status", "body", "gone"])
async def test_an_issuer_that_answers_nonsense_is_down(broken, caplog):
    issuer = Issuer()
    caplog.set_level(logging.WARNING, "toolcrib")

    async with authorization_server(issuer) as place:
        issuer.failing = broken == "status"
        keys = keys_at(f"{place}/{'token' if broken == 'gone' else 'jwks'}")
        if broken == "body":
            issuer.keys = []
        with pytest.raises(GatewayError):
            await keys.find("first", "ES256")

    assert "cannot be read" in caplog.text


async def test_keys_may_be_in_a_file_beside_the_configuration(tmp_path):
    issuer = Issuer()
    (tmp_path / "jwks.json").write_bytes(issuer.document())

    relative, absolute = keys_at("jwks.json", directory=tmp_path), keys_at(str(tmp_path / "jwks.json"))

    assert await relative.find("first", "ES256") is not None
    assert await absolute.find("first", "ES256") is not None


async def test_a_file_that_is_too_large_is_not_read(tmp_path, caplog):
    file = tmp_path / "jwks.json"
    file.write_bytes(b" " * (1024 * 1024 + 1))

    with pytest.raises(GatewayError):
        await keys_at(str(file)).find("first", "ES256")

    assert "larger than" in caplog.text


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("missing.json", "no file"),
        ("http://issuer.example/jwks", "http"),
        ("https://user:secret@issuer.example/jwks", "cannot be read from there"),
        ("https://169.254.169.254/jwks", "cannot be read from there"),
    ],
)
def test_a_place_that_cannot_be_read_is_told_at_once(place, problem, tmp_path):
    with pytest.raises(ConfigError, match=problem) as refused:
        keys_at(place, directory=tmp_path)

    assert refused.value.details["place"] == "http.oauth.jwks"
    assert "secret" not in str(refused.value)


def test_the_operator_may_grant_what_the_url_does_not_name():
    assert keys_at("http://issuer.internal/jwks", network=NetGrant(allow_http=True, allow_private=True))


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b'{"keys": {}}',
        _document(),
        _document("text", 7),
        _document({"kty": "oct", "k": "c2VjcmV0", "kid": "first"}),
        _document({**Key("k").jwk, "use": "enc"}),
        _document({**Key("k").jwk, "key_ops": ["sign"]}),
        _document({**Key("k").jwk, "key_ops": "verify"}),
        _document({**Key("k").jwk, "alg": "HS256"}),
        _document({**Key("k").jwk, "crv": "secp256k1"}),
        _document(*([Key("k").jwk] * (MAX_KEYS + 1))),
    ],
    ids=lambda document: document[:40].decode(),
)
def test_what_is_no_set_of_public_keys_is_refused(document):
    with pytest.raises(ValueError, match=r"key|JSON|unexpected|empty"):
        read_key_set(document)


def test_a_key_that_is_broken_checks_nothing():
    keys = read_key_set(_document({"kty": "RSA", "kid": "first", "n": "", "e": "AQAB"}, Key("second").jwk))

    assert [keys.find(kid, algorithm) for kid, algorithm in (("first", "RS256"), ("first", "RS256"))] == [None, None]
    assert keys.find("second", "ES256") is not None


@pytest.mark.fault("K21")
@pytest.mark.parametrize(("number", "found"), [(0, True), (1, False)], ids=["2048 bits", "1024 bits"])
def test_a_key_is_found_only_where_it_is_long_enough(number, *, found):
    keys = read_key_set(_document(Key("first", "RS256", number=number).jwk))

    assert (keys.find("first", "RS256") is not None, keys.knows("first")) == (found, True)


def test_without_a_name_in_the_token_the_only_key_that_fits_is_taken():
    keys = read_key_set(_document(Key("a").jwk, Key("b", "EdDSA").jwk, Key("c", "RS256").jwk))
    twice = read_key_set(_document(Key("a").jwk, Key("b", number=1).jwk))

    assert keys.find(None, "ES256") is not None
    assert twice.find(None, "ES256") is None
    assert twice.find("b", "RS256") is None
