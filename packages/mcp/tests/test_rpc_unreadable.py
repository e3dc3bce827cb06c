"""Which request something unreadable belongs to."""

from __future__ import annotations

import asyncio

import pytest

from toolcrib_mcp.errors import ResultTooLarge, UpstreamMalformed, UpstreamUnavailable
from toolcrib_mcp.rpc import ConnectionStats, Unreadable, WireClosed
from toolcrib_mcp.rpc.calls import Call, Calls
from toolcrib_runtime.guards.secrets import Scrubber

pytestmark = pytest.mark.req("GW-6.7")


def waiting(number: int) -> tuple[Calls, list[Call], ConnectionStats]:
    stats = ConnectionStats()
    calls = Calls(stats=stats, scrubber=Scrubber())
    return calls, [calls.open("tools/call", None) for _ in range(number)], stats


@pytest.mark.fault("F7")
async def test_it_fails_the_request_whose_id_it_names_and_no_other() -> None:
    calls, (first, second), stats = waiting(2)

    calls.take_unreadable(Unreadable(reason="it is nested too deeply", excerpt='{"id":2', id=2))

    assert isinstance(second.outcome.result(), UpstreamMalformed)
    assert not first.outcome.done()
    assert stats.unreadable == 1


@pytest.mark.fault("F7")
async def test_without_an_id_it_belongs_to_the_only_request_that_waits() -> None:
    calls, (only,), _ = waiting(1)

    calls.take_unreadable(Unreadable(reason="it is longer than 5 bytes", excerpt="{", limit=5))

    outcome = only.outcome.result()
    assert isinstance(outcome, ResultTooLarge)
    assert outcome.details == {"method": "tools/call", "limit": 5, "excerpt": "{"}


@pytest.mark.parametrize(
    "unreadable",
    [
        Unreadable(reason="it is not JSON", excerpt="{"),
        Unreadable(reason="it is not JSON", excerpt="{", id=99),
        Unreadable(reason="it is not JSON", excerpt="{", is_answer=False),
    ],
)
async def test_where_nobody_can_tell_no_request_fails(unreadable: Unreadable) -> None:
    calls, both, _ = waiting(2)

    calls.take_unreadable(unreadable)

    assert not any(each.outcome.done() for each in both)


@pytest.mark.fault("F6")
async def test_a_request_of_the_server_that_is_unreadable_fails_no_request_of_ours() -> None:
    calls, (only,), _ = waiting(1)

    calls.take_unreadable(Unreadable(reason="it is not JSON", excerpt="{", is_answer=False))

    assert not only.outcome.done()


async def test_an_error_without_an_id_is_dropped_where_several_requests_wait() -> None:
    calls, both, stats = waiting(2)

    calls.take_answer({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})

    assert not any(each.outcome.done() for each in both)
    assert stats.unknown_ids == 1


async def test_an_answer_for_a_caller_that_is_being_cancelled_is_no_failure() -> None:
    calls, (only,), _ = waiting(1)
    only.outcome.cancel()

    calls.take_answer({"jsonrpc": "2.0", "id": only.id, "result": {}})
    calls.close(WireClosed("It was closed."))

    with pytest.raises(asyncio.CancelledError):
        only.outcome.result()
    with pytest.raises(UpstreamUnavailable):
        calls.open("tools/call", None)
