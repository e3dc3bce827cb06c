"""Finalizing: all that is missing at once, and nothing that changes a finalized pack by accident."""

from __future__ import annotations

from typing import Any

import pytest
from pack_cases import Bench, document, ref, section

from toolcrib_contextpacks import PackStateRefused, read_document
from toolcrib_contextpacks.finalize import verdict_of

pytestmark = pytest.mark.req("CP-14")


@pytest.mark.req("D2-3a", "D2-3c", "D2-3h")
@pytest.mark.parametrize("key", ["scope", "findings", "qa"])
def test_each_required_section_is_missed(packs: Bench, key: str) -> None:
    texts = {"scope": "All.", "findings": "Some.", "qa": "verdict: pass"}
    rest = [section(each, text) for each, text in texts.items() if each != key]

    error = packs.refused("input", action="write", document=document(*rest, status="finalized"))

    assert (error["code"], error["details"]["missing_sections"]) == ("finalize_validation", [key])


@pytest.mark.req("D2-3b", "D2-3d", "D2-3i")
@pytest.mark.parametrize("key", ["scope", "findings"])
def test_a_description_a_reference_or_a_diagram_is_substance_and_a_title_is_none(packs: Bench, key: str) -> None:
    other = section("findings" if key == "scope" else "scope")
    diagram = {"key": "flow", "title": "Flow", "mermaid": "graph TD; A-->B"}

    def finalize(part: dict[str, Any], call: Any) -> Any:
        return call(document=document(other, part, section("qa", "verdict: pass"), status="finalized"))

    for part in (section(key, "Text."), section(key, None, refs=[ref()]), section(key, None, diagrams=[diagram])):
        made = finalize(part, lambda **given: packs.input("write", **given))
        assert made["status"] == "finalized"
    for part in (section(key, None), section(key, " \n")):
        error = finalize(part, lambda **given: packs.refused("input", action="write", **given))
        assert error["details"]["missing_fields"] == [f"{key}.content"]


def test_a_pack_that_is_ready_is_finalized_when_it_is_made_or_later(packs: Bench) -> None:
    at_once = packs.input("write", document=document(status="finalized"))
    draft = packs.input("write", document=document())

    later = packs.input("write", id=draft["id"], expected_revision=1, document=document(status="finalized"))

    assert (at_once["status"], later["status"]) == ("finalized", "finalized")


@pytest.mark.fault("G5")
@pytest.mark.req("D2-3c", "D2-3e", "D2-3f", "D2-3g", "D2-3h", "D2-3i", "D2-3j", "D2-7.60a", "D2-7.60b", "D2-7.60c")
def test_everything_that_is_missing_is_told_at_once(packs: Bench) -> None:
    unready = document(
        section("scope", "   "),
        section("qa", "There is no verdict yet."),
        section("extra", refs=[ref("gone", path="src/none.py"), ref("beyond", lines=(39, 41)), ref("fine")]),
        status="finalized",
    )

    error = packs.refused("input", action="write", document=unready)

    assert (error["kind"], error["code"]) == ("invalid_state", "finalize_validation")
    assert error["details"]["missing_sections"] == ["findings"]
    assert error["details"]["missing_fields"] == ["scope.content", "qa.verdict"]
    assert [(each["section_key"], each["ref_key"]) for each in error["details"]["invalid_refs"]] == [
        ("extra", "gone"),
        ("extra", "beyond"),
    ]
    assert error["details"]["invalid_refs"][1] == {
        "section_key": "extra",
        "ref_key": "beyond",
        "path": "src/auth.py",
        "line_start": 39,
        "line_end": 41,
        "reason": "the file has 40 lines, and the reference goes to line 41",
    }
    assert packs.input("list")["count"] == 0


@pytest.mark.req("D2-3k")
def test_a_draft_may_lack_all_of_that(packs: Bench) -> None:
    made = packs.input("write", document=document(section("notes", refs=[ref("gone", path="src/none.py")])))

    assert made["status"] == "draft"
    assert made["stale_refs"] == ["notes/gone"]


@pytest.mark.req("CT-26")
@pytest.mark.parametrize("said", ["verdict: pending", "verdict_other: two words", "verdict_other: deferred", "none"])
def test_no_verdict_is_refused_in_a_draft(packs: Bench, said: str) -> None:
    assert packs.input("write", document=document(section("qa", said)))["status"] == "draft"


