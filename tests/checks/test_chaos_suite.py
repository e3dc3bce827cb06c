"""The chaos runs count what they say they count, and find what is lost, left behind or let out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from checks import canary, chaos_suite, reliability_page
from checks.chaos_outcome import ChaosOutcome, Kills, count_cases, kills_told, render_line, with_what_was_kept
from checks.chaos_suite import ChaosRun
from checks.workspace import ROOT

CASES = [
    {"rows": ["A1", "A2"], "outcome": "passed", "processes": 1, "said": ""},
    {"rows": ["A1"], "outcome": "failed", "processes": 0, "said": "kill -9 x 7: {'lost': 3, 'answered': 40}"},
    {"rows": ["A2"], "outcome": "skipped", "processes": 0, "said": ""},
    {"rows": [], "outcome": "passed", "processes": 0, "said": "kill -9 x 5: {'answered': 9}; good {'answered': 800}"},
    {"rows": [], "outcome": "passed", "processes": 0, "said": "kill -9 x 1: {}"},
]


def test_cases_are_counted_once_and_under_each_of_their_rows() -> None:
    total, rows = count_cases(CASES)

    assert total == {"passed": 1, "failed": 1, "skipped": 1}
    assert rows == {"A1": {"passed": 1, "failed": 1}, "A2": {"passed": 1, "skipped": 1}}


def test_kills_are_those_that_tests_tell_of_and_a_test_that_failed_lost_something() -> None:
    assert kills_told(CASES) == Kills(rounds=13, acknowledged=49, lost=1)


def test_the_line_says_everything_or_that_it_was_not_run() -> None:
    total, rows = count_cases(CASES)
    outcome = ChaosOutcome(
        rows=rows,
        cases=total,
        kills=Kills(rounds=400, acknowledged=1_234),
        started=1_900,
        leaked=0,
        canary_hits=0,
        searched_bytes=48_200_000,
    )

    assert render_line(outcome) == (
        "faults: 2 rows, 2 cases, 1 survived · kill -9: 400 rounds, 1,234 acknowledged, 0 lost, 0 corrupt"
        " · processes: 0 leaked of 1,900 · canary: 0 hits in 48 MB"
    )
    assert render_line(ChaosOutcome()) == (
        "faults: not run · kill -9: not run · processes: unknown leaked of 0 · canary: not run"
    )


def test_a_planted_secret_is_found_in_any_file_and_across_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canary, "_BLOCK", 16)
    secret = canary.new_canary()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "pages.db").write_bytes(b"x" * 11 + secret.encode() + b"y" * 100)
    (tmp_path / "clean.log").write_text("nothing")
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "pages.db")
    os.mkfifo(tmp_path / "pipe")

    found = canary.search(tmp_path, secret)

    assert found.hits == ("deep/pages.db",)
    assert found.searched_bytes == 111 + len(secret) + 7


def test_a_file_that_cannot_be_read_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> tuple[bool, int]:
        raise PermissionError

    (tmp_path / "closed").touch()
    monkeypatch.setattr(canary, "_look", refuse)

    assert canary.search(tmp_path, "x") == canary.Search()


def test_the_search_says_where_the_secret_of_the_environment_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "leak.db").write_text("…hush…", "utf-8")
    (tmp_path / "fine.log").write_text("nothing", "utf-8")
    places = [str(tmp_path / "kept"), str(tmp_path / "fine.log")]

    found = canary.main(places, {canary.VARIABLE: "hush"})
    clean = canary.main(places[1:], {canary.VARIABLE: "hush"})

    assert (found, clean) == (1, 0)
    assert capsys.readouterr().out == "canary: 1 hits in 0 MB\n  leak.db\ncanary: 0 hits in 0 MB\n"


@pytest.fixture
def run_python() -> Callable[[str], Any]:
    """Runs lines of Python with the modules of the scripts, and reads what they print as JSON."""

    def run(source: str) -> Any:
        paths = f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"
        command = [sys.executable, "-c", textwrap.dedent(source)]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True, timeout=120
        )
        return json.loads(done.stdout)

    return run


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to look for survivors")
def test_a_process_that_left_its_session_and_lost_its_parent_is_found_and_ended(
    run_python: Callable[[str], Any],
) -> None:
    found = run_python(
        """
        import json, subprocess, sys
        from checks.descendants import adopt_orphans, descendants, end_descendants
        adopted = adopt_orphans()
        inner = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)"
        subprocess.run([sys.executable, "-c", inner], check=True)
        left = end_descendants(patience=0.5)
        print(json.dumps([adopted, list(left.values()), len(descendants()), len(end_descendants(patience=0))]))
        """
    )

    assert found == [True, ["sleep 1000"], 0, 0]


PLANTED = """
import os, subprocess, sys
import pytest

