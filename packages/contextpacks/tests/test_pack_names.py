"""Names, which are unique among the packs that have not expired, and what an expired pack can still be used for."""

from __future__ import annotations

from typing import Any

import pytest
from pack_cases import Bench, bench, document, legend, section
from sqlalchemy import text

from toolcrib_contextpacks import PackConflict

pytestmark = pytest.mark.req("CT-26")


def _replaced(packs: Bench) -> tuple[Any, Any]:
    """An expired pack, and a new one of the same name."""
    old = packs.input("write", document=document(name="auth-fix", title="Old", ttl_minutes=5))
    packs.clock.turn(5 * 60)
    return old, packs.input("write", document=document(name="auth-fix", title="New"))


@pytest.mark.req("CP-17")
def test_an_expired_name_does_not_block_a_new_pack_and_both_can_be_read(packs_anywhere: Bench) -> None:
    old, new = _replaced(packs_anywhere)

    assert packs_anywhere.found(name="auth-fix")["id"] == new["id"]
    assert packs_anywhere.found(id=old["id"])["title"] == "Old"
    assert packs_anywhere.refused("input", action="write", document=document(name="auth-fix"))["details"] == {
        "name": "auth-fix",
        "id": new["id"],
        "requested_field": "document.name",
    }


@pytest.mark.req("CP-6")
@pytest.mark.req("D2-1r", "D2-1s", "D2-1u")
def test_a_read_with_a_freshness_means_a_pack_of_that_freshness(packs_anywhere: Bench) -> None:
    old, new = _replaced(packs_anywhere)

    def read(**which: str) -> str:
        got = packs_anywhere.found(**which)["id"]
        assert legend(packs_anywhere.call("output", action="read", **which))["id"] == got
        return legend(packs_anywhere.call("output", action="read", **which))["id"]

    assert read(name="auth-fix") == read(name="auth-fix", freshness="fresh") == new["id"]
    assert read(name="auth-fix", freshness="expired") == read(id=old["id"], freshness="expired") == old["id"]
    packs_anywhere.clock.turn(900)
    refused = packs_anywhere.refused("output", action="read", name="auth-fix", freshness="expired")
    gone = packs_anywhere.refused("output", action="read", id=old["id"], freshness="expired")
    assert (refused["kind"], refused["code"]) == ("invalid_state", "invalid_state")
    assert refused["details"] == {"current_freshness": "fresh", "requested_freshness": "expired"}
    assert gone["code"] == "not_found"


@pytest.mark.req("CP-6", "CP-7")
def test_where_every_pack_of_a_name_has_expired_the_rules_decide_among_them(packs: Bench) -> None:
    _replaced(packs)
    packs.input("ttl", name="auth-fix", ttl_minutes=1)
    packs.clock.turn(60)

    found = legend(packs.call("output", action="read", name="auth-fix"))

    assert (found["freshness_state"], found["ttl_remaining"]) == ("expired", "expired")
    assert packs.found(name="auth-fix")["title"] == "New"


@pytest.mark.req("CP-5")
def test_an_expired_pack_lives_again_only_while_its_name_is_free(packs_anywhere: Bench) -> None:
    old, new = _replaced(packs_anywhere)
    revival = document(name="auth-fix", ttl_minutes=5)

    refused = [
        packs_anywhere.refused("input", action="ttl", id=old["id"], ttl_minutes=5),
        packs_anywhere.refused("input", action="write", id=old["id"], expected_revision=1, document=revival),
        packs_anywhere.refused(
            "input", action="write", id=old["id"], expected_revision=1, validate_only=True, document=revival
        ),
    ]
    packs_anywhere.input("delete", id=new["id"])
    packs_anywhere.input("ttl", id=old["id"], ttl_minutes=5)

    assert [(each["code"], each["details"]["id"]) for each in refused] == [("conflict", new["id"])] * 3
    assert packs_anywhere.found(name="auth-fix")["id"] == old["id"]
    with pytest.raises(PackConflict):
        packs_anywhere.packs.write(document(name="auth-fix"))


def test_an_expired_pack_of_a_taken_name_can_be_changed_as_long_as_it_stays_expired(packs: Bench) -> None:
    old, _ = _replaced(packs)

    changed = packs.input("write", id=old["id"], expected_revision=1, document=document(section("scope")))

    assert (changed["revision"], changed["freshness_state"]) == (2, "expired")


def test_an_expired_pack_can_be_adopted_beside_the_one_that_has_its_name(packs: Bench) -> None:
    old, new = _replaced(packs)
    expired = packs.packs.get(pack_id=old["id"])
    packs.input("delete", id=old["id"])

    assert packs.packs.adopt(expired) == expired
    assert packs.found(name="auth-fix")["id"] == new["id"]


def test_the_claim_that_makes_a_name_unique_passes_from_the_expired_pack_to_the_new_one(packs_anywhere: Bench) -> None:
    old, new = _replaced(packs_anywhere)

    with packs_anywhere.store.reading() as connection:
        claims = {row.id: row.claim for row in connection.execute(text("SELECT id, claim FROM packs"))}

    assert claims == {old["id"]: None, new["id"]: "auth-fix"}


def test_an_expired_pack_that_cannot_be_read_holds_no_name(packs_anywhere: Bench) -> None:
    packs_anywhere.input("write", document=document(name="auth-fix", ttl_minutes=5))
    with packs_anywhere.store.writing() as connection:
        connection.execute(text("UPDATE packs SET body = '{}'"))
    packs_anywhere.clock.turn(5 * 60)

    assert packs_anywhere.input("write", document=document(name="auth-fix"))["revision"] == 1


@pytest.mark.req("CP-18")
def test_an_expired_pack_past_its_grace_period_is_not_there_to_be_deleted(packs: Bench) -> None:
    made = packs.input("write", document=document(name="auth-fix", ttl_minutes=5))
    packs.clock.turn(5 * 60 + 900)

    codes = [
        packs.refused("input", action="delete", **which)["code"] for which in ({"id": made["id"]}, {"name": "auth-fix"})
    ]

    assert codes == ["not_found", "not_found"]


@pytest.mark.req("CP-5")
def test_no_pack_can_be_extended_without_end(tmp_path) -> None:
    with bench(tmp_path) as packs:
        made = packs.input("write", document=document(ttl_minutes=2_628_000))

        error = packs.refused("input", action="ttl", id=made["id"], extend_minutes=1)

    assert (error["kind"], error["code"]) == ("validation", "invalid_data")
    assert error["details"]["allowed_minutes"] == 2_628_000
