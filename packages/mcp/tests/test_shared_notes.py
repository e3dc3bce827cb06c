"""What replicas share: one key that they all have, and notes that any of them reads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from approval_cases import call_of
from sqlalchemy import text, update

from toolcrib_core import ChoiceCard
from toolcrib_mcp.approvals import APPROVALS_LINE, ApprovalBook, ApprovalDesk, StateKey
from toolcrib_mcp.approvals.continuing import SharedContinuations
from toolcrib_mcp.browse.cards import PageCard
from toolcrib_mcp.browse.seen import BREAKPOINT, SeenCards
from toolcrib_mcp.browse.shared_seen import SECONDS, SharedSeenCards
from toolcrib_mcp.config import GatewayConfig
from toolcrib_mcp.errors import ConfigError
from toolcrib_mcp.safeguards import open_safeguards
from toolcrib_mcp.shared import SHARED_LINE, Notes, SharedDatabase, forget_notes, shared_key
from toolcrib_mcp.shared.tables import NOTES
from toolcrib_mcp.state_files import ARTIFACTS
from toolcrib_store import Store, TurnableClock, open_store

pytestmark = pytest.mark.req("GW-9.2")

MASTER, OTHER = StateKey(bytes(32)), StateKey(b"\x01" * 32)


@pytest.fixture
def clock() -> TurnableClock:
    return TurnableClock()


@pytest.fixture
def store(store_url: str, clock: TurnableClock) -> Iterator[Store]:
    with open_store(store_url, lines=[APPROVALS_LINE, SHARED_LINE], clock=clock) as opened:
        yield opened


def test_of_any_number_of_replicas_one_makes_the_key_and_all_have_it(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: shared_key(store, [MASTER]).derived("a"), range(8)))

    assert len(set(keys)) == 1
    with store.reading() as connection:
        (row,) = connection.execute(text("SELECT content FROM shared_notes")).all()
    assert keys[0] not in bytes(row[0])


def test_a_replica_with_another_master_key_does_not_start(store: Store) -> None:
    shared_key(store, [MASTER])

    with pytest.raises(ConfigError, match="another master key"):
        shared_key(store, [OTHER])


def test_a_key_that_was_altered_is_not_taken(store: Store) -> None:
    shared_key(store, [MASTER])
    with store.writing() as connection:
        connection.execute(update(NOTES).values(content=b"nothing"))

    with pytest.raises(ConfigError):
        shared_key(store, [MASTER])


def test_the_key_stays_when_the_master_key_changes(store: Store) -> None:
    before = shared_key(store, [MASTER]).derived("a")

    assert shared_key(store, [OTHER, MASTER]).derived("a") == before
    assert shared_key(store, [OTHER]).derived("a") == before
    with pytest.raises(ConfigError):
        shared_key(store, [MASTER])


def test_notes_are_the_first_writers_until_their_time_is_over(store: Store, clock: TurnableClock) -> None:
    one, other = Notes(store, kind="a"), Notes(store, kind="b")

    assert one.add("x", {"k": b"1"}, seconds=100) == ({}, {"k": b"1"})
    assert one.add("x", {"k": b"2", "l": b"3"}, seconds=100) == ({"k": b"1"}, {"l": b"3"})
    assert other.read("x", "k") is None
    clock.turn(60)
    one.add("x", {"k": b"2"}, seconds=100)  # for as long again
    clock.turn(60)
    assert set(one.every("x")) == {"k"}
    clock.turn(60)
    assert one.every("x") == {}
    assert one.change("x", b"4", key="k") is None
    assert one.add("x", {"k": b"5"}, seconds=100) == ({}, {"k": b"5"})


def test_a_note_is_changed_taken_and_dropped(store: Store, clock: TurnableClock) -> None:
    notes = Notes(store, kind="a")
    notes.add("x", {"": b"1", "y": b"2"}, seconds=10)

    assert (notes.change("x", b"3", seconds=10), notes.count("x")) == (2, 2)
    assert (notes.take("x", "y"), notes.take("x", "y")) == (b"2", None)
    notes.extend("x", seconds=1000)
    clock.turn(500)
    assert notes.read("x") is not None
    notes.drop("x")
    assert notes.count("x") == 0


def test_what_is_over_is_swept_a_little_at_a_time(store: Store, clock: TurnableClock) -> None:
    notes = Notes(store, kind="a")
    notes.add("x", {str(each): b"" for each in range(3)}, seconds=10)
    notes.add("x", {"stays": b""})
    clock.turn(11)

    with store.writing() as connection:
        gone = [forget_notes(connection, store.now(), 2) for _ in range(3)]

    assert gone == [2, 1, 0]
    assert set(notes.every("x")) == {"stays"}


def _page(*names: str, line: str = "line") -> list[PageCard]:
    return [
        PageCard(
            card=ChoiceCard(id=each, name=each, description="d", namespace="n", tags=("t",), score=1.5),
            line=f"{each} {line}",
        )
        for each in names
    ]


@pytest.mark.req("GW-5.1")
def test_pages_are_stable_over_replicas_as_in_one_process(store: Store) -> None:
    replicas: list[Any] = [SharedSeenCards(store), SharedSeenCards(store)]
    alone = SeenCards()
    pages = [_page("b", "a"), _page("c", "b", line="changed"), _page("a", "c"), _page("d"), _page("d", "e", "a")]

    together = [replicas[turn % 2].arrange("client", page) for turn, page in enumerate(pages)]

    assert together == [alone.arrange("client", page) for page in pages]
    assert [each.card.id for each in together[1]] == ["b", BREAKPOINT, "c"]
    assert together[1][0].line == "b line"
    assert replicas[0].arrange("another client", pages[1]) == SeenCards().arrange("another client", pages[1])


@pytest.mark.req("CT-11")
def test_a_tool_that_was_executed_at_one_replica_counts_as_seen_at_another(store: Store) -> None:
    one, other, alone = SharedSeenCards(store), SharedSeenCards(store), SeenCards()
    for each in (one, alone):
        each.note_used("client", "b")
    pages = [_page("b", "a"), _page("b", "c", line="changed")]

    together = [other.arrange("client", each) for each in pages]

    assert together == [alone.arrange("client", each) for each in pages]
    assert [each.line for each in together[0]] == ["b line", BREAKPOINT, "a line"]
    assert together[1][0].line == "b line"
    assert BREAKPOINT not in [each.card.id for each in one.arrange("another", pages[0])]


def test_what_nobody_looks_at_for_a_day_is_forgotten(store: Store, clock: TurnableClock) -> None:
    seen = SharedSeenCards(store)
    seen.arrange("client", _page("a"))
    clock.turn(SECONDS + 1)

    assert seen.arrange("client", _page("a", line="new"))[0].line == "a new"


async def test_a_question_of_a_server_is_answered_once_at_whichever_replica(store: Store, clock: TurnableClock) -> None:
    one, other = SharedContinuations(store, seconds=10), SharedContinuations(store, seconds=10)
    one.remember(call_of(), "state")
    one.remember(call_of(), "late")

    taken = [each.take(call_of(), {"requestState": "state"}) for each in (other, one)]
    clock.turn(11)

    assert taken == [True, False]
    assert not other.take(call_of(), {"requestState": "late"})


async def test_a_result_is_not_lost_because_its_question_cannot_be_written_down(store: Store) -> None:
    desk = ApprovalDesk(ApprovalBook(store, MASTER), shared=store)
    with store.writing() as connection:
        connection.execute(text("DROP TABLE shared_notes"))

    await desk.note_question(call_of(), {"resultType": "input_required", "requestState": "state"})


async def test_all_but_the_audit_is_in_the_database_that_is_shared(store_url: str, tmp_path: Path) -> None:
    config = GatewayConfig(servers={})
    shared = SharedDatabase(target=store_url, sealed_with=(MASTER,))
    folders = [tmp_path / "one", tmp_path / "other"]
    keys = []
    for folder in folders:
        folder.mkdir()
        async with open_safeguards(config, state_dir=folder, shared=shared) as safeguards:
            assert safeguards.shared is safeguards.store
            assert safeguards.replicated is not None
            keys.append(safeguards.replicated.derived("a"))

    assert keys[0] == keys[1]
    assert all((folder / ARTIFACTS).is_file() and (folder / "audit").is_dir() for folder in folders)
    assert not any((folder / "approvals.key").exists() for folder in folders)
    assert store_url not in repr(shared)


async def test_a_process_alone_has_no_table_for_replicas(tmp_path: Path) -> None:
    async with open_safeguards(GatewayConfig(servers={}), state_dir=tmp_path) as safeguards:
        assert safeguards.shared is None
        assert SHARED_LINE not in safeguards.store.lines