@pytest.mark.fault("A1", "A2")
@pytest.mark.parametrize("number", [1, 2])
def test_one(number):
    subprocess.run([sys.executable, "-c", ""], check=True)
    print("kill -9 x 3: {'answered': 5}")

@pytest.mark.fault("A3")
def test_two():
    assert not os.environ.get("CHAOS_FAILS")

@pytest.mark.fault("A3")
def test_three():
    pytest.skip("not here")

def test_four():
    assert False
"""


def _chaos_run(folder: Path, **variables: str) -> ChaosRun:
    paths = f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"
    return ChaosRun(folder, {**os.environ, "PYTHONPATH": paths, **variables}, seed=3, rounds=2)


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Tests of the matrix that stand for all of them."""
    file = tmp_path / "planted" / "test_planted.py"
    file.parent.mkdir()
    file.write_text(PLANTED, "utf-8")
    return file


@pytest.mark.slow
def test_the_tests_of_the_matrix_are_run_and_counted_with_their_processes(tmp_path: Path, planted: Path) -> None:
    outcome = _chaos_run(tmp_path).faults(ChaosOutcome(), [str(planted)])

    assert outcome.rows == {"A1": {"passed": 2}, "A2": {"passed": 2}, "A3": {"passed": 1, "skipped": 1}}
    assert outcome.cases == {"passed": 3, "skipped": 1}
    assert outcome.kills == Kills(rounds=6, acknowledged=10)
    assert outcome.started == 2
    assert outcome.problems == ()


@pytest.mark.slow
def test_a_case_that_fails_and_a_run_that_does_not_begin_are_problems(tmp_path: Path, planted: Path) -> None:
    failing = _chaos_run(tmp_path, CHAOS_FAILS="1").faults(ChaosOutcome(), [str(planted)])
    (tmp_path / "cases.json").unlink()
    none = _chaos_run(tmp_path).faults(ChaosOutcome(), ["--no-such-option"])

    assert [each.rpartition("::")[2] for each in failing.problems] == ["test_two"]
    assert none.problems == ("the tests of the matrix did not run (exit 4)",)


@pytest.fixture
def printing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., ChaosRun]:
    """A run whose programs do nothing but print."""

    def make(code: int, printed: object) -> ChaosRun:
        text = printed if isinstance(printed, str) else json.dumps(printed)
        monkeypatch.setattr(ChaosRun, "_run", lambda *_, **__: (code, text))
        return ChaosRun(Path(), {}, seed=1, rounds=20)

    return make


