from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_servers import ScriptedServer
from upstream_cases import ECHOED, Case

from toolcrib_core import ToolErrorCategory
from toolcrib_mcp.errors import UpstreamUnavailable
from toolcrib_mcp.upstreams import ListKind, RestartRules, UpstreamState
from toolcrib_mcp.upstreams.session import Session
from toolcrib_runtime.errors import ProcessNotStarted

pytestmark = pytest.mark.req("GW-6.4")


@pytest.fixture
async def case() -> Any:
    async with Case(ScriptedServer()) as made:
        yield made


async def test_a_server_that_nobody_uses_is_ended_and_started_when_it_is_needed() -> None:
    async with Case(ScriptedServer(), idle_after=10) as case:
        await case.call()
        await case.clock.advance(9)
        await case.call()
        await case.clock.advance(9)
        before = case.upstream.state
        await case.clock.advance(1)
        await case.until(lambda: case.upstream.health().phase == "resting")
        await case.clock.advance(100)

        assert (before, case.upstream.state, case.server.lives) == ("started", "known", 1)
        assert case.upstream.health().failures == 0
        assert await case.call() == ECHOED
        assert case.server.lives == 2


async def test_a_server_with_a_call_under_way_is_not_idle() -> None:
    async with Case(ScriptedServer(**{"tools/call": None}), idle_after=1) as case:
        calling = asyncio.create_task(case.call(timeout=50))
        await case.server.until_heard("tools/call")

        await case.clock.advance(20)

        assert case.upstream.state is UpstreamState.IN_USE
        calling.cancel()


async def test_a_server_that_never_started_has_nothing_to_end_when_it_is_idle() -> None:
    async with Case(ScriptedServer(), idle_after=1) as case:
        case.server.refuses = ProcessNotStarted("The program was not found.", category=ToolErrorCategory.NOT_FOUND)
        with pytest.raises(UpstreamUnavailable):
            await case.call()

        await case.clock.advance(1)

        assert case.upstream.state is UpstreamState.CONFIGURED


async def test_a_server_that_was_only_started_becomes_idle_too() -> None:
    async with Case(ScriptedServer(), idle_after=1) as case:
        await case.upstream.start()

        await case.clock.advance(1)
        await case.until(lambda: case.upstream.health().phase == "resting")

        assert case.upstream.state is UpstreamState.KNOWN


@pytest.mark.parametrize(("when", "lives"), [("always", 2), ("on-failure", 1), ("never", 1)])
async def test_a_server_that_ends_in_order_comes_back_by_itself_only_if_it_always_does(when: Any, lives: int) -> None:
    async with Case(ScriptedServer(), RestartRules(when=when)) as case:
        await case.call()

        await case.die(status=0)
        await case.until(lambda: case.server.lives == lives and case.upstream.health().phase != "waiting")
        await case.clock.advance(100)

        assert case.server.lives == lives
        assert case.upstream.health().failures == 0
        assert await case.call() == ECHOED


@pytest.mark.parametrize(("when", "lives"), [("always", 2), ("on-failure", 2), ("never", 1)])
async def test_a_server_that_fails_comes_back_by_itself_unless_it_never_does(when: Any, lives: int) -> None:
    async with Case(ScriptedServer(), RestartRules(when=when)) as case:
        await case.call()

        await case.die(status=1)
        await case.until(lambda: case.upstream.health().failures == 1)
        await case.clock.advance(1)
        await case.until(lambda: case.server.lives == lives)

        assert await case.call() == ECHOED


@pytest.mark.fault("F2")
async def test_ending_in_order_in_the_middle_of_a_call_is_a_failure(case: Case) -> None:
    await case.call()
    case.server.answers["tools/call"] = None
    calling = asyncio.create_task(case.call())
    await case.server.until_heard("tools/call", 2)

    await case.die(status=0)

    with pytest.raises(UpstreamUnavailable):
        await calling
    await case.until(lambda: case.upstream.health().failures == 1)


