from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_servers import ECHO, ScriptedServer
from upstream_cases import ECHOED, Case

from toolcrib_core import ToolErrorCategory
from toolcrib_mcp.errors import AuthRequired, UpstreamBusy, UpstreamUnavailable
from toolcrib_mcp.rpc import WireClosed
from toolcrib_mcp.upstreams import Era, RestartRules, UpstreamState
from toolcrib_runtime.errors import ProcessNotStarted

pytestmark = pytest.mark.req("GW-6.4")


@pytest.fixture
async def case() -> Any:
    async with Case(ScriptedServer()) as made:
        yield made


@pytest.mark.fault("F2")
async def test_a_call_under_way_when_the_server_ends_fails_once_and_is_not_sent_again(case: Case) -> None:
    case.server.answers["tools/call"] = None
    calling = asyncio.create_task(case.call())
    await case.server.until_heard("tools/call")

    await case.die(stderr="out of memory")
    await case.clock.advance(10)

    with pytest.raises(UpstreamUnavailable) as lost:
        await calling
    assert lost.value.details["sent"] is True
    assert lost.value.details["upstream"] == "files"
    assert lost.value.details["stderr"] == "out of memory"
    await case.until(lambda: case.server.lives == 2)
    assert case.server.methods.count("tools/call") == 1


@pytest.mark.fault("F2")
async def test_a_server_that_ended_comes_back_by_itself_after_a_wait(case: Case) -> None:
    await case.call()
    await case.die()
    await case.until(lambda: case.upstream.health().phase == "waiting")

    before = case.server.lives
    await case.clock.advance(1)

    await case.until(lambda: case.upstream.state is UpstreamState.STARTED)
    assert (before, case.server.lives) == (1, 2)
    assert await case.call() == ECHOED


async def test_a_call_that_comes_in_between_waits_for_the_next_start(case: Case) -> None:
    await case.call()
    await case.die()

    calling = asyncio.create_task(case.call())
    await case.clock.advance(1)

    assert await calling == ECHOED
    assert case.server.lives == 2


async def test_a_call_whose_time_is_over_before_the_next_start_does_not_wait_for_it(case: Case) -> None:
    await case.call()
    await case.die(stderr="segfault")
    await case.until(lambda: case.upstream.health().phase == "waiting")

    with pytest.raises(UpstreamUnavailable) as refused:
        await case.call(timeout=0.1)

    assert refused.value.details["sent"] is False
    assert 0.1 < refused.value.details["retryAfter"] <= 1
    assert refused.value.details["lastFailure"]["details"]["stderr"] == "segfault"


@pytest.mark.fault("F2")
async def test_a_server_that_ends_again_and_again_is_left_alone_for_a_while(case: Case) -> None:
    for _ in range(3):
        await case.until(lambda: case.upstream.health().phase in {"resting", "waiting"})
        await case.clock.advance(8)
        await case.call()
        await case.die()
    await case.until(lambda: case.upstream.health().circuit == "open")

    with pytest.raises(UpstreamUnavailable, match="is not started again for 30 s"):
        await case.call()

    assert case.server.lives == 3
    assert case.upstream.health().retry_in == 30


@pytest.mark.fault("F2")
async def test_after_its_rest_it_is_tried_once_and_serves_again_if_it_can(case: Case) -> None:
    for _ in range(3):
        await case.until(lambda: case.upstream.health().phase in {"resting", "waiting"})
        await case.clock.advance(8)
        await case.call()
        await case.die()
    await case.until(lambda: case.upstream.health().circuit == "open")

    await case.clock.advance(30)

    assert await case.call() == ECHOED
    assert case.upstream.health().circuit == "closed"


async def test_callers_that_wait_when_the_circuit_opens_are_told_at_once(case: Case) -> None:
    case.server.answers["tools/call"] = None
    for _ in range(2):
        await case.until(lambda: case.upstream.health().phase in {"resting", "waiting"})
        await case.clock.advance(8)
        await case.upstream.start()
        await case.die()
    await case.clock.advance(8)
    await case.until(lambda: case.upstream.state is UpstreamState.STARTED)
    doomed = asyncio.create_task(case.call())
    await case.server.until_heard("tools/call")

    await case.server.die()
    with pytest.raises(UpstreamUnavailable):
        await doomed

    with pytest.raises(UpstreamUnavailable, match="is not started again"):
        await case.call(timeout=1_000)


