"""Pages of a pack: no gaps, no repeats, and tokens that are good for one request only."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pack_cases import CODE, Bench, document, legend, ref, section

from toolcrib_contextpacks import ContextPacks, InvalidPack, PackSettings
from toolcrib_contextpacks.profiles import PROFILES
from toolcrib_contextpacks.render import LEFT_OUT

pytestmark = [pytest.mark.req("CP-9"), pytest.mark.fault("G2")]


@pytest.mark.req("D2-5a", "D2-5b", "D2-5k")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_pages_visit_every_chunk_once_whatever_the_limit_and_the_start(packs: Bench, data: st.DataObject) -> None:
    parts = []
    for number in range(data.draw(st.integers(1, 8))):
        refs = [ref(f"r{each}") for each in range(data.draw(st.integers(0, 4)))]
        length = data.draw(st.sampled_from([0, 10, 3_000, 60_000]))
        parts.append(section(f"part-{number}", "word " * (length // 5), refs=refs))
    pack = packs.packs.write(document(*parts)).pack
    profile = data.draw(st.sampled_from(list(PROFILES)))
    limit = data.draw(st.none() | st.integers(1, 9))
    start = data.draw(st.integers(0, 3))

    page = packs.packs.read(pack_id=pack.id, profile=profile, limit=limit, offset=start)
    seen = [page]
    while page.next_page_token is not None:
        page = packs.packs.read(pack_id=pack.id, page_token=page.next_page_token)
        seen.append(page)

    ids = [each for page in seen for each in page.chunk_ids]
    total = int(legend(seen[0].text)["chunks_total"])
    assert len(ids) == len(set(ids)) == max(0, total - start)
    assert [legend(each.text)["has_more"] for each in seen] == ["true"] * (len(seen) - 1) + ["false"]
    assert legend(seen[-1].text)["next_page_token"] == "null"


@pytest.mark.req("D2-5b", "D2-5i", "D2-6d")
def test_a_token_goes_on_with_the_request_it_was_made_for(packs: Bench) -> None:
    made = packs.input("write", document=_long())

    first = packs.call("output", action="read", id=made["id"], profile="reviewer", limit=2, contains="part")
    token = legend(first)["next_page_token"]
    just_the_id = packs.call("output", action="read", id=made["id"], page_token=token)
    the_same = packs.call(
        "output", action="read", id=made["id"], profile="reviewer", limit=2, contains="part", page_token=token
    )

    assert just_the_id == the_same
    found = legend(just_the_id)
    assert (found["profile"], found["offset"], found["limit"], found["contains"]) == ("reviewer", "2", "2", "part")


def test_a_token_used_twice_gives_the_same_page(packs: Bench) -> None:
    made = packs.input("write", document=_long())
    token = legend(packs.call("output", action="read", id=made["id"]))["next_page_token"]

    assert len({packs.call("output", action="read", id=made["id"], page_token=token) for _ in range(2)}) == 1


@pytest.mark.req("D2-5d", "D2-5e")
def test_a_token_is_refused_after_any_change_of_pack_revision_or_request(packs: Bench) -> None:
    made, other = (packs.input("write", document=_long()) for _ in range(2))
    token = legend(packs.call("output", action="read", id=made["id"], contains="part"))["next_page_token"]
    tried = [
        {"id": other["id"]},
        {"id": made["id"], "profile": "reviewer"},
        {"id": made["id"], "limit": 3},
        {"id": made["id"], "contains": "other"},
        {"id": made["id"], "status": "draft"},
        {"id": made["id"], "offset": 6},
    ]

    errors = [packs.refused("output", action="read", page_token=token, **each) for each in tried]
    packs.input("ttl", id=made["id"], ttl_minutes=30)
    assert packs.call("output", action="read", id=made["id"], page_token=token)
    packs.input("write", id=made["id"], expected_revision=1, document=_long())
    errors.append(packs.refused("output", action="read", id=made["id"], page_token=token))

    for error in errors:
        assert (error["kind"], error["code"]) == ("validation", "invalid_data")
        assert "invalid_page_token" in error["message"]
    assert "changed since" in errors[-1]["message"]


@pytest.mark.req("D2-5f")
def test_a_token_that_somebody_made_up_or_edited_is_refused(packs: Bench) -> None:
    made = packs.input("write", document=_long())
    token = legend(packs.call("output", action="read", id=made["id"]))["next_page_token"]
    version, body, mac = token.split(".")
    forged = base64.urlsafe_b64encode(json.dumps([1, 0, "reviewer", None, None, None, ""]).encode()).decode()
    made_up = [
        "<page_token>",
        "v1",
        f"v2.{body}.{mac}",
        f"{version}.{body}.{mac[:-1]}",
        f"{version}.{body}x.{mac}",
        f"{version}.{forged.rstrip('=')}.{mac}",
        f"{token} ",
        "x.y.z",
        "ü.ü.ü",
        "v1:7b7d",
        "A" * 1_999,
    ]

    for each in made_up:
        error = packs.refused("output", action="read", id=made["id"], page_token=each)
        assert "invalid_page_token" in error["message"]
    assert packs.refused("output", action="read", id=made["id"], page_token="A" * 10_000)["code"] == "invalid_data"


def test_a_token_is_refused_when_the_source_tree_has_changed_which_chunks_match(packs: Bench) -> None:
    refs = [ref(f"r{number}", lines=(number, number)) for number in range(1, 9)]
    made = packs.input("write", document=document(section("findings", None, refs=refs)))
    first = packs.call("output", action="read", id=made["id"], contains=": line", limit=2, profile="reviewer")
    token = legend(first)["next_page_token"]
    (packs.root / "src/auth.py").write_text(CODE.replace("line 1\n", "row 1\n"), encoding="utf-8")

    error = packs.refused("output", action="read", id=made["id"], page_token=token)

    assert "invalid_page_token" in error["message"]
    assert "source tree" in error["message"]


@pytest.mark.req("CP-17")
def test_every_process_on_one_database_takes_the_tokens_of_the_others(packs: Bench) -> None:
    made = packs.input("write", document=_long())
    token = legend(packs.call("output", action="read", id=made["id"]))["next_page_token"]
    other = ContextPacks(packs.store, settings=PackSettings(source_root=packs.root))

    assert other.read(pack_id=made["id"], page_token=token).chunk_ids


def test_an_offset_past_the_end_is_an_empty_page(packs: Bench) -> None:
    made = packs.input("write", document=_long())

    found = legend(packs.call("output", action="read", id=made["id"], offset=1_000))

    assert (found["chunks_returned"], found["has_more"]) == ("0", "false")


def test_a_limit_of_nothing_is_refused(packs: Bench) -> None:
    assert packs.refused("output", action="read", id="pk_abcd2345", limit=0)["details"]["requested_field"] == "limit"


@pytest.mark.req("D2-1.read.m", "D2-6f")
@pytest.mark.req("CP-10")
def test_contains_looks_into_what_a_chunk_shows_whatever_the_case(packs: Bench) -> None:
    made = packs.input("write", document=_searchable())

    for profile in PROFILES:
        assert _found(packs, made["id"], "LOOK HERE", profile) == ["findings#ref#check"]
        assert _found(packs, made["id"], "straße", profile) == ["scope#section"]
        assert _found(packs, made["id"], "SRC/AUTH", profile) == ["findings#ref#check", "findings#ref#other"]
        assert _found(packs, made["id"], "a map of", profile) == ["maps#diagram#flow"]
    text = packs.call("output", action="read", id=made["id"], contains="nowhere at all")
    assert "_No chunks matched current filters._" in text
    assert legend(text)["contains"] == "nowhere at all"


@pytest.mark.req("D2-1.read.m")
@pytest.mark.req("CT-13")
def test_contains_finds_code_diagrams_and_long_texts_only_where_they_are_shown(packs: Bench) -> None:
    made = packs.input("write", document=_searchable())

    for text, chunk in (("line 9", "findings#ref#other"), ("needle", "maps#diagram#flow"), ("the end", "long#section")):
        assert _found(packs, made["id"], text, "reviewer") == [chunk]
        for profile in ("orchestrator", "executor"):
            assert _found(packs, made["id"], text, profile) == []
            page = packs.call("output", action="read", id=made["id"], contains=text, profile=profile)
            assert f"_No chunks matched current filters._\n\nThis profile leaves out {LEFT_OUT}.\n" in page
    assert _found(packs, made["id"], "halfway", "executor") == ["long#section"]
    assert _found(packs, made["id"], "halfway", "orchestrator") == []


@pytest.mark.req("CT-13")
def test_contains_finds_the_first_chunk_below_a_heading(packs: Bench) -> None:
    made = packs.input("write", document=_searchable())

    for profile in PROFILES:
        assert _found(packs, made["id"], "cartography", profile) == ["maps#diagram#flow"]
        assert _found(packs, made["id"], "group: slow", profile) == ["findings#ref#other"]


@pytest.mark.req("CT-13")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profile=st.sampled_from(list(PROFILES)), data=st.data())
def test_every_chunk_that_contains_finds_shows_the_text(packs: Bench, profile: str, data: st.DataObject) -> None:
    pack = packs.packs.write(_searchable()).pack
    source = " ".join(packs.packs.read(pack_id=pack.id, profile="reviewer").text.split("[CONTENT]")[1].split())
    start = data.draw(st.integers(0, len(source) - 2))
    wanted = source[start : start + data.draw(st.integers(1, 12))].strip() or "x"

    for offset in range(len(_found(packs, pack.id, wanted, profile))):
        page = packs.packs.read(pack_id=pack.id, profile=profile, contains=wanted, limit=1, offset=offset).text
        chunk = page.split("[CONTENT]\n\n")[1].rpartition("- deep_nav_hints:")[2].partition("## ")[2]

        assert wanted.casefold() in f"## {chunk}".casefold()


def test_the_library_refuses_a_token_too(packs: Bench) -> None:
    made = packs.packs.write(document()).pack

    with pytest.raises(InvalidPack, match="invalid_page_token"):
        packs.packs.read(pack_id=made.id, page_token="v1.x.y")


def _long() -> dict[str, object]:
    return document(*(section(f"part-{number}") for number in range(20)))


def _searchable() -> dict[str, object]:
    """A document with texts that every profile shows, and others that only a reviewer sees."""
    flow = {"key": "flow", "title": "Flow", "why": "A map of it.", "mermaid": "graph TD; Needle-->B"}
    long = f"Begins. {'word ' * 300} halfway {'word ' * 600} the end"
    return document(
        section("scope", "Mentions STRASSE."),
        section("findings", None, refs=[ref(why="Look here"), ref("other", lines=(9, 9), group="slow")]),
        {"key": "maps", "title": "Cartography", "diagrams": [flow]},
        section("long", long),
    )


def _found(packs: Bench, pack_id: str, text: str, profile: str) -> list[str]:
    """The ids of the chunks that have the text in them."""
    page = packs.packs.read(pack_id=pack_id, contains=text, profile=profile)
    return sorted(page.chunk_ids)
