"""TLS is always verified, for the name and not for the address, and the environment has no say."""

from __future__ import annotations

import asyncio

import pytest
from certificates import Authority, authority, self_signed
from loopback import FakeResolver, answer, header_of, serving

from toolcrib_runtime.errors import FetchFailed, FileUnusable
from toolcrib_runtime.guards.net.client import GuardedClient
from toolcrib_runtime.guards.net.grant import NetGrant
from toolcrib_runtime.guards.net.transport import _public_ssl_context

HOST = "api.example"


@pytest.fixture
def signer(tmp_path) -> Authority:
    return authority(tmp_path)


def client_for(ca_file, *, allow_http: bool = False) -> GuardedClient:
    grant = NetGrant(allow_loopback=True, ca_file=ca_file, allow_http=allow_http)
    return GuardedClient(grant, resolver=FakeResolver({HOST: [["127.0.0.1"]]}))


@pytest.mark.fault("E4")
@pytest.mark.enable_socket
async def test_the_checked_address_is_dialled_and_the_name_is_verified(signer):
    context = signer.server(HOST)
    asked_for = []
    context.sni_callback = lambda socket, name, context: asked_for.append(name)

    async with serving(answer(body=b"secure"), tls=context) as server, client_for(signer.ca_file) as client:
        response = await client.fetch("GET", server.url(host=HOST, scheme="https"))

    assert response.body == b"secure"
    assert asked_for == [HOST]
    assert header_of(server.requests[0], "Host") == f"{HOST}:{server.port}"


@pytest.mark.fault("E10")
@pytest.mark.enable_socket
@pytest.mark.parametrize("fault", ["expired", "wrong host", "self-signed", "unknown authority"])
async def test_a_certificate_that_is_not_valid_for_the_name_is_refused_for_good(signer, tmp_path, fault):
    (tmp_path / "other").mkdir()
    context = {
        "expired": lambda: signer.server(HOST, expired=True),
        "wrong host": lambda: signer.server("other.example"),
        "self-signed": lambda: self_signed(tmp_path, HOST),
        "unknown authority": lambda: authority(tmp_path / "other").server(HOST),
    }[fault]()

    async with serving(answer(), tls=context) as server, client_for(signer.ca_file) as client:
        with pytest.raises(FetchFailed, match="certificate") as raised:
            await client.fetch("GET", server.url("/?key=hunter2", host=HOST, scheme="https"))

    assert not raised.value.retryable
    assert raised.value.details == {"sent": False}
    assert server.requests == []
    assert "hunter2" not in str(raised.value.to_dict())


@pytest.mark.enable_socket
async def test_a_server_without_tls_is_refused_for_good(signer):
    async def plain(reader, writer):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async with client_for(signer.ca_file) as client:
        with pytest.raises(FetchFailed, match="does not speak TLS") as raised:
            await client.fetch("GET", f"https://{HOST}:{port}/")

    server.close()
    await server.wait_closed()
    assert not raised.value.retryable


@pytest.mark.fault("E10")
@pytest.mark.enable_socket
async def test_a_certificate_file_in_the_environment_is_not_trusted(signer, monkeypatch, tmp_path):
    _public_ssl_context.cache_clear()
    monkeypatch.setenv("SSL_CERT_FILE", str(signer.ca_file))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys.log"))

    async with serving(answer(), tls=signer.server(HOST)) as server, client_for(None) as client:
        with pytest.raises(FetchFailed, match="certificate"):
            await client.fetch("GET", server.url(host=HOST, scheme="https"))

    assert not (tmp_path / "keys.log").exists()


@pytest.mark.fault("E10")
@pytest.mark.enable_socket
async def test_a_proxy_in_the_environment_is_not_asked(signer, monkeypatch):
    async with serving(answer(body=b"proxied")) as proxy, serving(answer(body=b"direct")) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
            monkeypatch.setenv(name.lower(), proxy.url())
        async with client_for(signer.ca_file, allow_http=True) as client:
            response = await client.fetch("GET", server.url(host=HOST))

    assert response.body == b"direct"
    assert proxy.connections == 0


@pytest.mark.fault("E5")
@pytest.mark.enable_socket
async def test_a_redirect_from_https_to_http_sends_nothing_in_the_clear(signer):
    async with serving(answer()) as plain:
        redirect = answer("302 Found", f"Location: {plain.url()}")
        async with serving(redirect, tls=signer.server(HOST)) as secure, client_for(signer.ca_file) as client:
            with pytest.raises(FetchFailed, match="from https to plain http"):
                await client.fetch("GET", secure.url(host=HOST, scheme="https"))

    assert plain.connections == 0


@pytest.mark.parametrize("content", [None, "not a certificate"])
async def test_an_unusable_file_of_authorities_is_named_when_the_client_opens(tmp_path, content):
    ca_file = tmp_path / "ca.pem"
    if content is not None:
        ca_file.write_text(content, encoding="utf-8")

    with pytest.raises(FileUnusable, match="trusted certificates"):
        await client_for(ca_file).__aenter__()
