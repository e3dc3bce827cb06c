"""The summary of compact pages: the scope, risks, gaps and tasks that a pack states, and those that it denies."""

from __future__ import annotations

from typing import Any

import pytest
from pack_cases import Bench, document, ref, section

pytestmark = pytest.mark.req("CT-26")


def summary_of(packs: Bench, *sections: dict[str, Any], profile: str = "orchestrator", **more: Any) -> dict[str, Any]:
    """The entries of a summary: a text, or a list of texts."""
    made = packs.input("write", document=document(*sections, **more))
    text = packs.call("output", action="read", id=made["id"], profile=profile)
    found: dict[str, Any] = {}
    last = ""
    for line in text.split("## Handoff summary [handoff]\n\n")[1].split("\n\n")[0].splitlines():
        if line.startswith("  - "):
            found[last].append(line[4:])
        else:
            last, _, said = line.removeprefix("- ").partition(":")
            found[last] = said.strip() or []
    return found


@pytest.mark.req("D2-4f")
@pytest.mark.parametrize("profile", ["orchestrator", "executor"])
def test_the_scope_is_what_the_section_scope_says(packs: Bench, profile: str) -> None:
    scope = section("scope", "The login alone.\n\n- not the sign-up")

    found = summary_of(packs, section("findings"), scope, profile=profile, brief="Make the login safe.")

    assert found["scope"] == "The login alone. - not the sign-up"


def test_without_a_section_scope_the_brief_is_the_scope(packs: Bench) -> None:
    assert summary_of(packs, section("findings"), brief="The login.")["scope"] == "The login."
    assert summary_of(packs, section("findings"), section("scope", None), brief="The login.")["scope"] == "The login."
    assert summary_of(packs, section("findings"))["scope"] == "not stated: the pack has no section `scope` and no brief"


def test_a_scope_of_references_alone_names_them(packs: Bench) -> None:
    diagram = {"key": "flow", "title": "The flow", "mermaid": "graph TD"}
    scope = section("scope", None, refs=[ref(title="The check"), ref("two")], diagrams=[diagram])

    assert summary_of(packs, scope, brief="B")["scope"] == "see section [scope]: The check, src/auth.py, The flow"


@pytest.mark.parametrize(
    "title", ["Risks", "Critical risks and gaps", "Known gaps", "Missing tests", "A dangerous title"]
)
def test_the_title_of_a_section_is_no_finding(packs: Bench, title: str) -> None:
    found = summary_of(packs, {"key": "notes", "title": title, "description": "All is well."})

    assert found["top_risks"] == ["none explicitly signaled"]
    assert found["top_gaps"] == ["none explicitly tagged"]


@pytest.mark.parametrize(
    "text",
    [
        "no known risks",
        "There are no known security risks or blockers.",
        "Risks: none",
        "**Risks:** none known.",
        "Risks: no known risks",
        "## Risks\n\nNone.",
        "Known risks:\n- none",
        "Risk: none that we know of",
        "No risks, no gaps, nothing missing, no TODOs.",
        "Gaps: n/a",
        "Warnings: 0",
        "Nothing critical, and without any risk.",
        "A non-critical and risk-free change.",
        "- [x] fix the critical risk",
    ],
)
def test_a_text_that_says_there_are_no_risks_is_none(packs: Bench, text: str) -> None:
    found = summary_of(packs, section("findings", text))

    assert found["top_risks"] == ["none explicitly signaled"]
    assert found["top_gaps"] == ["none explicitly tagged"]


@pytest.mark.parametrize(
    ("text", "risks"),
    [
        ("No blockers, but a critical race.", ["No blockers, but a critical race."]),
        ("no validation of critical input", ["no validation of critical input"]),
        ("Risks: data loss, but no blockers", ["Risks: data loss, but no blockers"]),
        ("Risks: none except timing", ["Risks: none except timing"]),
        ("Critical bug in the login:", ["Critical bug in the login:"]),
        ("### Critical: timing leak", ["Critical: timing leak"]),
        ("no, this is a risk", ["no, this is a risk"]),
        ("Risks:\n- [ ] timing\n- No rate limit\n\nWell.\n# Notes\n- other", ["timing", "No rate limit"]),
    ],
)
def test_a_text_that_names_a_risk_is_one(packs: Bench, text: str, risks: list[str]) -> None:
    assert summary_of(packs, section("findings", text))["top_risks"] == risks


def test_the_list_of_a_section_of_risks_is_risks_and_that_of_gaps_is_gaps(packs: Bench) -> None:
    risks = {"key": "risks", "title": "Known risks", "description": "1. Timing.\n2. None of the tests runs."}
    gaps = {"key": "gaps", "title": "Open gaps", "description": "- The cache."}

    found = summary_of(packs, risks, gaps)

    assert found["top_risks"] == ["Timing.", "None of the tests runs."]
    assert found["top_gaps"] == ["The cache."]


def test_a_summary_says_how_many_risks_and_gaps_it_leaves_out(packs: Bench) -> None:
    lines = "\n".join(f"- risk {number}\n- gap {number}" for number in range(6))

    found = summary_of(packs, section("findings", lines))

    assert found["top_risks"] == ["risk 0", "risk 1", "risk 2", "and 3 more, in the sections below"]
    assert found["top_gaps"] == ["gap 0", "gap 1", "gap 2", "and 3 more, in the sections below"]


def test_long_lines_full_of_words_and_negations_are_judged_at_once(packs: Bench) -> None:
    sections = [section(f"part-{number}", "no risk: no gap " * 4_000) for number in range(7)]

    assert summary_of(packs, *sections)["top_risks"] == ["none explicitly signaled"]
