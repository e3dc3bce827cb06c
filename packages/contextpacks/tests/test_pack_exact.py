"""Export and import without loss: the same pack, the same bytes, and no digit that a reader cannot see."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pack_cases import START, Bench, bench, document, ref, section

from toolcrib_contextpacks import (
    ContextPacks,
    IdTaken,
    InvalidPack,
    Pack,
    PackNotFound,
    export_pack,
    import_pack,
    read_document,
)
from toolcrib_contextpacks.document import document_json

pytestmark = pytest.mark.req("CT-9")

MAX_BYTES = 512 * 1024
# Everything that a document may hold: no control characters but line ends and tabs, and no halves of characters.
_PROSE = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=30)
_WORDS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=3, max_size=20)
_KEYS = st.from_regex(r"[a-z0-9][a-z0-9_-]{1,20}", fullmatch=True)


@st.composite
def _documents(draw: st.DrawFn) -> dict[str, Any]:
    def lines() -> dict[str, int]:
        start = draw(st.integers(1, 50))
        return {"line_start": start, "line_end": start + draw(st.integers(0, 20))}

    def said(**texts: st.SearchStrategy[Any]) -> dict[str, Any]:
        return {name: value for name, each in texts.items() if (value := draw(st.none() | each)) is not None}

    def refs() -> list[dict[str, Any]]:
        keys = draw(st.lists(_KEYS, unique=True, max_size=3))
        return [
            {"key": key, "path": "src/auth.py", **lines(), **said(title=_PROSE, why=_PROSE, group=_PROSE)}
            for key in keys
        ]

    def diagrams() -> list[dict[str, Any]]:
        keys = draw(st.lists(_KEYS, unique=True, max_size=2))
        return [{"key": key, "title": draw(_WORDS), "mermaid": draw(_WORDS), **said(why=_PROSE)} for key in keys]

    sections = [
        {"key": key, "title": draw(_WORDS), **said(description=_PROSE), "refs": refs(), "diagrams": diagrams()}
        for key in draw(st.lists(_KEYS, unique=True, max_size=3))
    ]
    tags = draw(st.lists(_WORDS, unique=True, max_size=3))
    return {"sections": sections, "tags": tags, **said(name=_WORDS, title=_PROSE, brief=_PROSE)}


@pytest.fixture(scope="module")
def two_stores() -> Iterator[tuple[Bench, Bench]]:
    """Two databases in different places."""
    with ExitStack() as stack:
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        first, second = (stack.enter_context(bench(each)) for each in folders)
        yield first, second


@settings(max_examples=60, deadline=None)
@given(value=_documents(), seconds=st.floats(0, 1e9), minutes=st.integers(1, 2_628_000))
def test_export_import_and_export_give_the_same_bytes_and_the_same_pack(
    two_stores: tuple[Bench, Bench], value: dict[str, Any], seconds: float, minutes: int
) -> None:
    here, there = two_stores
    here.clock.turn(START + seconds - here.clock.now())
    there.clock.turn(START + seconds - there.clock.now())
    made = here.packs.write({**value, "ttl_minutes": minutes}).pack
    try:
        exported = export_pack(made)
        adopted = there.packs.adopt(import_pack(exported, max_bytes=MAX_BYTES))
        found = there.packs.get(pack_id=made.id)

        assert adopted == found == made == here.packs.get(pack_id=made.id)
        assert here.packs.adopt(import_pack(exported, max_bytes=MAX_BYTES)) == made
        assert export_pack(found) == export_pack(here.packs.get(pack_id=made.id)) == exported
        assert read_document(document_json(made.document)) == made.document
    finally:
        here.packs.delete(pack_id=made.id)
        there.packs.delete(pack_id=made.id)


@settings(max_examples=300, deadline=None)
@given(st.floats(0, 7e9))
def test_every_time_of_a_pack_is_the_time_that_its_export_says(seconds: float) -> None:
    pack = _pack(updated_at=seconds)

    assert import_pack(export_pack(pack), max_bytes=MAX_BYTES) == pack


def test_a_time_with_more_digits_than_an_export_shows_is_rounded_when_it_is_stored(packs_anywhere: Bench) -> None:
    packs_anywhere.clock.turn(0.123_456_789)
    made = packs_anywhere.packs.write(document(name="auth-fix")).pack

    again = packs_anywhere.packs.adopt(import_pack(export_pack(made), max_bytes=MAX_BYTES))

    assert again == made == packs_anywhere.packs.get(name="auth-fix")
    assert packs_anywhere.input("list")["count"] == 1
    assert made.created_at == made.updated_at == 1_800_000_000.123_457


@pytest.mark.req("CP-7")
def test_twins_whose_times_look_alike_are_ambiguous(packs_anywhere: Bench) -> None:
    packs_anywhere.clock.turn(0.000_000_4)
    made = packs_anywhere.packs.write(document(name="auth-fix")).pack
    exported = json.loads(export_pack(made))
    for twin in ("pk_aaaaaaaa", "pk_bbbbbbbb"):
        text = json.dumps(exported | {"id": twin})
        packs_anywhere.packs.adopt(import_pack(text, max_bytes=MAX_BYTES), shares_name=True)
    packs_anywhere.packs.delete(pack_id=made.id)

    error = packs_anywhere.refused("output", action="read", name="auth-fix")

    assert (error["kind"], error["code"]) == ("conflict", "ambiguous")
    assert error["details"]["candidate_ids"] == ["pk_aaaaaaaa", "pk_bbbbbbbb"]


def test_hashes_are_exported_in_one_order_whatever_order_they_were_made_in(packs: Bench) -> None:
    made = packs.packs.write(
        document(section("zulu", refs=[ref("zz"), ref("aa")]), section("alpha", refs=[ref()]))
    ).pack

    assert list(json.loads(export_pack(made))["ref_hashes"]) == ["alpha/check", "zulu/aa", "zulu/zz"]
    assert export_pack(packs.packs.get(pack_id=made.id)) == export_pack(made)


def test_what_is_not_the_same_pack_is_refused_with_what_to_do(packs: Bench) -> None:
    made = packs.packs.write(document(name="auth-fix")).pack

    with pytest.raises(IdTaken) as refused:
        packs.packs.adopt(replace(made, expires_at=made.expires_at + 60))

    assert refused.value.details == {"id": made.id}
    assert "Delete that pack first" in str(refused.value.hint)


def test_a_pack_that_is_past_its_grace_period_gives_way_to_its_own_export(packs: Bench) -> None:
    made = packs.packs.write(document(name="auth-fix", ttl_minutes=1)).pack
    packs.clock.turn(3600)

    with pytest.raises(PackNotFound):
        packs.packs.get(pack_id=made.id)
    renewed = packs.packs.renewed(made, ttl_minutes=5)
    assert packs.packs.adopt(renewed) == packs.packs.get(pack_id=made.id) == renewed


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"colour": "red"}, "unknown member `colour`"),
        ({"ref_hashes": {"findings/check": "z" * 64}}, "no hash"),
        ({"ref_hashes": {"findings/other": "a" * 64}}, "no reference"),
        ({"expires_at": "9999-01-01T00:00:00Z"}, "1970 and 2200"),
        ({"created_at": "1969-12-31T23:59:59Z"}, "1970 and 2200"),
        ({"document": {"sections": [], "ttl_minutes": 5}, "ref_hashes": {}}, "`expires_at` says"),
    ],
    ids=["member", "hash", "place", "late", "early", "ttl"],
)
def test_a_file_that_could_not_be_exported_again_as_it_is_is_refused(
    packs: Bench, change: dict[str, object], word: str
) -> None:
    exported = json.loads(export_pack(packs.packs.write(document()).pack))

    with pytest.raises(InvalidPack, match=re.escape(word)):
        import_pack(json.dumps(exported | change), max_bytes=MAX_BYTES)


def test_what_get_has_is_written_elsewhere_and_read_back_byte_by_byte(packs: Bench, tmp_path: Path) -> None:
    made = packs.input("write", document=document(name="auth-fix", tags=["ä"], brief="Zeile\nzwei"))
    first = packs.input("get", id=made["id"])["document"]

    with bench(tmp_path / "other") as other:
        copied = other.input("write", document=first)
        second = other.input("get", id=copied["id"])["document"]

    assert json.dumps(second) == json.dumps(first)


def _pack(**times: float) -> Pack:
    known = {"created_at": START, "updated_at": START, "expires_at": START, **times}
    return Pack(id="pk_aaaaaaaa", document=read_document({"sections": []}), revision=1, **known)


def test_two_programs_on_one_database_agree_on_every_time(packs: Bench) -> None:
    packs.clock.turn(0.7)
    made = packs.packs.write(document()).pack

    assert ContextPacks(packs.store).get(pack_id=made.id) == made
