"""What is kept of questions: sealed, bound to its row, gone when somebody has decided; and the key of the seals."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from approval_cases import DISK, POLICY, REASON, Desk, call_of, opened_desk
from sqlalchemy import inspect, select, update

from toolcrib_mcp.approvals import (
    APPROVALS_LINE,
    KEY_FILE,
    ApprovalBook,
    CallFacts,
    Cleared,
    Seals,
    StateKey,
    forget_questions,
    state_key,
)
from toolcrib_mcp.approvals.questions import KeptQuestion
from toolcrib_mcp.approvals.subjects import subject_of, summary_of
from toolcrib_mcp.approvals.tables import METADATA, QUESTIONS
from toolcrib_mcp.errors import ApprovalNotFound, ConfigError
from toolcrib_runtime.errors import ApprovalRefused, ApprovalRequired
from toolcrib_store import TurnableClock, migrate_to, open_store, sweep_store

CANARY = "canary-7f3a-secret"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as opened:
        yield opened


def keep(desk: Desk, arguments: Any = DISK, **options: Any) -> KeptQuestion:
    call = call_of(arguments, **options)
    subject = subject_of(call, policy_version=POLICY)
    kept = desk.book.keep(subject, CallFacts.of(call), reason=REASON, summary=summary_of(call))
    assert isinstance(kept, KeptQuestion)
    return kept


def files_with(directory: Path, needle: str) -> list[str]:
    return [each.name for each in directory.rglob("*") if each.is_file() and needle.encode() in each.read_bytes()]


@pytest.mark.req("GW-8.4")
def test_the_person_who_decides_finds_exactly_what_would_run(desk: Desk) -> None:
    kept = keep(desk, {"disk": "sda", "deep": [{"a": None}]}, principal="ann")

    facts = desk.book.facts(kept.id)

    assert facts is not None
    assert facts.arguments == {"disk": "sda", "deep": [{"a": None}]}
    assert (facts.server, facts.upstream_name, facts.title) == ("box", "wipe", "Wipe a disk")
    assert facts.description == "Deletes everything on a disk."
    assert facts.risk["destructive"] is True
    assert (facts.principal, facts.client) == ("ann", "tester")


@pytest.mark.parametrize("client", [None, 7, ["x"]])
def test_a_client_without_a_name_has_none(desk: Desk, client: object) -> None:
    assert keep(desk, client=client).client == ""


@pytest.mark.req("GW-8.6")
@pytest.mark.fault("F18")
def test_what_is_in_arguments_is_in_no_file(tmp_path: Path) -> None:
    with opened_desk(tmp_path) as desk:
        kept = keep(desk, {"disk": CANARY, CANARY: 1})
        while_open = files_with(tmp_path, CANARY)
        desk.book.grant(kept.id, by="ann")

    assert while_open == []
    assert files_with(tmp_path, CANARY) == []


def test_what_would_run_is_gone_once_somebody_has_decided(desk: Desk) -> None:
    granted, denied = keep(desk), keep(desk, {})
    desk.book.grant(granted.id, by="ann")
    desk.book.deny(denied.id, by="ann")

    with desk.store.reading() as connection:
        assert connection.execute(select(QUESTIONS.c.sealed)).scalars().all() == [None, None]
    assert desk.book.facts(granted.id) is None


def test_what_has_expired_is_swept(desk: Desk) -> None:
    keep(desk)
    desk.clock.turn(3_601)

    assert desk.book.questions() == []
    assert sweep_store(desk.store, more={"questions": forget_questions})["questions"] == 1


def test_a_question_whose_time_is_over_makes_room_for_the_same_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib_mcp.approvals.book._FORGOTTEN_AT_ONCE", 0)
    first = keep(desk)
    desk.clock.turn(3_601)

    assert keep(desk).id != first.id


@pytest.mark.req("GW-8.5")
def test_the_questions_of_others_are_not_found(desk: Desk) -> None:
    anns, bobs = keep(desk, principal="ann"), keep(desk, principal="bob")

    assert [each.id for each in desk.book.questions(principal="ann")] == [anns.id]
    for act in (desk.book.question, desk.book.facts):
        with pytest.raises(ApprovalNotFound):
            act(bobs.id, principal="ann")
    for decide in (desk.book.grant, desk.book.deny):
        with pytest.raises(ApprovalNotFound):
            decide(bobs.id, by="ann", principal="ann")
    assert desk.book.question(bobs.id, principal="bob").state == "waiting"


@pytest.mark.parametrize("guess", ["", "apr_", "apr_" + "0" * 32, "' OR 1=1 --", "%", "x" * 10_000])
def test_a_guessed_id_is_not_found(desk: Desk, guess: str) -> None:
    keep(desk)

    with pytest.raises(ApprovalNotFound):
        desk.book.grant(guess, by="eve")


@pytest.mark.parametrize(("first", "second"), [("grant", "grant"), ("deny", "grant"), ("deny", "deny")])
def test_what_was_decided_stays_decided(desk: Desk, first: str, second: str) -> None:
    kept = keep(desk)
    decided = getattr(desk.book, first)(kept.id, by="ann")

    with pytest.raises(ApprovalRefused) as caught:
        getattr(desk.book, second)(kept.id, by="bob")

    assert "already, by ann" in caught.value.message
    assert desk.book.question(kept.id) == decided


@pytest.mark.fault("K16")
def test_a_grant_that_was_not_used_can_be_denied(desk: Desk) -> None:
    kept = keep(desk)
    desk.book.grant(kept.id, by="ann")

    denied = desk.book.deny(kept.id, by="bob")

    assert (denied.state, denied.decided_by, denied.token) == ("denied", "bob", None)


@pytest.mark.fault("K16")
def test_of_a_grant_and_a_denial_at_once_the_denial_holds(desk: Desk) -> None:
    for _ in range(10):
        kept, barrier = keep(desk), threading.Barrier(2)

        def decide(name: str, kept_id: str = kept.id, barrier: threading.Barrier = barrier) -> None:
            barrier.wait(timeout=60)
            with suppress(ApprovalRefused):
                getattr(desk.book, name)(kept_id, by=name)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(decide, ["grant", "deny"]))
        assert desk.book.question(kept.id).state == "denied"
        desk.book.drop(kept.id)


def test_of_many_who_grant_at_once_one_does(desk: Desk) -> None:
    kept, barrier = keep(desk), threading.Barrier(8)

    def decide(number: int) -> bool:
        barrier.wait(timeout=60)
        try:
            desk.book.grant(kept.id, by=f"person {number}")
        except ApprovalRefused:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(decide, range(8))) == 1


def test_a_grant_that_comes_too_late_is_not_found(desk: Desk) -> None:
    kept = keep(desk)
    desk.clock.turn(3_600)

    with pytest.raises(ApprovalNotFound):
        desk.book.grant(kept.id, by="ann")


async def test_a_grant_in_the_last_moment_is_good_until_that_moment(desk: Desk) -> None:
    kept = keep(desk)
    desk.clock.turn(3_599)
    granted = desk.book.grant(kept.id, by="ann")
    desk.clock.turn(1)

    assert granted.token is not None
    with pytest.raises(ApprovalRefused) as caught:
        await desk.book.approvals.redeem(granted.token, subject_of(call_of(), policy_version=POLICY))
    assert caught.value.details["reason"] == "expired"


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x02" + b"0" * 40, b"\x01" + b"0" * 40])
def test_a_row_that_was_altered_grants_nothing(desk: Desk, sealed: bytes) -> None:
    kept = keep(desk)
    with desk.store.writing() as connection:
        connection.execute(update(QUESTIONS).values(sealed=sealed))

    for act in (desk.book.facts, lambda each: desk.book.grant(each, by="ann")):
        with pytest.raises(ApprovalRefused) as caught:
            act(kept.id)
        assert caught.value.details["reason"] == "signature"


def test_what_was_sealed_for_one_row_opens_in_no_other(desk: Desk) -> None:
    harmless, harmful = keep(desk, {"disk": "scratch"}), keep(desk, {"disk": "sda"})
    with desk.store.writing() as connection:
        moved = connection.scalar(select(QUESTIONS.c.sealed).where(QUESTIONS.c.id == harmful.id))
        connection.execute(update(QUESTIONS).where(QUESTIONS.c.id == harmless.id).values(sealed=moved))

    with pytest.raises(ApprovalRefused):
        desk.book.grant(harmless.id, by="ann")


def test_another_key_opens_nothing(desk: Desk) -> None:
    kept = keep(desk)

    with pytest.raises(ApprovalRefused):
        ApprovalBook(desk.store, StateKey()).grant(kept.id, by="eve")


def test_what_is_printed_of_a_question_shows_no_approval(desk: Desk) -> None:
    granted = desk.book.grant(keep(desk).id, by="ann")

    assert granted.token is not None
    assert granted.token not in repr(granted)


def test_the_tables_are_what_the_migration_makes_and_can_be_taken_back(tmp_path: Path) -> None:
    with open_store(tmp_path / "a.db", lines=[APPROVALS_LINE]) as store:
        with store.reading() as connection:
            found = inspect(connection)
            columns = {each["name"] for each in found.get_columns("approval_questions")}
            indexes = {each["name"] for each in found.get_indexes("approval_questions")}
        with store.writing() as connection:
            migrate_to(connection, APPROVALS_LINE, "base", name=store.name)
        with store.reading() as connection:
            assert not inspect(connection).has_table("approval_questions")

    table = METADATA.tables["approval_questions"]
    assert columns == {each.name for each in table.columns}
    assert indexes == {each.name for each in table.indexes}


@pytest.mark.req("GW-8.4")
async def test_both_databases_keep_questions_and_take_each_grant_once(store_url: str) -> None:
    call, clock = call_of({"disk": "s\x00da"}, principal="ann", client="te\x00st"), TurnableClock()
    with open_store(store_url, lines=[APPROVALS_LINE], clock=clock) as store:
        desk = Desk(store, StateKey(), clock=clock)
        with pytest.raises(ApprovalRequired):
            await desk.clear(call)
        (kept,) = desk.book.questions(principal="ann")
        facts = desk.book.facts(kept.id)
        desk.book.grant(kept.id, by="ann")
        ends = await asyncio.gather(*(desk.clear(call) for _ in range(8)), return_exceptions=True)
        with store.writing() as connection:
            migrate_to(connection, APPROVALS_LINE, "base", name=store.name)

    assert facts is not None
    assert facts.arguments == {"disk": "s\x00da"}
    assert sum(isinstance(each, Cleared) for each in ends) == 1


# The key


def test_without_a_directory_the_key_is_in_memory_alone() -> None:
    assert state_key(None).derived("a") != state_key(None).derived("a")


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first = state_key(tmp_path)
    second = state_key(tmp_path)

    assert first.derived("a") == second.derived("a") != first.derived("b")
    facts = (tmp_path / KEY_FILE).stat()
    assert (stat.S_IMODE(facts.st_mode), facts.st_size) == (0o600, 32)
    assert [each.name for each in tmp_path.iterdir()] == [KEY_FILE]


def test_of_many_who_make_the_key_at_once_all_have_the_same(tmp_path: Path) -> None:
    barrier = threading.Barrier(16)

    def make(_: int) -> bytes:
        barrier.wait(timeout=60)
        return state_key(tmp_path).derived("a")

    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(make, range(16)))) == 1
    assert [each.name for each in tmp_path.iterdir()] == [KEY_FILE]


async def test_processes_that_make_the_key_at_once_have_the_same(tmp_path: Path) -> None:
    import sys

    code = (
        "import sys, pathlib; from toolcrib_mcp.approvals import state_key; "
        "print(state_key(pathlib.Path(sys.argv[1])).derived('a').hex())"
    )
    started = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path), stdout=asyncio.subprocess.PIPE)
        for _ in range(3)
    ]
    printed = {(await each.communicate())[0] for each in started}

    assert len(printed) == 1
    assert printed != {b""}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666, 0o620])
def test_a_key_that_is_open_to_others_is_not_used(tmp_path: Path, mode: int) -> None:
    state_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(mode)

    with pytest.raises(ConfigError, match="open to others"):
        state_key(tmp_path)


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_file_that_is_no_key_is_not_used(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / KEY_FILE
    file.write_bytes(content)
    file.chmod(0o600)

    with pytest.raises(ConfigError, match="holds no key"):
        state_key(tmp_path)


def test_a_key_that_lies_elsewhere_or_is_no_file_is_not_used(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    state_key(elsewhere)
    linked, folder = tmp_path / "linked", tmp_path / "folder"
    linked.mkdir()
    (linked / KEY_FILE).symlink_to(elsewhere / KEY_FILE)
    (folder / KEY_FILE).mkdir(parents=True)

    with pytest.raises(ConfigError, match="cannot be read"):
        state_key(linked)
    with pytest.raises(ConfigError, match="no plain file"):
        state_key(folder)


def test_a_key_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state_key(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: (tmp_path / KEY_FILE).stat().st_uid + 1)

    with pytest.raises(ConfigError, match="another user"):
        state_key(tmp_path)


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        state_key(tmp_path / "missing")

    monkeypatch.setattr("toolcrib_mcp.approvals.key_file._make", lambda file: None)
    with pytest.raises(ConfigError, match="cannot be kept"):
        state_key(tmp_path)


def test_a_key_is_not_printed_and_has_one_length(tmp_path: Path) -> None:
    material = b"k" * 32

    assert "kkkk" not in repr(StateKey(material))
    assert not hasattr(StateKey(material), "__dict__")
    with pytest.raises(ValueError, match="32 bytes"):
        StateKey(b"k" * 31)


def test_a_seal_is_for_one_purpose_and_never_twice_the_same() -> None:
    key = StateKey()
    one, other = Seals(key, purpose="one"), Seals(key, purpose="other")

    sealed = one.seal(b"x", row="r")

    assert one.unseal(sealed, row="r") == b"x"
    assert other.unseal(sealed, row="r") is None
    assert sealed != one.seal(b"x", row="r")
