"""Every link within the repository leads somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.workspace import ROOT
from tests.docs.markdown_links import broken_links, heading_anchors

DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/**/*.md")})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_links_of_a_document_lead_somewhere(document: Path) -> None:
    assert broken_links(document) == []


def test_a_heading_has_the_anchor_that_sites_give_it() -> None:
    assert heading_anchors("# Time, and taking calls back\n\n## `toolcrib.http`\n") == {
        "time-and-taking-calls-back",
        "toolcribhttp",
    }


def test_a_link_to_a_missing_file_or_heading_is_found_and_one_to_another_host_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# There\n", "utf-8")
    document = tmp_path / "page.md"
    document.write_text(
        "[a](other.md) [b](other.md#there) [c](other.md#nowhere) [d](missing.md) [e](#here) "
        "[f](https://example.com/x)\n\n| t |\n|---|\n| [g](gone.md) |\n",
        "utf-8",
    )

    assert broken_links(document) == ["other.md#nowhere", "missing.md", "#here", "gone.md"]
