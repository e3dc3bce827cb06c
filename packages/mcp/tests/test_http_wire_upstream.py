"""Servers behind a URL as the supervisor sees them: failures keep their meaning, and a restart is nobody's concern."""

from __future__ import annotations

import pytest
from loopback import answer, serving
from sdk_servers import LOOPBACK, SdkServer, serving_sdk

from toolcrib_mcp.errors import AuthRequired
from toolcrib_mcp.upstreams import Era, Upstream
from toolcrib_mcp.upstreams.http_wire import open_http_wire

pytestmark = pytest.mark.enable_socket

ECHO = {"name": "echo", "arguments": {"nonce": "n1"}}


@pytest.mark.req("GW-6.4")
@pytest.mark.fault("F2")
async def test_the_next_call_after_a_restart_works_as_if_nothing_had_happened() -> None:
    async with serving_sdk(SdkServer().server) as url:
        upstream = Upstream("u", lambda: open_http_wire(url, headers={}, grant=LOOPBACK))
        # In the modern era, there is no session to lose.
        upstream._host._era = Era.HANDSHAKE
        await upstream.call("tools/call", ECHO)

    async with serving_sdk(SdkServer().server, port=int(url.split(":")[2].split("/")[0])):
        result = await upstream.call("tools/call", ECHO)
        await upstream.aclose()

    assert result["content"][0]["text"] == "n1"


@pytest.mark.req("GW-6.8")
async def test_a_server_that_wants_credentials_is_reported_as_such() -> None:
    async with (
        serving(answer("401 Unauthorized")) as server,
        Upstream("u", lambda: open_http_wire(server.url(), headers={}, grant=LOOPBACK)) as upstream,
    ):
        with pytest.raises(AuthRequired):
            await upstream.call("tools/list")
