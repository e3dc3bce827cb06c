"""No file of the repository names a package index, a path of somebody's machine, or where it was written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks.workspace import ROOT
from tests.repository_files import repository_files

LONGEST_MODULE = 400
NAMES_THAT_SAY_NOTHING = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}

# Everything else is started through the guards. The worker holds the type of what was started, and starts nothing; the
# editor is the user's own.
STARTS_PROGRAMS = {"start.py", "sandbox.py", "process_worker.py", "changing.py"}

# Put together here, so that this file does not hold what it looks for.
_HOSTS = ("pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "anaconda" + ".org")
_FOLDERS = ("home", "root", "tmp", "Users", "work")
_WORDS = ("work" + "place", "co-authored" + "-by", "generated " + "with")
_LEAKS = {
    "a package index": re.compile("|".join(map(re.escape, _HOSTS)), re.IGNORECASE),
    "a machine's path": re.compile(rf"(?<![\w.*~}})\]-])/(?:{'|'.join(_FOLDERS)})/[\w.]+/?\w"),
    "this checkout": re.compile(re.escape(str(ROOT)) + r"\b"),
    "where it was written": re.compile("|".join(map(re.escape, _WORDS)), re.IGNORECASE),
}

_SUPPRESSION = re.compile(r"# (?:ruff: )?(?:noqa|type: ignore|pragma: no)\b")
_WITH_RULE_AND_REASON = re.compile(
    r"# (?:(?:ruff: )?noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\]|pragma: no (?:cover|branch))  # \S"
)


def _leaks(text: str) -> list[str]:
    return [f"{what}: {found[0]}" for what, pattern in _LEAKS.items() if (found := pattern.search(text))]


def _code_files() -> list[Path]:
    return [path for path in repository_files() if path.suffix == ".py" and "tests" not in path.parts]


def test_no_file_names_an_index_a_machine_or_where_it_was_written() -> None:
    found = {
        str(path.relative_to(ROOT)): leaks
        for path in repository_files()
        if (leaks := _leaks(path.read_text(encoding="utf-8", errors="ignore")))
    }

    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        f"source = https://{_HOSTS[0]}/simple",
        f"https://files.{_HOSTS[1]}/packages/x.whl",
        f"see /{_FOLDERS[0]}/somebody/project",
        f'path = "/{_FOLDERS[1]}/.cache/x"',
        f"-e file:///{_FOLDERS[4]}/main/packages/core",
        str(ROOT),
    ],
)
def test_what_must_not_be_in_a_file_is_found(text: str) -> None:
    assert _leaks(f"one line\n{text}\nanother") != []


@pytest.mark.parametrize("text", ["docs/work/page.md", "#/properties/home", "https://example.com/home/page", "tmp/x"])
def test_a_relative_path_and_a_pointer_are_no_leak(text: str) -> None:
    assert _leaks(text) == []


def test_uv_lock_is_ignored_and_requirements_lock_is_not() -> None:
    names = {path.name for path in repository_files()}

    assert "uv.lock" not in names
    assert "requirements.lock" in names


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in _code_files()}

    assert {name: length for name, length in lengths.items() if length > LONGEST_MODULE} == {}


def test_programs_are_started_in_the_modules_that_are_known_for_it() -> None:
    starting = re.compile(r"^\s*(?:import|from) (?:subprocess|pty|multiprocessing)\b", re.MULTILINE)
    found = {path.name for path in _code_files() if "src" in path.parts and starting.search(path.read_text("utf-8"))}

    assert found == STARTS_PROGRAMS


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {path.stem.strip("_") for path in repository_files() if path.suffix == ".py"}

    assert names & NAMES_THAT_SAY_NOTHING == set()


def _bare_suppressions(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if _SUPPRESSION.search(line)]
    return [line for line in lines if not _WITH_RULE_AND_REASON.search(line)]


def test_whatever_is_suppressed_is_named_with_its_reason() -> None:
    found = {str(path.relative_to(ROOT)): _bare_suppressions(path.read_text("utf-8")) for path in _code_files()}

    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("word", ["noqa", "noqa: S105", "type: ignore", "type: ignore[misc]", "pragma: no cover"])
def test_a_suppression_without_a_rule_or_a_reason_is_found(word: str) -> None:
    assert _bare_suppressions(f"token = 1  # {word}") != []
    assert _bare_suppressions("token = 1  # noqa: S105  # no secret: a number") == []
