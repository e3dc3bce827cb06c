"""The site of the documentation is built without a warning, and holds nothing that is loaded from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checks.workspace import ROOT

_LOADED_FROM_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//|<link\b[^>]*\bhref=\"?(?:https?:)?//|@import|"
    r"url\([\"']?(?:https?:)?//"
)


def _build(configuration: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(configuration), "-d", str(site)],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    run = _build(ROOT / "mkdocs.yml", tmp_path)

    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert tmp_path / "index.html" in pages
    assert [page.name for page in pages if _LOADED_FROM_ELSEWHERE.search(page.read_text("utf-8"))] == []
    assert 'id="toolcrib_core.ToolDefinition"' in (tmp_path / "reference/api/toolcrib_core.html").read_text("utf-8")


def test_a_page_that_no_menu_leads_to_and_a_broken_anchor_stop_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# Page\n\n[gone](#gone)\n", "utf-8")
    (tmp_path / "docs/lost.md").write_text("# Lost\n", "utf-8")
    own = (ROOT / "mkdocs.yml").read_text("utf-8")
    settings = own[own.index("validation:") : own.index("markdown_extensions:")]
    (tmp_path / "mkdocs.yml").write_text(f"site_name: x\nnav: [index.md]\n{settings}", "utf-8")

    run = _build(tmp_path / "mkdocs.yml", tmp_path / "site")

    assert run.returncode == 1
    assert "lost.md" in run.stderr
    assert "#gone" in run.stderr
