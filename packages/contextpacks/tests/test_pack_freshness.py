"""How long packs live: freshness, grace, and a clock that somebody turns."""

from __future__ import annotations

import logging
import threading

import pytest
from pack_cases import START, Bench, bench, document, legend
from sqlalchemy import text

from toolcrib_contextpacks import ContextPacks, sweeping
from toolcrib_contextpacks.errors import PackStoreFailed
from toolcrib_contextpacks.freshness import freshness, timestamp
from toolcrib_store import SystemClock, open_store


@pytest.mark.req("CP-6")
@pytest.mark.parametrize(
    ("left", "state", "remaining"),
    [
        (3600, "fresh", "1h"),
        (900.001, "fresh", "15m"),
        (900, "expiring_soon", "15m"),
        (899, "expiring_soon", "14m"),
        (0.5, "expiring_soon", "<1m"),
        (0, "expired", "expired"),
        (-1, "expired", "expired"),
        (86_400 * 3, "fresh", "3d"),
    ],
)
def test_freshness_changes_at_its_bounds_and_not_before(left: float, state: str, remaining: str) -> None:
    found = freshness(START + left, now=START)

    assert (found.state, found.remaining) == (state, remaining)


def test_times_are_told_as_exactly_as_they_are() -> None:
    assert timestamp(START) == "2027-01-15T08:00:00Z"
    assert timestamp(START + 0.25) == "2027-01-15T08:00:00.250000Z"


@pytest.mark.req("CP-6")
@pytest.mark.req("D2-1n", "D2-1q", "D2-1u", "D2-1v", "D2-7.58a", "D2-7.58b", "D2-7.58c")
def test_lists_hide_what_has_expired_and_show_it_in_its_grace_when_asked(packs_anywhere: Bench) -> None:
    for name, minutes in (("long", 600), ("soon", 24), ("gone", 5)):
        packs_anywhere.input("write", document=document(name=name, ttl_minutes=minutes))
    packs_anywhere.clock.turn(10 * 60)

    def names(**filters: str) -> list[str]:
        return sorted(each["name"] for each in packs_anywhere.input("list", **filters)["packs"])

    shown = packs_anywhere.input("list", freshness="expired")["packs"][0]

    assert names() == ["long", "soon"]
    assert names(freshness="fresh") == ["long"]
    assert names(freshness="expiring_soon") == ["soon"]
    assert names(freshness="expired") == ["gone"]
    assert (shown["freshness_state"], shown["ttl_remaining"]) == ("expired", "expired")
    assert shown["expires_at"] == "2027-01-15T08:05:00Z"
    packs_anywhere.clock.turn(10 * 60)
    assert names(freshness="expired") == []
    assert packs_anywhere.refused("output", action="read", name="gone")["code"] == "not_found"
    assert packs_anywhere.refused("input", action="get", name="gone")["code"] == "not_found"


@pytest.mark.req("D2-1.read.g")
@pytest.mark.req("CP-6")
@pytest.mark.req("D2-1o", "D2-1w")
def test_markdown_warns_of_what_expires_soon_or_has_expired(packs: Bench) -> None:
    made = packs.input("write", document=document(ttl_minutes=10))

    soon = legend(packs.call("output", action="read", id=made["id"]))
    listed_soon = packs.call("output", action="list")
    packs.clock.turn(11 * 60)
    expired = legend(packs.call("output", action="read", id=made["id"]))
    listed_expired = packs.call("output", action="list", freshness="expired")

    assert (soon["freshness_state"], soon["warning"]) == ("expiring_soon", "expiring soon — refresh or extend ttl")
    assert (expired["freshness_state"], expired["warning"]) == ("expired", "expired — treat as stale evidence")
    assert expired["ttl_remaining"] == "expired"
    assert "[warning: expiring soon" in listed_soon
    assert "[warning: expired" in listed_expired
    assert packs.call("output", action="list") == "# Context packs\n\nNo context packs found.\n"


@pytest.mark.req("CP-6")
def test_the_grace_period_is_a_setting(tmp_path) -> None:
    with bench(tmp_path, grace_seconds=0) as packs:
        made = packs.input("write", document=document(ttl_minutes=1))
        packs.clock.turn(60)

        assert packs.refused("input", action="get", id=made["id"])["code"] == "not_found"


