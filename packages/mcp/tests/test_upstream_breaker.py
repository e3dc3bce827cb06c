from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_mcp.upstreams.breaker import Circuit, CircuitBreaker
from toolcrib_mcp.upstreams.settings import RestartRules, UpstreamSettings
from toolcrib_runtime.testing import FakeClock

pytestmark = pytest.mark.req("GW-6.4")

RULES = RestartRules(first_delay=1, factor=2, max_delay=8, max_failures=3, window=60, rest=30)


def breaker(clock: FakeClock, rules: RestartRules = RULES) -> CircuitBreaker:
    return CircuitBreaker(rules, clock=clock, random=Random(7))


def test_at_first_a_start_may_be_tried_at_once() -> None:
    fresh = breaker(FakeClock())

    assert (fresh.circuit, fresh.wait) == (Circuit.CLOSED, 0)


async def test_waits_grow_up_to_the_longest() -> None:
    clock = FakeClock()
    failing = breaker(clock, RestartRules(first_delay=1, factor=2, max_delay=8, max_failures=100))

    waits = []
    for _ in range(6):
        failing.failed()
        waits.append(failing.wait)
        await clock.advance(failing.wait)

    for wait, longest in zip(waits, [1, 2, 4, 8, 8, 8], strict=True):
        assert longest / 2 <= wait <= longest


@given(st.integers(0, 2**32), st.integers(1, 200))
def test_no_wait_is_longer_than_the_longest_or_none_at_all(seed: int, failures: int) -> None:
    failing = CircuitBreaker(
        RestartRules(first_delay=0.5, max_delay=30, max_failures=1_000), clock=FakeClock(), random=Random(seed)
    )

    for _ in range(failures):
        failing.failed()

    assert 0.25 <= failing.wait <= 30


def test_servers_that_fell_together_do_not_rise_together() -> None:
    clock = FakeClock()
    every = [CircuitBreaker(RULES, clock=clock, random=Random(seed)) for seed in range(20)]

    for each in every:
        each.failed()

    assert len({each.wait for each in every}) > 10


@pytest.mark.fault("F2")
def test_so_many_failures_within_the_window_open_the_circuit() -> None:
    failing = breaker(FakeClock())

    for _ in range(3):
        assert failing.circuit is Circuit.CLOSED
        failing.failed()

    assert (failing.circuit, failing.wait) == (Circuit.OPEN, 30)


async def test_failures_that_are_far_apart_do_not_open_it() -> None:
    clock = FakeClock()
    failing = breaker(clock)

    for _ in range(10):
        failing.failed()
        await clock.advance(31)

    assert failing.circuit is Circuit.CLOSED


async def test_after_its_rest_one_more_start_may_be_tried() -> None:
    clock = FakeClock()
    tripped = breaker(clock)
    for _ in range(3):
        tripped.failed()

    await clock.advance(30)

    assert (tripped.circuit, tripped.wait) == (Circuit.HALF_OPEN, 0)


async def test_a_failure_of_that_one_opens_it_again_at_once() -> None:
    clock = FakeClock()
    tripped = breaker(clock)
    for _ in range(3):
        tripped.failed()
    await clock.advance(300)

    tripped.failed()

    assert (tripped.circuit, tripped.wait) == (Circuit.OPEN, 30)


async def test_a_success_of_that_one_closes_it_and_forgets() -> None:
    clock = FakeClock()
    tripped = breaker(clock)
    for _ in range(3):
        tripped.failed()
    await clock.advance(30)

    tripped.succeeded()
    tripped.failed()

    assert tripped.circuit is Circuit.CLOSED
    assert tripped.wait <= 1


def test_a_success_in_between_shortens_the_wait_but_does_not_hide_that_it_keeps_failing() -> None:
    failing = breaker(FakeClock())

    failing.failed()
    failing.failed()
    failing.succeeded()
    failing.failed()

    assert failing.circuit is Circuit.OPEN


@pytest.mark.parametrize("name", ["first_delay", "factor", "max_delay", "max_failures", "window", "rest"])
def test_a_rule_that_makes_no_sense_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        RestartRules(**{name: -1})


@pytest.mark.parametrize("name", ["start_timeout", "call_timeout", "list_timeout", "idle_after", "settle", "drain"])
def test_a_setting_that_makes_no_sense_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        UpstreamSettings(**{name: float("nan")})