async def test_a_server_that_ran_long_is_started_again_soon_however_often_it_failed_before(case: Case) -> None:
    for _ in range(2):
        await case.upstream.start()
        await case.die()
        await case.until(lambda: case.upstream.health().phase == "waiting")
        await case.clock.advance(8)
    await case.until(lambda: case.upstream.state is UpstreamState.STARTED)

    await case.clock.advance(60)
    await case.die()
    await case.until(lambda: case.upstream.health().phase == "waiting")

    assert case.upstream.health().retry_in <= 1


@pytest.mark.req("GW-6.2")
async def test_a_session_that_was_lost_meanwhile_is_begun_anew_before_anything_is_sent(case: Case) -> None:
    await case.call()
    await case.clock.advance(30)
    await case.server.die(reason="session-lost")

    result = await case.call()

    assert result == ECHOED
    assert case.server.lives == 2
    assert case.upstream.health().failures == 0


@pytest.mark.req("GW-6.2")
async def test_a_call_that_the_server_refused_for_a_lost_session_is_sent_in_the_next_one(case: Case) -> None:
    await case.call()
    await case.clock.advance(30)
    refused = UpstreamUnavailable("It has forgotten the session.", details={"sent": False, "reason": "session-lost"})
    session = case.upstream._host.link.session

    async def refuse(*_: Any, **__: Any) -> Any:
        await case.server.die(reason="session-lost")
        raise refused

    session.request = refuse

    assert await case.call() == ECHOED
    assert case.server.lives == 2


@pytest.mark.req("GW-6.2")
async def test_a_list_that_finds_the_session_lost_is_read_in_the_next_one(case: Case) -> None:
    case.server.answers["prompts/list"] = {"prompts": [{"name": "greet"}]}
    await case.call()
    await case.clock.advance(30)
    await case.server.die(reason="session-lost")

    prompts = await case.upstream.list(ListKind.PROMPTS)

    assert prompts.items == ({"name": "greet"},)
    assert case.server.lives == 2


@pytest.mark.fault("F2")
async def test_a_session_that_is_lost_as_soon_as_it_is_begun_is_a_failure(case: Case) -> None:
    await case.upstream.start()

    await case.die(reason="session-lost")

    await case.until(lambda: case.upstream.health().failures == 1)


async def test_a_wire_that_cannot_carry_the_only_call_is_given_up_for_another(case: Case) -> None:
    await case.call()
    not_reached = UpstreamUnavailable("It does not take a connection.", details={"sent": False})

    async def refuse(*_: Any, **__: Any) -> Any:
        raise not_reached

    case.upstream._host.link.session.request = refuse
    calling = asyncio.create_task(case.call())
    await case.until(lambda: case.upstream.health().failures == 1)
    await case.clock.advance(1)

    assert await calling == ECHOED
    assert case.server.lives == 2
    assert case.upstream.health().last_failure["message"] == "It does not take a connection."


async def test_a_wire_that_carries_other_calls_is_not_given_up_for_one(case: Case) -> None:
    case.server.answers["tools/call"] = None
    carried = asyncio.create_task(case.call())
    await case.server.until_heard("tools/call")
    link = case.upstream._host.link
    ask = link.session.request

    async def refuse(*_: Any, **__: Any) -> Any:
        raise UpstreamUnavailable("It does not take a connection.", details={"sent": False})

    link.session.request = refuse
    with pytest.raises(UpstreamUnavailable, match="does not take a connection"):
        await case.call()
    link.session.request = ask

    assert not carried.done()
    assert case.upstream.state is UpstreamState.IN_USE
    carried.cancel()


async def test_a_call_that_can_never_be_sent_is_not_tried_for_ever(case: Case, monkeypatch: Any) -> None:
    ask = Session.request
    tried = []

    async def refuse(session: Session, method: str, *rest: Any, **options: Any) -> Any:
        if method == "tools/call":
            tried.append(session)
            raise UpstreamUnavailable("It does not take a connection.", details={"sent": False})
        return await ask(session, method, *rest, **options)

    monkeypatch.setattr(Session, "request", refuse)
    calling = asyncio.create_task(case.call(timeout=1_000))
    async with asyncio.timeout(5):
        while not calling.done():
            await case.clock.advance(1)

    with pytest.raises(UpstreamUnavailable, match="connection"):
        await calling
    assert len(set(tried)) == 3