@pytest.mark.req("CP-5", "CT-26")
def test_a_ttl_counts_from_now_and_an_extension_from_the_later_of_now_and_expiry(packs_anywhere: Bench) -> None:
    made = packs_anywhere.input("write", document=document(ttl_minutes=10))
    packs_anywhere.clock.turn(60)

    from_now = packs_anywhere.input("ttl", id=made["id"], ttl_minutes=10, expected_revision=1)
    longer = packs_anywhere.input("ttl", id=made["id"], extend_minutes=5)
    packs_anywhere.clock.turn(16 * 60)
    revived = packs_anywhere.input("ttl", id=made["id"], extend_minutes=5)

    assert from_now["expires_at"] == "2027-01-15T08:11:00Z"
    assert longer["expires_at"] == "2027-01-15T08:16:00Z"
    assert revived["expires_at"] == "2027-01-15T08:22:00Z"
    assert [each["revision"] for each in (from_now, longer, revived)] == [1, 1, 1]
    assert {each["updated_at"] for each in (made, revived)} == {"2027-01-15T08:00:00Z"}


@pytest.mark.req("CP-5", "CP-12")
@pytest.mark.parametrize("given", [{}, {"ttl_minutes": 5, "extend_minutes": 5}])
@pytest.mark.req("D2-1l")
def test_ttl_takes_exactly_one_of_two(packs: Bench, given: dict[str, int]) -> None:
    error = packs.refused("input", action="ttl", id="pk_abcd2345", **given)

    assert error["code"] == "invalid_data"
    assert error["details"]["mutually_exclusive"] == ["ttl_minutes", "extend_minutes"]


@pytest.mark.fault("G6")
def test_nothing_comes_to_life_again_when_the_clock_is_set_back_an_hour(packs: Bench) -> None:
    made = packs.input("write", document=document(ttl_minutes=10))
    packs.clock.turn(11 * 60)
    expired = packs.input("get", id=made["id"])

    packs.clock.turn(-3600)
    still = packs.input("get", id=made["id"])

    assert expired["freshness_state"] == still["freshness_state"] == "expired"
    assert packs.input("list")["count"] == 0


@pytest.mark.fault("G6")
def test_after_the_clock_was_set_back_packs_expire_by_the_time_that_really_passes(tmp_path) -> None:
    now = {"wall": START, "real": 0.0}
    clock = SystemClock(wall=lambda: now["wall"], monotonic=lambda: now["real"])
    with bench(tmp_path) as made, open_store(tmp_path / "packs.db", lines=made.store.lines[1:], clock=clock) as store:
        packs = ContextPacks(store)
        pack = packs.write(document(ttl_minutes=20)).pack

        now["wall"] -= 3600
        now["real"] += 10 * 60
        soon = packs.freshness_of(packs.get(pack_id=pack.id)).state
        now["real"] += 10 * 60
        expired = packs.freshness_of(packs.get(pack_id=pack.id)).state

    assert (soon, expired) == ("expiring_soon", "expired")


@pytest.mark.fault("G6")
def test_a_pack_that_expires_while_it_is_read_page_by_page_says_so_and_loses_no_page(packs: Bench) -> None:
    made = packs.input("write", document=document(ttl_minutes=20))
    first = legend(packs.call("output", action="read", id=made["id"], limit=1))

    packs.clock.turn(21 * 60)
    second = legend(packs.call("output", action="read", id=made["id"], page_token=first["next_page_token"]))

    assert (first["freshness_state"], second["freshness_state"]) == ("fresh", "expired")
    assert second["offset"] == "1"


@pytest.mark.req("CP-18")
def test_a_sweep_forgets_what_is_past_its_grace_and_nothing_else(packs_anywhere: Bench) -> None:
    for name, minutes in (("long", 600), ("gone", 5)):
        packs_anywhere.input("write", document=document(name=name, ttl_minutes=minutes))
    packs_anywhere.clock.turn(5 * 60 + 899)
    early = packs_anywhere.packs.sweep()
    packs_anywhere.clock.turn(1)

    late = packs_anywhere.packs.sweep()

    with packs_anywhere.store.reading() as connection:
        left = connection.execute(text("SELECT name FROM packs")).scalars().all()
        history = connection.scalar(text("SELECT count(*) FROM pack_history"))
    assert (early, late, list(left), history) == (0, 1, ["long"], 1)


@pytest.mark.req("CP-18")
def test_packs_are_swept_in_the_background_and_again_after_a_failure(packs: Bench, monkeypatch, caplog) -> None:
    packs.input("write", document=document(ttl_minutes=1))
    packs.clock.turn(60 + 900)
    swept, sweep, failures = threading.Event(), packs.packs.sweep, [PackStoreFailed("It is busy.")]

    def sweep_once() -> int:
        if failures:
            raise failures.pop()
        gone = sweep()
        swept.set()
        return gone

    monkeypatch.setattr(packs.packs, "sweep", sweep_once)
    with caplog.at_level(logging.WARNING), sweeping(packs.packs, every=0.01):
        assert swept.wait(10)

    with packs.store.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM packs")) == 0
    assert "It is busy." in caplog.text
