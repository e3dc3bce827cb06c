"""The scripts say which step failed, never swallow a failure, and run where only an old `python3` is in the way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from checks.workspace import ROOT

SCRIPTS = sorted(path.name for path in (ROOT / "scripts").iterdir() if path.is_file() and "." not in path.name)
UV_VERSION = re.search(r"UV_VERSION=(\S+)", (ROOT / "scripts/_env.sh").read_text("utf-8"))[1]  # type: ignore[index]
SUMMARY = "3 passed in 0.01s"

# Stands for every tool: fails when its command line holds $FAIL, and speaks like uv and pytest where they are read.
_TOOL = f"""#!/bin/bash
line="${{0##*/}} $*"
case "$line" in *"$FAIL"*) status=1 ;; *) status=0 ;; esac
case "$line" in uv\\ --version) echo "uv {UV_VERSION} (here)"; exit 0 ;; *pytest*) echo "{SUMMARY}" ;; esac
exit $status
"""
_SYSTEM = ("bash", "cat", "cut", "dirname", "env", "rm", "sed", "tail", "tee")


def _write_tool(path: Path, text: str = _TOOL) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The real scripts over tools that only pretend, and a PATH that holds nothing else."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts", ignore=shutil.ignore_patterns("checks"))
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    for name in ("python", "ruff", "mypy", "lint-imports"):
        _write_tool(tmp_path / ".venv/bin" / name)
    _write_tool(tmp_path / "path/uv")
    for name in _SYSTEM:
        found = shutil.which(name)
        assert found is not None
        (tmp_path / "path" / name).symlink_to(found)
    (tmp_path / "requirements.lock").touch()
    return tmp_path


def _run(checkout: Path, *command: str, fail: str = "(nothing)") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(checkout / "path"), "FAIL": fail, "HOME": str(checkout), "CI": "true"}
    return subprocess.run(
        ["bash", *command], cwd=checkout, env=environment, check=False, capture_output=True, text=True
    )


@pytest.mark.req("AR-9.5")
def test_ci_passes_when_every_step_does_and_ends_with_the_summary_of_pytest(checkout: Path) -> None:
    run = _run(checkout, ".ci/run")

    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == SUMMARY
    assert "FAILED" not in run.stderr


_FEW_FAIL = """#!/bin/bash
case "$*" in
  *--last-failed*) echo "again $AGAIN"; echo "1 passed in 0.01s"; exit $AGAIN ;;
  *pytest*) echo "$FAILED failed, 3 passed in 0.01s"; exit 1 ;;
esac
"""


@pytest.mark.req("AR-9.5")
@pytest.mark.parametrize(("failed", "again", "code"), [(3, 0, 0), (3, 1, 1), (4, 0, 1), (14, 0, 1)])
def test_few_tests_that_fail_are_run_again_alone_and_what_is_broken_fails_again(
    checkout: Path, failed: int, again: int, code: int
) -> None:
    stub = _FEW_FAIL.replace("$FAILED", str(failed)).replace("$AGAIN", str(again))
    _write_tool(checkout / ".venv/bin/python", stub)

    run = _run(checkout, ".ci/run")

    assert run.returncode == code, run.stderr
    assert ("run again, alone" in run.stderr) is (failed <= 3)
    assert ("FAILED: tests" in run.stderr) is (code == 1)


@pytest.mark.req("AR-9.5")
@pytest.mark.parametrize(
    ("tool", "step"),
    [
        ("checks.lockfile --check", "lock"),
        ("ruff format --check", "format"),
        ("ruff check", "lint"),
        ("mypy", "types"),
        ("lint-imports", "import contracts"),
        ("checks.declared_dependencies", "declared dependencies"),
        ("checks.dead_code", "dead code"),
        ("checks.requirement_table --check", "requirements"),
        ("checks.real_servers", "real parts"),
        ("pytest", "tests"),
        ("checks.coverage_baseline", "coverage"),
    ],
)
def test_ci_fails_and_names_the_step_when_one_fails(checkout: Path, tool: str, step: str) -> None:
    run = _run(checkout, ".ci/run", fail=tool)

    assert run.returncode == 1
    assert f"FAILED: {step};" in run.stderr
    assert run.stdout.splitlines()[-1] == SUMMARY


def test_nothing_runs_when_the_environment_cannot_be_prepared(checkout: Path) -> None:
    run = _run(checkout, "scripts/test", fail="uv sync")

    assert run.returncode == 1
    assert "uv could not prepare .venv" in run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize("tool", ["ruff format", "ruff check", "mypy", "lint-imports", "pytest"])
def test_the_inner_loop_stops_at_the_first_failure(checkout: Path, tool: str) -> None:
    assert _run(checkout, "scripts/check").returncode == 0
    assert _run(checkout, "scripts/check", fail=tool).returncode == 1


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_explains_itself_without_setting_anything_up(checkout: Path, script: str) -> None:
    (checkout / "path/uv").unlink()

    run = _run(checkout, f"scripts/{script}", "--help")

    assert run.returncode == 0
    assert run.stdout.startswith(f"usage: scripts/{script}")


@pytest.mark.parametrize("script", [*(f"scripts/{name}" for name in SCRIPTS), ".ci/run"])
def test_a_script_can_be_executed(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)


def test_an_old_python_is_passed_over_for_a_newer_one(checkout: Path) -> None:
    _write_tool(checkout / "path/python3", "#!/bin/bash\nexit 1\n")
    _write_tool(checkout / "path/python3.12", '#!/bin/bash\ncase "$*" in *executable*) echo newer ;; esac\n')

    run = _run(checkout, "-c", "source scripts/_env.sh && find_python")

    assert run.stdout == "newer\n"


def test_without_a_new_enough_python_the_error_says_what_to_install(checkout: Path) -> None:
    (checkout / "path/uv").unlink()

    run = _run(checkout, "scripts/test")

    assert run.returncode == 1
    assert run.stderr == "error: no Python >= 3.11 on PATH; install one and run this again\n"