@pytest.mark.req("CT-26")
def test_any_word_under_verdict_other_finalizes_and_an_unknown_verdict_says_how(packs: Bench) -> None:
    ready = (section("scope"), section("findings"))

    unknown = packs.refused(
        "input", action="write", document=document(*ready, section("qa", "verdict: deferred"), status="finalized")
    )
    other = packs.input(
        "write", document=document(*ready, section("qa", "verdict_other: deferred"), status="finalized")
    )

    assert unknown["message"] == "The pack is not ready to be finalized: `qa` states no known verdict."
    assert unknown["details"]["missing_fields"] == ["qa.verdict"]
    assert "pass" in unknown["details"]["allowed_verdicts"]
    assert other["status"] == "finalized"
    assert "verdict=deferred" in packs.call("output", action="read", id=other["id"])


@pytest.mark.req("CT-26")
@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("verdict: pass", "pass"),
        ("All good.\n\n**Verdict**: FAIL\n", "fail"),
        ("- verdict = blocked, see below", "blocked"),
        ("> Verdict: `partial`", "partial"),
        ("no verdict yet", None),
        ("verdict: pending", None),
        ("the verdict: pass is what we hope for", None),
        ("verdict: passing", None),
        ("verdict_other: deferred", "deferred"),
        ("**Verdict_other**: `Needs-Rework`, see below", "needs-rework"),
        ("- verdict_other = später", "später"),
        ("verdict_other: deferred\nverdict: fail", "fail"),
        ("verdict: pending\nverdict_other: pending", "pending"),
        ("verdict_other: not done", None),
        ("verdict_other: ok, freshness_state=fresh", "ok"),
        ("verdict_other:\nwhatever", None),
        ("verdict_other: ?", None),
        ("verdict_other: 7", None),
        ("verdicts differ", None),
        ("", None),
    ],
)
def test_a_verdict_is_stated_not_mentioned(said: str, verdict: str | None) -> None:
    assert verdict_of(read_document(document(section("qa", said)))) == verdict


def test_a_verdict_may_stand_in_a_title_or_a_reason_of_the_section() -> None:
    texts = [
        section("qa", None, refs=[ref(why="verdict: pass")]),
        section("qa", None, diagrams=[{"key": "dd", "title": "verdict: fail", "mermaid": "x"}]),
    ]

    assert [verdict_of(read_document(document(each))) for each in texts] == ["pass", "fail"]
    assert verdict_of(read_document(document(section("other", "verdict: pass")))) is None


@pytest.mark.fault("G5")
@pytest.mark.req("D2-3l")
def test_a_finalized_pack_is_changed_only_by_saying_what_it_is_to_be(packs_anywhere: Bench) -> None:
    made = packs_anywhere.input("write", document=document(status="finalized"))

    silent = packs_anywhere.refused("input", action="write", id=made["id"], expected_revision=1, document=document())
    unready = packs_anywhere.refused(
        "input",
        action="write",
        id=made["id"],
        expected_revision=1,
        document=document(section("scope"), status="finalized"),
    )
    after = packs_anywhere.found(id=made["id"])
    reopened = packs_anywhere.input(
        "write", id=made["id"], expected_revision=1, document=document(section("scope"), status="draft")
    )

    assert (silent["kind"], silent["code"]) == ("invalid_state", "invalid_state")
    assert silent["details"]["required_fields"] == ["document.status"]
    assert unready["code"] == "finalize_validation"
    assert after == made
    assert (reopened["status"], reopened["revision"]) == ("draft", 2)


@pytest.mark.fault("G5")
def test_finalizing_twice_changes_nothing(packs: Bench) -> None:
    made = packs.input("write", document=document(status="finalized"))

    again = packs.input("write", id=made["id"], expected_revision=1, document=document(status="finalized"))
    other = packs.input(
        "write", id=made["id"], expected_revision=1, document=document(status="finalized", brief="More.")
    )

    assert again == made
    assert other["revision"] == 2


def test_finalizing_and_reopening_keep_the_document(packs: Bench) -> None:
    made = packs.packs.write(document(name="auth-fix")).pack

    finalized = packs.packs.set_status("finalized", name="auth-fix").pack
    again = packs.packs.set_status("finalized", name="auth-fix").pack
    reopened = packs.packs.set_status("draft", pack_id=made.id, expected_revision=2).pack

    assert (finalized.status, finalized.revision) == ("finalized", 2)
    assert again == finalized
    assert (reopened.status, reopened.revision) == ("draft", 3)
    assert reopened.document.sections == made.document.sections


def test_a_read_may_insist_on_a_status(packs: Bench) -> None:
    made = packs.packs.write(document()).pack

    with pytest.raises(PackStateRefused, match="'draft', expected 'finalized'"):
        packs.packs.read(pack_id=made.id, status="finalized")
    assert packs.packs.read(pack_id=made.id, status="draft").text
