"""Artifacts: whose they are, how long they live, how much room they take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Executable, delete, insert, text, update

from toolcrib_store import (
    ArtifactLimits,
    ArtifactNotFound,
    Artifacts,
    Owner,
    QuotaExceeded,
    Store,
    StoreDamaged,
    open_store,
)
from toolcrib_store.blobs import CHUNK_BYTES
from toolcrib_store.tables import ARTIFACTS, BLOBS, CHUNKS

ANNA = Owner(principal="anna", session="1")
BERT = Owner(principal="bert", session="1")


class Time:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def store(store_url: str):
    with open_store(store_url) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory):
    with open_store(tmp_path_factory.mktemp("shared") / "a.db") as opened:
        yield opened


@pytest.fixture
def time() -> Time:
    return Time()


def artifacts(store: Store, time: Time, **limits: float) -> Artifacts:
    return Artifacts(store, limits=ArtifactLimits(**{"seconds": 60.0, **limits}), now=time)


def put(kept: Artifacts, content: bytes, owner: Owner = ANNA) -> str:
    return kept.put(content, owner=owner, media_type="text/plain", kind="prose", source="files:read#00000000").handle


@pytest.mark.req("GW-7.4")
def test_what_is_put_can_be_read_in_part_and_whole(store: Store, time: Time) -> None:
    content = bytes(range(256)) * 4096
    kept = artifacts(store, time)

    handle = put(kept, content)

    assert kept.read(handle, owner=ANNA) == content
    assert kept.read(handle, owner=ANNA, start=CHUNK_BYTES - 3, stop=CHUNK_BYTES + 3) == content[CHUNK_BYTES - 3 :][:6]
    assert kept.read(handle, owner=ANNA, start=len(content) - 2, stop=10**12) == content[-2:]
    assert kept.read(handle, owner=ANNA, start=5, stop=5) == b""
    assert kept.info(handle, owner=ANNA).size == len(content)


def test_nothing_can_be_kept_too(store: Store, time: Time) -> None:
    kept = artifacts(store, time)

    assert kept.read(put(kept, b""), owner=ANNA) == b""


@given(
    size=st.integers(0, 3 * CHUNK_BYTES), start=st.integers(-5, 4 * CHUNK_BYTES), length=st.integers(0, 2 * CHUNK_BYTES)
)
def test_any_part_is_what_python_would_cut(shared: Store, size: int, start: int, length: int) -> None:
    content = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    kept = Artifacts(shared)

    part = kept.read(put(kept, content), owner=ANNA, start=start, stop=start + length)

    assert part == content[max(0, start) : max(0, start + length)]


@pytest.mark.req("GW-7.4")
def test_the_same_content_has_one_handle_and_is_stored_once(store: Store, time: Time) -> None:
    kept = artifacts(store, time)

    handles = {put(kept, b"same"), put(kept, b"same"), put(kept, b"same", BERT)}

    assert len(handles) == 1
    assert len(kept.list(owner=ANNA)) == 1
    with store.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM blobs")) == 1


@pytest.mark.req("GW-7.4")
@pytest.mark.fault("G1")
def test_stale_foreign_guessed_and_deleted_handles_are_refused_in_the_same_words(store: Store, time: Time) -> None:
    kept = artifacts(store, time)
    foreign, deleted, stale = put(kept, b"foreign", BERT), put(kept, b"deleted"), put(kept, b"stale")
    kept.delete(deleted, owner=ANNA)
    time.seconds += 61
    said = set()

    for handle in (foreign, deleted, stale, stale[:-1], "art_" + "a" * 16, "?", "art_' OR 1=1"):
        with pytest.raises(ArtifactNotFound) as refused:
            kept.read(handle, owner=ANNA)
        said.add((refused.value.message.replace(handle, "H"), refused.value.hint, refused.value.code))

    assert len(said) == 1


@pytest.mark.req("GW-7.4")
def test_a_principal_has_its_artifacts_in_every_session_and_an_unknown_client_in_its_own(
    store: Store, time: Time
) -> None:
    kept = artifacts(store, time)
    nobody = Owner(session="s1")
    hers, nobodys = put(kept, b"hers"), put(kept, b"nobody's", nobody)

    assert kept.read(hers, owner=Owner(principal="anna", session="2")) == b"hers"
    assert kept.read(nobodys, owner=nobody) == b"nobody's"
    for other in (Owner(session="s2"), Owner(principal="s1"), ANNA):
        with pytest.raises(ArtifactNotFound):
            kept.read(nobodys, owner=other)


@pytest.mark.fault("G6")
def test_what_has_expired_stays_so_when_the_clock_goes_back(store: Store, time: Time) -> None:
    kept = artifacts(store, time)
    handle = put(kept, b"short-lived")
    time.seconds += 61
    with pytest.raises(ArtifactNotFound):
        kept.info(handle, owner=ANNA)

    time.seconds -= 3600

    with pytest.raises(ArtifactNotFound):
        kept.info(handle, owner=ANNA)


def test_putting_it_again_makes_it_live_anew(store: Store, time: Time) -> None:
    kept = artifacts(store, time)
    handle = put(kept, b"again")
    time.seconds += 50
    put(kept, b"again")
    time.seconds += 50

    assert kept.read(handle, owner=ANNA) == b"again"


def test_sweeping_takes_away_what_nobody_has(store: Store, time: Time) -> None:
    kept = artifacts(store, time)
    put(kept, b"one")
    time.seconds += 30
    left = put(kept, b"two")
    time.seconds += 31

    assert kept.sweep() == 1

    assert [info.handle for info in kept.list(owner=ANNA)] == [left]
    with store.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM chunks")) == 1


@pytest.mark.req("GW-7.4")
@pytest.mark.parametrize(
    ("limits", "quota"),
    [
        ({"max_artifact": 9}, "artifact"),
        ({"max_owner": 19}, "owner"),
        ({"max_owner_count": 1}, "number of artifacts"),
        ({"max_total": 19}, "store"),
    ],
)
def test_a_quota_refuses_what_is_too_much_and_keeps_what_is_there(store: Store, time: Time, limits, quota) -> None:
    kept = artifacts(store, time, **limits)
    if quota != "artifact":
        put(kept, b"a" * 10)

    with pytest.raises(QuotaExceeded) as refused:
        put(kept, b"b" * 10)

    assert refused.value.details["quota"] == quota
    assert len(kept.list(owner=ANNA)) == (0 if quota == "artifact" else 1)


def test_what_others_put_meanwhile_is_counted_too_and_the_total_is_kept_within_a_hundredth_by_each(
    store: Store, time: Time
) -> None:
    every = [artifacts(store, time, max_total=1_000) for _ in range(2)]

    def put_by_turns() -> None:
        for number in range(300):
            put(every[number % 2], b"%04d" % number)

    with pytest.raises(QuotaExceeded):
        put_by_turns()
    with store.reading() as connection:
        assert 990 <= (connection.scalar(text("SELECT sum(size) FROM blobs")) or 0) <= 1_020


def test_room_in_the_whole_store_is_made_of_what_was_deleted(store: Store, time: Time) -> None:
    kept = artifacts(store, time, max_total=1_000)
    for number in range(100):
        put(kept, b"%010d" % number)
    kept.delete(kept.list(owner=ANNA)[0].handle, owner=ANNA)

    put(kept, b"b" * 10)

    assert len(kept.list(owner=ANNA)) == 100


def test_room_is_made_of_what_has_expired(store: Store, time: Time) -> None:
    kept = artifacts(store, time, max_owner=15)
    put(kept, b"a" * 10)
    time.seconds += 61

    put(kept, b"b" * 10)

    assert len(kept.list(owner=ANNA)) == 1


@pytest.mark.fault("K12")
def test_one_owner_s_quota_is_not_another_s(store: Store, time: Time) -> None:
    kept = artifacts(store, time, max_owner=15)
    put(kept, b"a" * 10)

    put(kept, b"b" * 10, BERT)

    assert len(kept.list(owner=BERT)) == 1


def test_two_contents_whose_handles_begin_alike_have_two_handles(store: Store, time: Time) -> None:
    kept = artifacts(store, time)
    first = put(kept, b"first")
    with store.writing() as connection:  # what a collision would look like: another content under the short handle
        connection.execute(insert(BLOBS).values(digest=b"1", size=0, created_at=0))
        connection.execute(update(ARTIFACTS).values(digest=b"1"))

    second = put(kept, b"first")

    assert second != first
    assert second.startswith(first)


@pytest.mark.fault("G9")
@pytest.mark.parametrize("harm", [update(CHUNKS).values(content=b"y"), delete(CHUNKS).where(CHUNKS.c.number == 1)])
def test_content_that_is_not_what_was_put_is_never_given_out(store: Store, time: Time, harm: Executable) -> None:
    kept = artifacts(store, time)
    handle = put(kept, b"x" * (CHUNK_BYTES + 10))
    with store.writing() as connection:
        connection.execute(harm)

    with pytest.raises(StoreDamaged):
        kept.read(handle, owner=ANNA)


@pytest.mark.req("GW-7.4")
def test_artifacts_outlive_the_process_that_made_them(store_url: str, time: Time) -> None:
    with open_store(store_url) as before:
        handle = put(artifacts(before, time), b"kept")

    with open_store(store_url) as after:
        assert artifacts(after, time).read(handle, owner=ANNA) == b"kept"


def test_facts_come_back_as_they_were(store: Store, time: Time) -> None:
    kept = artifacts(store, time)
    facts = {"rows": 3, "columns": ["ä", "b"]}

    info = kept.put(b"x", owner=ANNA, media_type="text/csv", kind="table", source="t", facts=facts)

    assert kept.info(info.handle, owner=ANNA).facts == facts


def test_what_no_database_can_keep_in_a_text_is_replaced_and_facts_stay_as_they_were(store: Store, time: Time) -> None:
    kept = artifacts(store, time)
    facts = {"half of a character": "\ud800", "nul": "\0"}

    info = kept.put(b"x", owner=ANNA, media_type="text/\ud800\0", kind="table", source="t", facts=facts)

    assert kept.info(info.handle, owner=ANNA) == info
    assert (info.media_type, info.facts) == ("text/?\ufffd", facts)
