"""Every fault, every kill and the soak in one run: what survived, what was lost, leaked or let out."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from checks import canary
from checks.chaos_outcome import ChaosOutcome, Kills, count_cases, kills_told, render_line, with_what_was_kept
from checks.descendants import adopt_orphans, end_descendants
from checks.reliability_page import OUTCOME, read_outcome, write_page
from checks.workspace import ROOT

PARTS: Final = ("faults", "kills", "fuzz", "soak")
_ROUNDS: Final = 200
_SOAK_MINUTES: Final = 30.0
_FUZZ_SECONDS: Final = 60
_PATIENCE: Final = 10.0
_SHOWN: Final = 20


def main(arguments: list[str] | None = None) -> int:
    """Run the parts that are asked for, print the line, and maybe write; 1 when anything is wrong."""
    options = _options(arguments)
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"-- seed {seed}; --seed {seed} repeats the choices of this run", file=sys.stderr, flush=True)
    watched = adopt_orphans()
    secret = canary.new_canary()
    environment = {**os.environ, canary.VARIABLE: secret, "PYTHONPATH": f"{ROOT / 'scripts'}{os.pathsep}{ROOT}"}
    with tempfile.TemporaryDirectory(prefix="toolcrib-chaos-") as name:
        run = ChaosRun(Path(name), environment, seed=seed, rounds=options.rounds)
        outcome = run.everything(options)
        left = end_descendants(patience=_PATIENCE)
        outcome = _searched(outcome, Path(name), secret)
    problems = [*outcome.problems, *(f"still alive: {pid} {command[:100]}" for pid, command in left.items())]
    outcome = replace(outcome, leaked=len(left) if watched else None, problems=tuple(problems))
    for problem in problems[:_SHOWN]:
        print(f"PROBLEM: {problem}", file=sys.stderr)
    if options.write:
        kept = with_what_was_kept(outcome, read_outcome(OUTCOME), parts=options.only)
        OUTCOME.write_text(json.dumps(asdict(kept), indent=1) + "\n", "utf-8")
        write_page()
    print(*filter(None, (outcome.soak, render_line(outcome))), sep="\n")
    return 1 if problems else 0


class ChaosRun:
    """The parts of one run, over one folder in which everything is written."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, seed: int, rounds: int) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._seed = seed
        self._rounds = rounds

    def everything(self, options: argparse.Namespace) -> ChaosOutcome:
        """All parts that are asked for, one after the other."""
        outcome = ChaosOutcome()
        if "faults" in options.only:
            outcome = self.faults(outcome, options.tests)
        if "kills" in options.only:
            outcome = self.kills(outcome)
        if "fuzz" in options.only:
            outcome = self.fuzz(outcome)
        if "soak" in options.only:
            outcome = self.soak(outcome, options.soak)
        return outcome

    def faults(self, outcome: ChaosOutcome, tests: Iterable[str] = ()) -> ChaosOutcome:
        """Every test that carries a row of the matrix; those that kill servers do it as often as the run says."""
        _say("faults: every test of the matrix")
        record = self._folder / "cases.json"
        # Twice the kills in seconds, so that many of them are no hang.
        limit = 300 + 2 * self._rounds
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            "pyproject.toml",
            "-m",
            "fault",
            "-n",
            "2",
            "--dist=loadgroup",
        ]
        command += [f"--timeout={limit}", f"--hypothesis-seed={self._seed}", "--inline-snapshot=disable"]
        command += ["-p", "no:cacheprovider", "-p", "checks.fault_recorder", f"--fault-record={record}"]
        command += [f"--basetemp={self._folder / 'tests'}", *tests]
        code, _ = self._run(command, "faults", TOOLCRIB_CHAOS_KILLS=str(self._rounds))
        if not record.is_file():
            return _with_problem(outcome, f"the tests of the matrix did not run (exit {code})")
        cases: dict[str, dict[str, Any]] = json.loads(record.read_text("utf-8"))
        total, rows = count_cases(cases.values())
        failed = [f"failed: {name}" for name, case in cases.items() if case["outcome"] == "failed"]
        return replace(
            outcome,
            rows={row: dict(counts) for row, counts in sorted(rows.items())},
            cases=dict(total),
            kills=(outcome.kills or Kills()) + kills_told(cases.values()),
            started=outcome.started + sum(case["processes"] for case in cases.values()),
            problems=(*outcome.problems, *failed),
        )

    def kills(self, outcome: ChaosOutcome) -> ChaosOutcome:
        """Writers of a store, killed one after the other, on every database that is here."""
        for database in ([], ["--postgresql"]) if _has_postgresql() else ([],):
            _say(f"kill -9: {self._rounds} writers of a store {' '.join(database)}".rstrip())
            arguments = [f"--rounds={self._rounds}", f"--seed={self._seed}", "--json", *database]
            code, printed = self._run([sys.executable, "-m", "tests.chaos.store_kills", *arguments], "kills")
            if not printed.startswith("{"):
                outcome = _with_problem(outcome, f"the writers were not judged (exit {code})")
                continue
            judged = json.loads(printed)
            lost, corrupt = len(judged["lost"]), len(judged["problems"])
            found = Kills(rounds=self._rounds, acknowledged=judged["acknowledged"], lost=lost, corrupt=corrupt)
            told = (*judged["lost"], *judged["problems"])
            outcome = replace(
                outcome,
                kills=(outcome.kills or Kills()) + found,
                started=outcome.started + self._rounds,
                problems=(*outcome.problems, *(f"kill -9: {each}" for each in told)),
            )
        return outcome

    def fuzz(self, outcome: ChaosOutcome) -> ChaosOutcome:
        """The loader of packs under coverage-guided fuzzing, where the fuzzer is installed."""
        if importlib.util.find_spec("atheris") is None:
            _say("fuzz: left out, `atheris` is not installed")
            return outcome
        _say(f"fuzz: the loader of packs, {_FUZZ_SECONDS} s")
        command = [sys.executable, "-m", "tests.chaos.toolpack_fuzz", f"--seconds={_FUZZ_SECONDS}"]
        code, _ = self._run(command, "fuzz")
        return outcome if code == 0 else _with_problem(outcome, f"fuzzing the loader of packs ended with {code}")

    def soak(self, outcome: ChaosOutcome, minutes: float) -> ChaosOutcome:
        """Mixed load on a served gateway, with servers of every kind behind it."""
        _say(f"soak: {minutes:g} minutes")
        arguments = [f"--minutes={minutes}", f"--seed={self._seed}", "--json", f"--folder={self._folder / 'soak'}"]
        code, printed = self._run([sys.executable, "-m", "tests.chaos.soak", *arguments], "soak")
        if not printed.startswith("{"):
            return _with_problem(outcome, f"the soak was not judged (exit {code})")
        judged = json.loads(printed)
        problems = (*outcome.problems, *(f"soak: {each}" for each in judged["problems"]))
        started = outcome.started + judged["started"]
        return replace(outcome, soak=judged["line"], started=started, problems=problems)

    def _run(self, command: list[str], name: str, **variables: str) -> tuple[int, str]:
        """Exit code and standard output; what it says meanwhile goes to the terminal, and into the folder."""
        printed = []
        with (
            (self._folder / f"{name}.log").open("w", encoding="utf-8") as log,
            subprocess.Popen(
                command,
                cwd=ROOT,
                env={**self._environment, **variables},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sys.stderr,
                text=True,
            ) as process,
        ):
            for line in process.stdout or ():
                log.write(line)
                printed.append(line)
                if not line.startswith("{"):
                    sys.stderr.write(line)
        return process.returncode, "".join(printed).strip()