def test_writers_are_killed_on_every_database_that_is_here(
    printing: Callable[..., ChaosRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = printing(0, {"acknowledged": 50, "unfinished": 3, "lost": ["7-1"], "problems": ["page 3"]})
    monkeypatch.setattr(chaos_suite, "_has_postgresql", lambda: True)

    outcome = run.kills(ChaosOutcome())

    assert outcome.kills == Kills(rounds=40, acknowledged=100, lost=2, corrupt=2)
    assert outcome.started == 40
    assert outcome.problems == ("kill -9: 7-1", "kill -9: page 3") * 2


def test_a_part_that_is_not_judged_is_a_problem(
    printing: Callable[..., ChaosRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = printing(1, "")
    monkeypatch.setattr(chaos_suite, "_has_postgresql", lambda: False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())

    assert run.kills(ChaosOutcome()).problems == ("the writers were not judged (exit 1)",)
    assert run.soak(ChaosOutcome(), 1).problems == ("the soak was not judged (exit 1)",)
    assert run.fuzz(ChaosOutcome()).problems == ("fuzzing the loader of packs ended with 1",)


def test_fuzzing_is_left_out_where_there_is_no_fuzzer(
    printing: Callable[..., ChaosRun], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    assert printing(1, "").fuzz(ChaosOutcome()) == ChaosOutcome()
    assert "`atheris` is not installed" in capsys.readouterr().err


def test_the_soak_brings_its_line_and_its_problems(printing: Callable[..., ChaosRun]) -> None:
    run = printing(1, {"line": "soak: fine", "started": 9, "problems": ["memory grew"]})

    outcome = run.soak(ChaosOutcome(started=1), 1)

    assert (outcome.soak, outcome.started, outcome.problems) == ("soak: fine", 10, ("soak: memory grew",))


def test_one_line_comes_last_and_what_is_wrong_comes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def everything(self: ChaosRun, options: Any) -> ChaosOutcome:
        asked.append((options.only, options.soak))
        (self._folder / "leak.log").write_text(self._environment[canary.VARIABLE])
        return ChaosOutcome(soak="soak: fine")

    monkeypatch.setattr(ChaosRun, "everything", everything)
    monkeypatch.setattr(chaos_suite, "adopt_orphans", lambda: True)
    monkeypatch.setattr(chaos_suite, "end_descendants", lambda **_: {7: "sleep 1000"})
    monkeypatch.setattr(chaos_suite, "OUTCOME", tmp_path / "outcome.json")
    monkeypatch.setattr(chaos_suite, "write_page", lambda: None)

    code = chaos_suite.main(["--seed", "5", "--soak", "--write"])

    out, err = capsys.readouterr()
    assert code == 1
    assert out.splitlines()[0] == "soak: fine"
    assert out.splitlines()[1].endswith("processes: 1 leaked of 0 · canary: 1 hits in 0 MB")
    assert "-- seed 5" in err
    assert "PROBLEM: the canary is in leak.log\nPROBLEM: still alive: 7 sleep 1000" in err
    assert asked == [(["faults", "kills", "fuzz", "soak"], 30.0)]
    kept = reliability_page.read_outcome(tmp_path / "outcome.json")
    assert kept is not None
    assert (kept.leaked, kept.canary_hits, kept.soak) == (1, 1, "soak: fine")


def test_what_a_run_leaves_out_stays_as_it_was_kept() -> None:
    kept = ChaosOutcome(leaked=0, soak="soak: before", problems=("soak: memory grew", "failed: a"))
    faults, soaked = ChaosOutcome(leaked=2), ChaosOutcome(soak="soak: now", problems=("soak: swapped",))

    assert with_what_was_kept(faults, None, parts=["faults"]) == faults
    assert with_what_was_kept(faults, kept, parts=["faults", "kills"]) == ChaosOutcome(leaked=2, soak="soak: before")
    assert with_what_was_kept(soaked, kept, parts=["faults", "soak"]) == soaked
    assert with_what_was_kept(soaked, kept, parts=["soak"]) == ChaosOutcome(
        leaked=0, soak="soak: now", problems=("failed: a", "soak: swapped")
    )


def test_only_the_parts_that_are_asked_for_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run: list[str] = []

    def noted(part: str) -> Callable[..., ChaosOutcome]:
        def act(_: ChaosRun, outcome: ChaosOutcome, *__: object) -> ChaosOutcome:
            run.append(part)
            return outcome

        return act

    for part in chaos_suite.PARTS:
        monkeypatch.setattr(ChaosRun, part, noted(part))
    monkeypatch.setattr(chaos_suite, "adopt_orphans", lambda: False)
    monkeypatch.setattr(chaos_suite, "end_descendants", lambda **_: {})

    assert chaos_suite.main([]) == 0
    assert chaos_suite.main(["--only", "soak"]) == 0
    assert run == ["faults", "kills", "fuzz", "soak"]


def test_an_outcome_that_was_kept_is_read_as_it_was(tmp_path: Path) -> None:
    outcome = ChaosOutcome(rows={"A1": {"passed": 3}}, kills=Kills(rounds=1), problems=("one",))
    file = tmp_path / "outcome.json"
    file.write_text(json.dumps(asdict(outcome)), "utf-8")

    assert reliability_page.read_outcome(file) == outcome
    assert reliability_page.read_outcome(tmp_path / "none") is None
