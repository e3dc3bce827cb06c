"""Many artifacts put at once: all of them or none, and fast enough for a result of thousands of parts."""

from __future__ import annotations

import pytest

from toolcrib_store import ArtifactLimits, Artifacts, NewArtifact, Owner, QuotaExceeded, Store, open_store
from toolcrib_store import putting as putting_module

ANNA = Owner(principal="anna", session="1")
BERT = Owner(principal="bert", session="1")


@pytest.fixture
def store(store_url: str):
    with open_store(store_url) as opened:
        yield opened


def new(content: bytes, **fields: str) -> NewArtifact:
    return NewArtifact(**{"content": content, "media_type": "text/plain", "kind": "prose", "source": "a:b@1", **fields})  # type: ignore[arg-type]  # texts but for the content


@pytest.mark.req("GW-7.4")
def test_each_gets_its_own_handle_in_order_and_the_same_content_one(store: Store) -> None:
    kept = Artifacts(store)

    infos = kept.put_all([new(b"one"), new(b"two", kind="log"), new(b"one")], owner=ANNA)

    assert infos[0].handle == infos[2].handle != infos[1].handle
    assert [kept.read(each.handle, owner=ANNA) for each in infos] == [b"one", b"two", b"one"]
    assert kept.info(infos[1].handle, owner=ANNA) == infos[1]
    assert len(kept.list(owner=ANNA)) == 2


@pytest.mark.req("GW-7.4")
def test_what_is_known_is_renewed_among_what_is_new_and_others_have_their_own(store: Store) -> None:
    time = [1_000.0]
    kept = Artifacts(store, limits=ArtifactLimits(seconds=60), now=lambda: time[0])
    first = kept.put(b"one", owner=ANNA, media_type="text/plain", kind="prose", source="a:b@1")
    time[0] += 30

    again, added = kept.put_all([new(b"one", kind="log"), new(b"two")], owner=ANNA)
    (foreign,) = kept.put_all([new(b"one")], owner=BERT)

    assert (again.handle, again.kind, again.expires_at) == (first.handle, "log", 1_090.0)
    assert added.expires_at == 1_090.0
    assert kept.read(foreign.handle, owner=BERT) == b"one"


@pytest.mark.req("GW-7.4")
@pytest.mark.parametrize(
    ("limits", "quota"),
    [
        (ArtifactLimits(max_owner_count=4), "number of artifacts"),
        (ArtifactLimits(max_owner=9), "owner"),
        (ArtifactLimits(max_total=9), "store"),
        (ArtifactLimits(max_artifact=1), "artifact"),
    ],
)
def test_what_does_not_fit_together_is_refused_together(store: Store, limits: ArtifactLimits, quota: str) -> None:
    kept = Artifacts(store, limits=limits)

    with pytest.raises(QuotaExceeded) as caught:
        kept.put_all([new(b"%d!" % number) for number in range(5)], owner=ANNA)

    assert caught.value.details["quota"] == quota
    assert kept.list(owner=ANNA) == []


def test_nothing_is_put_without_anything_to_put(store: Store) -> None:
    assert Artifacts(store).put_all([], owner=ANNA) == []


def test_handles_that_would_be_alike_are_told_apart(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(putting_module, "_HANDLE_LENGTHS", (0, 1, 52))
    kept = Artifacts(store)

    infos = kept.put_all([new(b"%d" % number) for number in range(60)], owner=ANNA)
    more = kept.put_all([new(b"another")], owner=ANNA)

    assert len({each.handle for each in (*infos, *more)}) == 61
    assert [kept.read(each.handle, owner=ANNA) for each in infos] == [b"%d" % number for number in range(60)]


@pytest.mark.req("GW-7.4")
def test_thousands_are_put_in_one_go_with_all_their_content(store: Store) -> None:
    kept = Artifacts(store)
    large = bytes(3 * 1024 * 1024)

    infos = kept.put_all([new(b"%d" % number) for number in range(2_000)] + [new(large), new(large + b"!")], owner=ANNA)

    assert kept.read(infos[1_999].handle, owner=ANNA) == b"1999"
    assert kept.read(infos[2_001].handle, owner=ANNA) == large + b"!"