def _searched(outcome: ChaosOutcome, folder: Path, secret: str) -> ChaosOutcome:
    found = canary.search(folder, secret)
    problems = (*outcome.problems, *(f"the canary is in {each}" for each in found.hits))
    return replace(outcome, canary_hits=len(found.hits), searched_bytes=found.searched_bytes, problems=problems)


def _with_problem(outcome: ChaosOutcome, problem: str) -> ChaosOutcome:
    return replace(outcome, problems=(*outcome.problems, problem))


def _has_postgresql() -> bool:
    from tests.postgresql import find_binaries

    return find_binaries() is not None


def _say(text: str) -> None:
    print(f"-- {text}", file=sys.stderr, flush=True)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="how often each victim is killed")
    parser.add_argument("--seed", type=int, help="of everything that is left to chance; another in every run without")
    parser.add_argument(
        "--soak", type=float, nargs="?", const=_SOAK_MINUTES, metavar="MINUTES", help="load a served gateway, too"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts alone")
    parser.add_argument("--tests", nargs="+", default=[], help="of the matrix, only the tests in these files")
    parser.add_argument("--write", action="store_true", help="keep the outcome, and make docs/reliability.md of it")
    options = parser.parse_args(arguments)
    if options.only is None:
        options.only = [each for each in PARTS if each != "soak" or options.soak is not None]
    options.soak = _SOAK_MINUTES if options.soak is None else options.soak
    return options


if __name__ == "__main__":
    sys.exit(main())
