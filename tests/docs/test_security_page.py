"""What `SECURITY.md` says is proved by tests that are there, and what is not promised stands there plainly."""

from __future__ import annotations

import re
from typing import Final

import pytest

from checks.workspace import ROOT
from tests.repository_files import repository_files

PAGE: Final = (ROOT / "SECURITY.md").read_text("utf-8")
RISKS: Final = (*(f"MCP{number:02}" for number in range(1, 11)), "LLM06", "LLM10")


def _part(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n", maxsplit=1)[1].split("\n## ", maxsplit=1)[0]


def _row(risk: str) -> list[str]:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {risk} ")]
    return [cell.strip() for cell in row.strip("|").split("|")]


@pytest.mark.parametrize(
    "heading", ["Reporting", "Trust assumptions", "Boundaries that are kept", "In scope", "Out of scope"]
)
def test_the_page_says_what_is_assumed_kept_and_in_scope(heading: str) -> None:
    assert len(_part(heading).strip().splitlines()) >= 2


@pytest.mark.parametrize("risk", RISKS)
def test_every_risk_has_an_answer_and_tests_that_are_there(risk: str) -> None:
    _, answer, proofs = _row(risk)
    named = re.findall(r"`(test_\w+\.py)`", proofs)

    assert answer
    assert named
    texts = {path.name: path.read_text("utf-8") for path in repository_files() if path.name in named}
    assert sorted(texts) == sorted(set(named))
    assert all("def test_" in text for text in texts.values())


def test_no_other_risk_is_listed() -> None:
    assert tuple(re.findall(r"^\| ((?:MCP|LLM)\d\d) ", PAGE, re.MULTILINE)) == RISKS


@pytest.mark.parametrize(
    "said",
    [
        "does not detect prompt injection in general",
        "A tool may abuse what it was granted",
        "Without Landlock or namespaces, a program that is started can read what its user can read",
    ],
)
def test_what_is_not_promised_is_said_plainly(said: str) -> None:
    assert said in _part("What is not promised")
