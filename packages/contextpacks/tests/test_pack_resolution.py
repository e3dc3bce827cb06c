"""Which pack a name means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pack_cases import START, Bench, document, legend

from toolcrib_contextpacks import Pack, PackConflict, PackNotFound, read_document

pytestmark = pytest.mark.req("CP-7")


def _adopt(packs: Bench, pack_id: str, *, status: Any = "draft", updated: float = 0, revision: int = 1) -> None:
    read = read_document(document(name="shared", status=status))
    pack = Pack(
        id=pack_id,
        document=read,
        revision=revision,
        created_at=START,
        updated_at=START + updated,
        expires_at=START + 9_000,
    )
    packs.packs.adopt(pack, shares_name=True)


def _selected(packs: Bench) -> tuple[str, str, str, str]:
    found = legend(packs.call("output", action="read", name="shared"))
    return found["id"], found["selected_by"], found["selected_revision"], found["selected_status"]


@pytest.mark.req("D2-1x", "D2-7.59a")
@pytest.mark.req("D2-1.read.h", "D2-5h")
def test_a_finalized_pack_comes_before_a_later_draft(packs_anywhere: Bench) -> None:
    _adopt(packs_anywhere, "pk_aaaaaaaa", status="finalized")
    _adopt(packs_anywhere, "pk_bbbbbbbb", updated=50, revision=9)

    assert _selected(packs_anywhere) == (
        "pk_aaaaaaaa",
        "name_latest_finalized_updated_at_then_revision",
        "1",
        "finalized",
    )


@pytest.mark.req("D2-1y", "D2-1z", "D2-7.59a")
def test_within_a_status_the_latest_comes_first_then_the_highest_revision(packs: Bench) -> None:
    _adopt(packs, "pk_aaaaaaaa", revision=7)
    _adopt(packs, "pk_bbbbbbbb", updated=5, revision=2)
    _adopt(packs, "pk_cccccccc", updated=5, revision=3)

    assert _selected(packs) == ("pk_cccccccc", "name_latest_draft_updated_at_then_revision", "3", "draft")


@pytest.mark.req("D2-1za", "D2-7.59b")
def test_a_tie_is_ambiguous_and_names_the_candidates_of_the_tie_alone(packs_anywhere: Bench) -> None:
    _adopt(packs_anywhere, "pk_bbbbbbbb", updated=5)
    _adopt(packs_anywhere, "pk_aaaaaaaa", updated=5)
    _adopt(packs_anywhere, "pk_cccccccc", updated=4)

    error = packs_anywhere.refused("output", action="read", name="shared")

    assert (error["kind"], error["code"]) == ("conflict", "ambiguous")
    assert error["details"]["candidate_ids"] == ["pk_aaaaaaaa", "pk_bbbbbbbb"]


@pytest.mark.req("D2-5g")
def test_an_id_is_an_id_wherever_it_is_given(packs: Bench) -> None:
    _adopt(packs, "pk_aaaaaaaa")

    by_id = legend(packs.call("output", action="read", id="pk_aaaaaaaa"))
    by_name = legend(packs.call("output", action="read", name=" pk_aaaaaaaa "))

    assert by_id["selected_by"] == by_name["selected_by"] == "exact_id"
    assert packs.refused("output", action="read", id="pk_zzzzzzzz")["code"] == "not_found"
    assert packs.refused("output", action="read", name="nobody")["code"] == "not_found"


def test_a_copy_from_elsewhere_takes_no_name_and_no_id_unless_it_is_the_very_same(packs: Bench) -> None:
    _adopt(packs, "pk_aaaaaaaa")
    there = packs.packs.get(pack_id="pk_aaaaaaaa")

    assert packs.packs.adopt(there) == there
    with pytest.raises(PackConflict, match="has the name `shared`"):
        packs.packs.adopt(replace(there, id="pk_bbbbbbbb"))
    with pytest.raises(PackConflict, match="has the id"):
        packs.packs.adopt(replace(there, revision=2), shares_name=True)


def test_a_name_is_free_again_when_the_first_that_had_it_is_gone(packs: Bench) -> None:
    _adopt(packs, "pk_aaaaaaaa")
    packs.input("delete", name="shared")

    with pytest.raises(PackNotFound):
        packs.packs.get(name="shared")
    assert packs.input("write", document=document(name="shared"))["revision"] == 1
