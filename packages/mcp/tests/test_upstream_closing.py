from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_servers import ScriptedServer

from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.upstreams import (
    Upstream,
)

CALL = {"name": "echo", "arguments": {"nonce": "n1"}}


def upstream(server: ScriptedServer, **options: Any) -> Upstream:
    return Upstream("files", server.connect, **options)


@pytest.mark.fault("F16")
async def test_a_caller_that_is_cancelled_takes_its_call_back_and_nobody_elses() -> None:
    release = asyncio.Event()

    async def slow(params: dict[str, Any]) -> dict[str, Any]:
        await release.wait()
        return params["arguments"]

    server = ScriptedServer(**{"tools/call": slow})
    async with upstream(server) as files:
        first = asyncio.create_task(files.call("tools/call", {"arguments": {"n": 1}}))
        second = asyncio.create_task(files.call("tools/call", {"arguments": {"n": 2}}))
        await server.until_heard("tools/call", 2)

        first.cancel()
        await server.until_heard("notifications/cancelled")
        release.set()

        assert await second == {"n": 2}
        assert first.cancelled() or first.cancelling()


@pytest.mark.fault("F16")
async def test_a_server_that_is_closed_takes_no_more_calls() -> None:
    server = ScriptedServer()
    files = upstream(server)
    await files.call("tools/call", CALL)

    await files.aclose()

    with pytest.raises(UpstreamUnavailable, match="shut down") as refused:
        await files.call("tools/call", CALL)
    assert not refused.value.retryable
    assert server.methods.count("tools/call") == 1


@pytest.mark.fault("F16")
async def test_calls_under_way_may_end_before_the_server_does() -> None:
    release = asyncio.Event()

    async def slow(_params: dict[str, Any]) -> dict[str, Any]:
        await release.wait()
        return {"done": True}

    server = ScriptedServer(**{"tools/call": slow})
    files = upstream(server)
    calling = asyncio.create_task(files.call("tools/call", CALL))
    await server.until_heard("tools/call")

    closing = asyncio.create_task(files.aclose())
    await asyncio.sleep(0)
    release.set()

    assert await calling == {"done": True}
    await closing


@pytest.mark.fault("F16")
async def test_calls_that_do_not_end_are_failed_and_not_waited_for() -> None:
    server = ScriptedServer(**{"tools/call": None})
    files = upstream(server)
    calling = asyncio.create_task(files.call("tools/call", CALL))
    await server.until_heard("tools/call")

    async with asyncio.timeout(5):
        await files.aclose(drain=0.05)

    with pytest.raises(UpstreamUnavailable) as lost:
        await calling
    assert lost.value.details["sent"] is True


@pytest.mark.fault("F16")
async def test_a_start_that_hangs_does_not_keep_the_server_from_being_closed() -> None:
    server = ScriptedServer(**{"initialize": None, "server/discover": None})
    files = upstream(server)
    calling = asyncio.create_task(files.call("tools/call", CALL))
    await server.until_heard("server/discover")

    async with asyncio.timeout(5):
        await files.aclose(drain=0)

    with pytest.raises(UpstreamUnavailable):
        await calling


@pytest.mark.fault("F16")
async def test_a_call_that_was_not_sent_before_the_server_was_closed_is_not_sent_any_more() -> None:
    server = ScriptedServer()
    files = upstream(server)
    await files.start()
    asked, closed = asyncio.Event(), asyncio.Event()

    async def not_sent(*_: Any, **__: Any) -> Any:
        asked.set()
        await closed.wait()
        raise UpstreamUnavailable("It is gone.", details={"sent": False, "method": "tools/call"})

    files._host.link.session.request = not_sent
    calling = asyncio.create_task(files.call("tools/call", CALL))
    await asked.wait()
    await files.aclose(drain=0)
    closed.set()

    with pytest.raises(UpstreamUnavailable, match="shut down"):
        await calling
    assert server.lives == 1


@pytest.mark.fault("F16")
async def test_closing_twice_at_once_closes_once() -> None:
    server = ScriptedServer()
    files = upstream(server)
    await files.start()

    await asyncio.gather(files.aclose(), files.aclose())
    await files.aclose()

    assert files.health().phase == "closed"
