"""From the configuration of a gateway to a front that lets in whom it should."""

from __future__ import annotations

import pytest
from front_http_cases import FakeService, call, raw, serving
from front_oauth_cases import ISSUER, RESOURCE, SCOPE, Issuer, bearer
from pydantic import ValidationError

from toolcrib_mcp.config import HttpFront
from toolcrib_mcp.config.settings import OAuthSettings
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.front.http import check_binding
from toolcrib_mcp.serving import Admission, by_oauth
from toolcrib_mcp.serving.admission import ANYBODY, front_settings

pytestmark = [pytest.mark.enable_socket, pytest.mark.req("GW-8.5")]


def _oauth(**changes):
    return OAuthSettings.model_validate({"issuer": ISSUER, "resource": RESOURCE, "jwks": "jwks.json", **changes})


def test_what_the_configuration_says_of_the_front_counts():
    http = HttpFront.model_validate(
        {
            "allowedHosts": ["gateway.example", "[2001:db8::1]"],
            "allowedOrigins": ["https://app.example"],
            "maxBodyBytes": 70_000,
            "requestsPerMinute": 90,
        }
    )

    settings = front_settings(http, ANYBODY, drain=3)

    assert settings.allowed_hosts == ("gateway.example", "[2001:db8::1]")
    assert settings.allowed_origins == ("https://app.example",)
    assert (settings.max_body, settings.requests_per_minute, settings.drain_timeout) == (70_000, 90, 3)
    assert not settings.asks_who


def test_a_host_that_no_request_is_for_is_told_as_a_fault_of_the_configuration():
    with pytest.raises(ConfigError, match="allowed_hosts") as refused:
        front_settings(HttpFront(allowed_hosts=("https://gateway.example",)), ANYBODY, drain=3)

    assert refused.value.details["place"] == "http"


async def test_tokens_of_the_configured_issuer_let_their_owner_in(tmp_path):
    issuer, service = Issuer(), FakeService()
    (tmp_path / "jwks.json").write_bytes(issuer.document())
    oauth = _oauth(requiredScopes=[SCOPE], principalClaim="email", algorithms=["ES256"])

    admission = by_oauth(Admission(principal="somebody"), oauth, directory=tmp_path)
    front = front_settings(HttpFront(), admission, drain=0.2)
    async with (
        serving(service, authenticate=front.authenticate, resource=front.resource) as url,
        raw(url) as client,
    ):
        token = bearer(issuer.token(email="ann@example.com"))
        good = await client.modern("tools/call", call("echo"), authorization=token, host="gateway.example")
        foreign = await client.modern("tools/call", call("echo"), authorization=bearer(issuer.token(aud="x")))

    assert (good.status_code, foreign.status_code) == (200, 401)
    assert service.requests[-1].caller.principal == "ann@example.com"
    assert admission.principal == "somebody"


@pytest.mark.fault("F19")
def test_the_network_is_served_only_where_everybody_has_to_say_who_they_are(tmp_path):
    (tmp_path / "jwks.json").write_bytes(Issuer().document())
    asking = by_oauth(ANYBODY, _oauth(), directory=tmp_path)

    check_binding("0.0.0.0", front_settings(HttpFront(host="0.0.0.0"), asking, drain=1))
    with pytest.raises(ConfigError, match="no token"):
        check_binding("0.0.0.0", front_settings(HttpFront(host="0.0.0.0"), ANYBODY, drain=1))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"jwks": "missing.json"}, "http.oauth.jwks"),
        ({"jwks": "http://issuer.example/jwks"}, "http.oauth.jwks"),
        ({"resource": "https://gateway.example/mcp#x"}, "http.oauth"),
        ({"issuer": "https://"}, "http.oauth"),
        ({"requiredScopes": ["two words"]}, "http.oauth"),
        ({"algorithms": []}, "http.oauth"),
    ],
    ids=repr,
)
def test_settings_of_oauth_that_cannot_be_used_are_told_as_faults_of_the_configuration(changes, place, tmp_path):
    (tmp_path / "jwks.json").write_bytes(Issuer().document())

    with pytest.raises(ConfigError) as refused:
        by_oauth(ANYBODY, _oauth(**changes), directory=tmp_path)

    assert refused.value.details["place"] == place
    assert refused.value.hint is not None


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS512", "RS1"])
def test_a_way_to_sign_that_proves_nothing_cannot_be_configured(algorithm):
    with pytest.raises(ValidationError):
        _oauth(algorithms=[algorithm])
