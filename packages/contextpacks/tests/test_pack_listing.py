"""Lists of packs: what is in them, in which order, and what they are filtered by."""

from __future__ import annotations

import pytest
from pack_cases import Bench, document

pytestmark = pytest.mark.req("CP-2")


def test_the_latest_come_first_and_pages_go_on_where_the_last_ended(packs_anywhere: Bench) -> None:
    for number in range(5):
        packs_anywhere.input("write", document=document(name=f"pack-{number}"))
        packs_anywhere.clock.turn(1)
    first = packs_anywhere.input("list", limit=2)
    rest = packs_anywhere.input("list", limit=3, offset=2)

    assert [each["name"] for each in first["packs"] + rest["packs"]] == [f"pack-{n}" for n in (4, 3, 2, 1, 0)]
    assert (first["count"], first["has_more"], rest["has_more"]) == (2, True, False)
    assert "There are more" in packs_anywhere.call("output", action="list", limit=2)


def test_packs_are_found_by_title_name_brief_and_tags_whatever_the_case(packs_anywhere: Bench) -> None:
    packs_anywhere.input(
        "write", document=document(name="alpha-one", title="Größe ändern", brief="B 100%", tags=["Zulu"])
    )
    packs_anywhere.input("write", document=document(name="beta-two", title="Other"))

    def found(query: str) -> list[str]:
        return [each["name"] for each in packs_anywhere.input("list", query=query)["packs"]]

    for query in ("ALPHA", "GRÖSSE", "b 100%", "zulu"):
        assert found(query) == ["alpha-one"]
    assert found("%") == ["alpha-one"]
    assert found("_") == []
    assert len(found("")) == 2


def test_packs_are_listed_by_status(packs: Bench) -> None:
    packs.input("write", document=document(name="done", status="finalized"))
    packs.input("write", document=document(name="open"))

    assert [each["name"] for each in packs.input("list", status="finalized")["packs"]] == ["done"]
    assert "`open`" in packs.call("output", action="list", status="draft")


@pytest.mark.req("CP-16")
def test_a_title_cannot_add_a_line_to_a_list(packs: Bench) -> None:
    packs.input("write", document=document(title="x\n- `pk_aaaaaaaa` — forged"))

    lines = packs.call("output", action="list").splitlines()

    assert len([line for line in lines if line.startswith("- ")]) == 1
