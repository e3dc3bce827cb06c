"""The time that expiries are measured by: it never goes back, and a restart does not turn it back either."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib_store import SYSTEM_CLOCK, SystemClock, TurnableClock, open_store, sweep_store


class Hands:
    """The two clocks of a machine, which a test sets."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1_000.0, 5.0

    def clock(self) -> SystemClock:
        return SystemClock(wall=lambda: self.wall, monotonic=lambda: self.monotonic)

    def pass_by(self, seconds: float, *, wall: float | None = None) -> None:
        self.monotonic += seconds
        self.wall += seconds if wall is None else wall


def test_it_goes_with_the_clock_of_the_machine() -> None:
    hands = Hands()
    clock = hands.clock()

    first = clock.now()
    hands.pass_by(7)

    assert (first, clock.now()) == (1_000.0, 1_007.0)
    assert SYSTEM_CLOCK.now() > 1_700_000_000


@pytest.mark.fault("G6")
def test_set_back_an_hour_it_goes_on_by_the_time_that_really_passes() -> None:
    hands = Hands()
    clock = hands.clock()
    clock.now()

    hands.pass_by(1, wall=-3600)
    after_the_jump = clock.now()
    hands.pass_by(30)

    assert (after_the_jump, clock.now()) == (1_001.0, 1_031.0)


def test_set_forward_it_follows() -> None:
    hands = Hands()
    clock = hands.clock()
    clock.now()

    hands.pass_by(1, wall=3600)

    assert clock.now() == 4_600.0


@pytest.mark.fault("G6")
def test_a_store_never_reads_less_than_before(tmp_path: Path) -> None:
    clock = TurnableClock(5_000.0)
    with open_store(tmp_path / "a.db", clock=clock) as store:
        store.now()
        clock.turn(-3600)

        assert store.now() == 5_000.0


@pytest.mark.fault("G6")
def test_a_store_that_is_opened_after_the_clock_was_set_back_knows_how_late_it_was(store_url: str) -> None:
    clock = TurnableClock(5_000.0)
    with open_store(store_url, clock=clock) as store:
        sweep_store(store)
    clock.turn(-3600)

    with open_store(store_url, clock=clock) as store:
        assert store.now() == 5_000.0


def test_a_clock_that_was_wrong_by_years_is_not_believed_after_a_restart(store_url: str) -> None:
    wrong = TurnableClock(10.0**10)
    with open_store(store_url, clock=wrong) as store:
        sweep_store(store)

    with open_store(store_url, clock=TurnableClock(5_000.0)) as store:
        assert store.now() == 5_000.0
