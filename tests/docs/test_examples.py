"""Every example runs alone, and prints what it says it prints."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from checks.workspace import ROOT

EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if "__main__" in path.read_text("utf-8"))
# They need a vendor: the tests of their adapters run them against a server on this machine.
VENDORS = {"anthropic_tools.py", "claude_agent_tools.py", "gemini_tools.py", "openai_tools.py"}
SERVERS = {"notes_server.py"}  # they wait for a client, as the examples that start them show
_SAYS = "It prints:\n"


def _run(path: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    return subprocess.run(
        [sys.executable, str(path)],
        cwd=ROOT,
        env=os.environ | kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "example", [each for each in EXAMPLES if each.name not in SERVERS | VENDORS], ids=lambda path: path.stem
)
def test_an_example_runs_alone_and_prints_what_it_says(example: Path, tmp_path: Path) -> None:
    run = _run(example, tmp_path)

    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    said = ast.get_docstring(ast.parse(example.read_text("utf-8"))) or ""
    if _SAYS in said:
        assert run.stdout == textwrap.dedent(said.partition(_SAYS)[2]) + "\n"


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.name in SERVERS], ids=lambda path: path.stem)
def test_an_example_that_serves_ends_with_its_client(example: Path, tmp_path: Path) -> None:
    assert _run(example, tmp_path).returncode == 0


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.name in VENDORS], ids=lambda path: path.stem)
def test_an_example_that_needs_a_question_and_a_key_says_so(example: Path, tmp_path: Path) -> None:
    run = _run(example, tmp_path)

    assert run.returncode == 1
    assert run.stderr.startswith("usage: ")
    assert len(run.stderr.splitlines()) == 1


def test_every_example_is_listed() -> None:
    listed = (ROOT / "examples/README.md").read_text("utf-8")

    assert [path.name for path in EXAMPLES if path.name not in listed] == []
