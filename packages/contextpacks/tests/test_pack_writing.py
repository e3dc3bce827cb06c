"""Writing packs: full replacement, compare and set, validation without a trace."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pack_cases import Bench, document, ref, section
from sqlalchemy import text

from toolcrib_contextpacks import InvalidPack, PackSettings, RevisionConflict, read_document, settings_from

pytestmark = pytest.mark.req("CP-3")

EMPTY: dict[str, Any] = {"sections": []}
STATUSES = ["draft", "finalized"]
ACTIONS = ["list", "get", "write", "ttl", "delete"]


@pytest.mark.req("CP-1", "CP-17")
@pytest.mark.req("D2-1a", "D2-1h")
def test_a_write_without_a_name_makes_a_pack_that_can_be_read_back(packs_anywhere: Bench) -> None:
    sent = document(
        section("plan", None, refs=[ref(title="T", why="W", group="g")], diagrams=[_diagram()]),
        name="auth-fix",
        brief="Why.",
        tags=["a", "b"],
    )

    made = packs_anywhere.input("write", document=sent)
    found = packs_anywhere.found(id=made["id"])

    assert re.fullmatch(r"pk_[a-z2-7]{8}", made["id"])
    assert found == made
    assert found["sections"] == [{"diagrams": [_diagram()], **sent["sections"][0]}]
    assert [found[name] for name in ("name", "title", "brief", "tags", "status", "revision")] == [
        "auth-fix",
        "Token check",
        "Why.",
        ["a", "b"],
        "draft",
        1,
    ]
    assert found["created_at"] == found["updated_at"] == "2027-01-15T08:00:00Z"
    assert found["expires_at"] == "2027-01-16T08:00:00Z"


@pytest.mark.req("D2-1c")
def test_an_update_replaces_everything_and_counts_the_revision(packs_anywhere: Bench) -> None:
    made = packs_anywhere.input("write", document=document(name="auth-fix", brief="Gone soon.", tags=["t"]))
    packs_anywhere.clock.turn(60)

    packs_anywhere.input("write", id=made["id"], expected_revision=1, document={"sections": [section("next")]})
    found = packs_anywhere.input("get", name="auth-fix")

    assert (found["revision"], found["tags"], [each["key"] for each in found["sections"]]) == (2, [], ["next"])
    assert "title" not in found
    assert "brief" not in found
    assert found["updated_at"] == "2027-01-15T08:01:00Z"
    assert found["expires_at"] == made["expires_at"]


@pytest.mark.req("CT-26")
def test_what_get_gives_can_be_written_back_as_it_is(packs: Bench) -> None:
    made = packs.input("write", document=document(name="auth-fix", tags=["x"], status="finalized", ttl_minutes=10))
    found = packs.input("get", id=made["id"])

    again = packs.input("write", id=made["id"], expected_revision=1, document=found["document"])
    changed = {**found["document"], "brief": "More."}
    packs.input("write", id=made["id"], expected_revision=1, document=changed)

    assert again == made
    assert json.dumps(packs.input("get", id=made["id"])["document"]) == json.dumps(
        {"name": "auth-fix", "title": "Token check", "brief": "More.", **found["document"]}
    )


@pytest.mark.req("CP-12")
@pytest.mark.req("D2-1g", "D2-2g")
def test_an_update_without_the_expected_revision_says_what_it_needs(packs: Bench) -> None:
    made = packs.input("write", document=document())

    error = packs.refused("input", action="write", id=made["id"], document=document())

    assert (error["kind"], error["code"]) == ("validation", "invalid_data")
    assert error["details"]["required_fields"] == ["expected_revision"]


@pytest.mark.req("D2-1f", "D2-1h", "D2-2h")
def test_a_new_pack_with_an_expected_revision_is_refused(packs: Bench) -> None:
    error = packs.refused("input", action="write", expected_revision=1, document=document())

    assert error["details"]["required_fields"] == ["id|name"]
    assert error["details"]["mutually_interchangeable"] == ["id", "name"]


@pytest.mark.req("CP-13", "CP-12")
@pytest.mark.req("D2-7.62a", "D2-7.62b", "D2-7.62c", "D2-7.62d", "D2-7.62f")
def test_a_conflict_names_exactly_what_has_changed_since_the_revision_that_was_expected(packs_anywhere: Bench) -> None:
    parts = [section(key) for key in ("alpha", "beta", "gamma", "delta")]
    made = packs_anywhere.input("write", document=document(*parts))
    packs_anywhere.clock.turn(5)
    _replace(packs_anywhere, made["id"], 1, [section("alpha", "Other."), *parts[1:]])
    _replace(packs_anywhere, made["id"], 2, [section("alpha", "Other."), parts[1], parts[3], section("new")])

    late = packs_anywhere.refused(
        "input", action="write", id=made["id"], expected_revision=1, document=document(*parts)
    )
    later = packs_anywhere.refused(
        "input", action="write", id=made["id"], expected_revision=2, document=document(*parts)
    )

    assert (late["kind"], late["code"]) == ("conflict", "revision_conflict")
    guidance = late["details"].pop("guidance")
    assert "expected_revision=3" in guidance
    assert late["details"] == {
        "expected_revision": 1,
        "current_revision": 3,
        "actual_revision": 3,
        "last_updated_at": "2027-01-15T08:00:05Z",
        "changed_section_keys": ["alpha", "gamma", "new"],
        "changed_section_count": 3,
        "changed_sections_known": True,
    }
    assert later["details"]["changed_section_keys"] == ["gamma", "new"]


@pytest.mark.req("CP-13")
@pytest.mark.req("D2-7.62e")
def test_a_conflict_names_at_most_twelve_sections_and_says_when_it_does_not_know(packs: Bench) -> None:
    parts = [section(f"part-{number:02}") for number in range(30)]
    made = packs.input("write", document=document(*parts))
    _replace(packs, made["id"], 1, [section(each["key"], "Other.") for each in parts])

    known = packs.refused("input", action="ttl", id=made["id"], expected_revision=1, ttl_minutes=5)["details"]
    unknown = packs.refused("input", action="ttl", id=made["id"], expected_revision=77, ttl_minutes=5)["details"]

    assert known["changed_section_keys"] == [f"part-{number:02}" for number in range(12)]
    assert known["changed_section_count"] == 30
    assert not unknown["changed_sections_known"]


@pytest.mark.req("CP-13")
def test_only_a_short_history_is_kept(packs: Bench) -> None:
    made = packs.packs.write(document()).pack
    for revision in range(1, 41):
        packs.packs.write(document(), pack_id=made.id, expected_revision=revision)

    with packs.store.reading() as connection:
        kept = connection.scalar(text("SELECT count(*) FROM pack_history"))

    assert kept == 32
    with pytest.raises(RevisionConflict):
        packs.packs.write(document(), pack_id=made.id, expected_revision=1)


@pytest.mark.req("CP-4")
@pytest.mark.req("D2-1i", "D2-1j", "D2-1k")
def test_validate_only_keeps_nothing_and_checks_everything(packs: Bench) -> None:
    made = packs.input("write", document=document(name="taken"))

    fine = packs.input("write", validate_only=True, document=document(name="other"))
    update = packs.input(
        "write", id=made["id"], expected_revision=1, validate_only=True, document=document(section("x1"))
    )
    errors = [
        packs.refused("input", action="write", validate_only=True, document=document(name="taken")),
        packs.refused(
            "input", action="write", validate_only=True, document=document(section("s1"), status="finalized")
        ),
        packs.refused(
            "input", action="write", id=made["id"], expected_revision=9, validate_only=True, document=document()
        ),
    ]

    assert fine["validated_only"] is True
    assert "id" not in fine
    assert (update["validated_only"], update["revision"]) == (True, 2)
    assert [each["code"] for each in errors] == ["conflict", "finalize_validation", "revision_conflict"]
    assert packs.input("list")["count"] == 1
    assert packs.found(id=made["id"]) == made


@pytest.mark.req("CP-2", "CP-12")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"action": "write", "validate_only": "true", "document": EMPTY}, {"requested_field": "validate_only"}),
        ({"action": "list", "limit": "5"}, {"requested_field": "limit"}),
        ({"action": "list", "limit": -1}, {"requested_field": "limit"}),
        ({"action": "list", "offset": 1.5}, {"requested_field": "offset"}),
        ({"action": "list", "freshness": "rotten"}, {"allowed_freshness": ["fresh", "expiring_soon", "expired"]}),
        ({"action": "list", "statsu": "draft"}, {"unsupported_field": "statsu", "supported_field": "status"}),
        ({"action": "get", "id": "pk_abcd2345", "query": "x"}, {"allowed_actions": ["list"]}),
        ({"action": "get"}, {"required_fields": ["id|name"], "mutually_interchangeable": ["id", "name"]}),
        ({"action": "get", "id": "pk_abcd2345", "name": "n"}, {"mutually_interchangeable": ["id", "name"]}),
        ({"action": "get", "id": "abc"}, {"requested_field": "id"}),
        ({"action": "delete"}, {"required_fields": ["id|name"]}),
        ({"action": "write"}, {"required_fields": ["document"]}),
        ({"action": "write", "document": {}}, {"required_fields": ["document.sections"]}),
        ({"action": "write", "document": {"sections": [], "colour": 1}}, {"unsupported_field": "document.colour"}),
        (
            {"action": "write", "document": {"sections": [{"key": "ab", "title": "T", "refs": [{"kee": "x"}]}]}},
            {"unsupported_field": "document.sections.0.refs.0.kee"},
        ),
        ({"action": "write", "document": {"sections": [], "title": 5}}, {"requested_field": "document.title"}),
        ({"action": "write", "document": {"sections": [], "status": "done"}}, {"allowed_statuses": STATUSES}),
        ({}, {"required_fields": ["action"], "allowed_actions": ACTIONS}),
        ({"action": "wriet"}, {"requested_action": "wriet", "allowed_actions": ACTIONS}),
        ({"action": 5}, {"requested_field": "action"}),
    ],
)  # fmt: skip
@pytest.mark.req("D2-1b", "D2-1p", "D2-2a", "D2-2b", "D2-2c", "D2-2d", "D2-2e", "D2-2g", "D2-2h", "D2-2n")
def test_what_breaks_the_contract_is_an_error_that_says_what_is_allowed(
    packs: Bench, arguments: dict[str, Any], told: dict[str, Any]
) -> None:
    error = packs.refused("input", **arguments)

    assert (error["kind"], error["code"]) == ("validation", "invalid_data")
    assert told.items() <= error["details"].items()
    assert packs.input("list")["count"] == 0


@pytest.mark.req("CP-1", "CP-15")
@pytest.mark.parametrize(
    ("change", "word"),
    [
        (document(section("aa"), section("aa")), "duplicate section_key"),
        (document(section("aa", refs=[ref("rr"), ref("rr")])), "duplicate ref_key"),
        (document(section("aa", diagrams=[{"key": "dd", "title": "T", "mermaid": "x"}] * 2)), "duplicate diagram_key"),
        (document(section("aa", refs=[ref(path="/etc/passwd")])), "absolute"),
        (document(section("aa", refs=[ref(path="C:\\x")])), "absolute"),
        (document(section("aa", refs=[ref(path="a/../../b")])), "`..`"),
        (document(section("aa", refs=[ref(path="a\\..\\b")])), "`..`"),
        (document(section("aa", refs=[ref(path="a\nb")])), "line end"),
        (document(section("aa", refs=[ref(path="  ")])), "is empty"),
        (document(section("aa", refs=[ref(lines=(5, 4))])), "before `line_start`"),
        (document(section("aa", refs=[ref(lines=(1, 2001))])), "2,000 lines"),
        (document(section("Not A Key")), "pattern"),
        (document(section("k" * 65)), "64"),
        (document(name="pk_abcd2345"), "looks like an id"),
        (document(name="  a  "), "too short"),
        (document(name="a\nb c"), "line end"),
        (document(title="nul \x00"), "control character"),
        (document(section("aa", "half \ud83d")), "document"),
    ],
)
def test_a_document_that_makes_no_sense_is_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidPack, match=re.escape(word)):
        read_document(change)


@pytest.mark.req("CP-18")
@pytest.mark.fault("G10")
def test_a_document_that_is_too_large_is_refused_with_the_limit(packs: Bench) -> None:
    big = document(*(section(f"s{number}", "x" * 60_000) for number in range(10)))
    huge = document(section("aa", "x" * 50_000_000))

    error = packs.refused("input", action="write", document=big)
    enormous = packs.refused("input", action="write", document=huge)

    assert error["details"]["allowed_bytes"] == 512 * 1024
    assert "too large" in error["message"]
    assert enormous["code"] == "invalid_data"
    assert packs.input("list")["count"] == 0


@pytest.mark.req("CP-18")
def test_a_document_just_below_the_limit_is_taken(packs: Bench) -> None:
    large = document(*(section(f"s{number}", "x" * 65_000) for number in range(8)))

    assert packs.input("write", document=large)["revision"] == 1


@pytest.mark.fault("G10")
@pytest.mark.parametrize(
    "given", [b"\xff\xfe{}", b"\x00\x01\x02", b'{"sections": [', '["a"]', '{"sections": [], "sections": []}']
)
def test_what_is_no_json_object_is_refused(given: str | bytes) -> None:
    with pytest.raises(InvalidPack):
        read_document(given)


@pytest.mark.req("CP-17", "CT-26")
def test_a_name_is_unique_until_the_pack_expires(packs_anywhere: Bench) -> None:
    made = packs_anywhere.input("write", document=document(name="auth-fix", ttl_minutes=10))

    error = packs_anywhere.refused("input", action="write", document=document(name="auth-fix"))
    packs_anywhere.clock.turn(10 * 60 - 1)
    late = packs_anywhere.refused("input", action="write", document=document(name="auth-fix"))
    packs_anywhere.clock.turn(1)
    again = packs_anywhere.input("write", document=document(name="auth-fix"))

    assert (error["kind"], error["code"], error["details"]["id"]) == ("conflict", "conflict", made["id"])
    assert late["code"] == "conflict"
    assert again["id"] != made["id"]


def test_the_name_of_a_pack_cannot_be_changed(packs: Bench) -> None:
    made = packs.input("write", document=document(name="auth-fix"))

    error = packs.refused("input", action="write", id=made["id"], expected_revision=1, document=document(name="other"))

    assert error["details"]["requested_field"] == "document.name"


def test_an_id_that_is_taken_is_not_given_twice(packs: Bench) -> None:
    ids = iter(["pk_aaaaaaaa", "pk_aaaaaaaa", "pk_bbbbbbbb"])
    packs.packs._new_id = lambda: next(ids)

    made = [packs.packs.write(document()).pack.id for _ in range(2)]

    assert made == ["pk_aaaaaaaa", "pk_bbbbbbbb"]


def test_giving_up_on_a_free_id_is_an_error(packs: Bench) -> None:
    packs.packs._new_id = lambda: "pk_aaaaaaaa"
    packs.packs.write(document())

    error = packs.refused("input", action="write", document=document())

    assert error["code"] == "io_error"


@pytest.mark.req("CP-18", "CT-26")
def test_a_pack_is_deleted_by_id_or_by_name_and_only_in_the_revision_that_was_expected(packs_anywhere: Bench) -> None:
    one = packs_anywhere.input("write", document=document(name="one"))
    packs_anywhere.input("write", document=document(name="two"))

    guarded = packs_anywhere.refused("input", action="delete", id=one["id"], expected_revision=2)
    gone = [
        packs_anywhere.input("delete", id=one["id"], expected_revision=1),
        packs_anywhere.input("delete", name="two"),
    ]
    by_id = packs_anywhere.refused("input", action="delete", id=one["id"])
    by_name = packs_anywhere.refused("input", action="delete", name="two")

    assert guarded["code"] == "revision_conflict"
    assert [each["deleted"] for each in gone] == [True, True]
    assert gone[0]["id"] == one["id"]
    assert (by_id["kind"], by_id["code"]) == (by_name["kind"], by_name["code"]) == ("not_found", "not_found")
    assert by_id["details"] == {"id": one["id"]}
    assert by_name["details"] == {"name": "two"}
    assert packs_anywhere.input("list")["packs"] == []


@pytest.mark.req("D2-1t")
def test_settings_come_from_the_environment_and_a_wrong_one_is_never_passed_over(tmp_path) -> None:
    (tmp_path / "tree").mkdir()
    environ = {"CONTEXT_PACK_SOURCE_ROOT": "tree", "CONTEXT_PACK_EXPIRED_GRACE_SECONDS": "0"}

    found = settings_from(environ, directory=tmp_path)

    assert found == PackSettings(source_root=tmp_path / "tree", grace_seconds=0)
    assert settings_from({}, directory=tmp_path).source_root == tmp_path
    for name, wrong in (("SOURCE_ROOT", "nowhere"), ("MAX_PACK_BYTES", "-1"), ("MAX_SOURCE_BYTES", "0")):
        with pytest.raises(InvalidPack, match=name):
            settings_from({f"CONTEXT_PACK_{name}": wrong}, directory=tmp_path)


def _replace(packs: Bench, pack_id: str, revision: int, sections: list[dict[str, Any]]) -> None:
    packs.input("write", id=pack_id, expected_revision=revision, document=document(*sections))


def _diagram() -> dict[str, str]:
    return {"key": "flow", "title": "Flow", "mermaid": "graph TD; A-->B", "why": "How."}
