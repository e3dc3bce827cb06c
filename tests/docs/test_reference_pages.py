"""The pages of the reference that are made from the code are current."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.reference_pages import __main__ as reference_pages
from checks.reference_pages.errors import find_errors
from checks.reference_pages.requirements import find_claims
from checks.reference_pages.tables import table
from checks.workspace import ROOT

PAGES = reference_pages.pages()
RENEW = "run `scripts/docs --renew`"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_made_from_the_code_is_current(name: str) -> None:
    assert reference_pages.is_current(name, PAGES[name]()), RENEW


def test_there_is_no_page_of_a_package_that_exports_nothing() -> None:
    written = {f"api/{path.name}" for path in (ROOT / "docs/reference/api").glob("*.md")}

    assert written == {name for name in PAGES if name.startswith("api/")}


@pytest.mark.req("CT-14", "D1-5k")
def test_the_code_of_a_wrong_output_is_among_the_error_codes() -> None:
    assert "| `toolbox.invalid-output` | output_validation | `InvalidOutput` |" in PAGES["errors.md"]()


def test_every_error_of_a_package_is_found_once_where_it_is_defined() -> None:
    names = {each.__name__ for each in find_errors("toolcrib_runtime")}

    assert "DeadlineExceeded" in names
    assert "InvalidArguments" not in names


def test_marks_are_read_from_decorators_and_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "@pytest.mark.req('AR-1.1', 'AR-1.2')\ndef test_a(): ...\n"
        "P = [pytest.param(1, marks=pytest.mark.fault('A1'))]\n@pytest.mark.slow\ndef test_b(): ...\n",
        "utf-8",
    )
    monkeypatch.setattr("checks.reference_pages.requirements.ROOT", tmp_path)

    assert find_claims(iter([file])) == {
        ("req", "AR-1.1"): {"test_x.py"},
        ("req", "AR-1.2"): {"test_x.py"},
        ("fault", "A1"): {"test_x.py"},
    }


def test_a_cell_of_a_table_stays_one_cell() -> None:
    assert table(("a", "b"), [("x|y", "one\ntwo `<z|w>`")]) == [
        "| a | b |",
        "|---|---|",
        "| x&#124;y | one two <code>&lt;z&#124;w&gt;</code> |",
    ]


def test_the_command_writes_what_is_not_current_and_then_has_nothing_to_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference_pages, "REFERENCE", tmp_path)
    monkeypatch.setattr(reference_pages, "pages", lambda: {"api/a.md": lambda: "text\n"})

    assert reference_pages.main(["--check"]) == 1
    assert reference_pages.main([]) == 0
    assert (tmp_path / "api/a.md").read_text("utf-8") == "text\n"
    assert reference_pages.main(["--check"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "not current: docs/reference/api/a.md",
        "written: docs/reference/api/a.md",
    ]