@pytest.mark.fault("F1")
async def test_a_start_that_fails_is_told_to_all_who_wait_for_it_each_by_its_own_error(case: Case) -> None:
    case.server.refuses = WireClosed("It ended with exit status 3.", status=3, stderr="no license found")

    failures = await asyncio.gather(*(case.call() for _ in range(3)), return_exceptions=True)

    assert all(isinstance(failure, UpstreamUnavailable) for failure in failures)
    assert failures[0] is not failures[1]
    assert failures[0].details == {
        "upstream": "files",
        "sent": False,
        "status": 3,
        "stderr": "no license found",
    }


@pytest.mark.fault("F1")
async def test_a_program_that_is_missing_is_looked_for_again_only_when_it_is_needed(case: Case) -> None:
    case.server.refuses = ProcessNotStarted("The program was not found.", category=ToolErrorCategory.NOT_FOUND)
    with pytest.raises(UpstreamUnavailable, match="The program was not found") as failed:
        await case.call()

    await case.clock.advance(100)
    case.server.refuses = None

    assert not failed.value.retryable
    assert case.server.lives == 0
    assert await case.call() == ECHOED


async def test_an_error_that_says_more_than_unavailable_keeps_its_type(case: Case) -> None:
    case.server.refuses = AuthRequired("It wants credentials.")

    with pytest.raises(AuthRequired) as failed:
        await case.call()

    assert failed.value.outward == "AUTH_REQUIRED"
    assert failed.value.details["upstream"] == "files"


async def test_a_server_that_names_a_time_is_left_alone_until_then(case: Case) -> None:
    case.server.refuses = UpstreamBusy("It takes no more requests.", details={"retryAfter": 20})
    with pytest.raises(UpstreamBusy):
        await case.call()

    assert case.upstream.health().retry_in == 20


@pytest.mark.fault("F1")
async def test_a_server_that_dies_of_the_probe_is_one_of_the_handshake_era(case: Case) -> None:
    async def dies(_params: dict[str, Any]) -> dict[str, Any]:
        await case.server.die()
        return {}

    case.server.answers["server/discover"] = dies

    result = await case.call()

    assert result == ECHOED
    assert case.server.lives == 2
    assert case.upstream.agreement.era is Era.HANDSHAKE
    assert case.upstream.health().failures == 0


@pytest.mark.fault("F1")
async def test_a_server_that_dies_of_anything_is_not_taken_for_one_of_either_era() -> None:
    async def dies(_params: dict[str, Any]) -> dict[str, Any]:
        await server.die(stderr="illegal instruction")
        return {}

    server = ScriptedServer(**{"server/discover": dies, "initialize": dies})
    async with Case(server, RestartRules(when="never")) as case:
        for _ in range(2):
            with pytest.raises(UpstreamUnavailable) as failed:
                await case.call()
            await case.clock.advance(1)

    assert failed.value.details["stderr"] == "illegal instruction"
    assert server.methods == ["server/discover", "initialize"] * 2


async def test_the_era_is_remembered_for_the_next_start(case: Case) -> None:
    await case.call()
    await case.die()
    await case.clock.advance(1)
    await case.call()

    assert case.server.methods.count("server/discover") == 1
    assert case.server.methods.count("initialize") == 2


@pytest.mark.req("GW-6.5")
async def test_tools_are_read_anew_after_every_start(case: Case) -> None:
    await case.upstream.start()
    case.server.answers["tools/list"] = {"tools": [ECHO, ECHO]}

    await case.die()
    assert len(case.upstream.known_tools.items) == 1
    await case.clock.advance(1)
    await case.until(lambda: case.tools == [1, 2])

    assert len(case.upstream.known_tools.items) == 2
