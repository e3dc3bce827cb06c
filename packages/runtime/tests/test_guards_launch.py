"""What the launcher asks of the kernel, in which order; that the kernel obeys is shown by the tests of the sandbox."""

from __future__ import annotations

import json
import os
import resource
import runpy
import signal
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib_runtime.guards.process import launch


class RecordingLibc:
    """Stands in for the C library: what is asked here cannot be taken back in the process that runs the tests."""

    def __init__(self, *, answer: int | None = None) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.answer = answer

    def prctl(self, *arguments: int) -> int:
        self.asked.append(("prctl", *arguments[:2]))
        return self.answer or 0

    def syscall(self, number: int, *arguments: object) -> int:
        self.asked.append((number, *arguments))
        if self.answer is not None:
            return self.answer
        makes_ruleset = number == 444 and arguments[0] is not None
        return os.open(os.devnull, os.O_RDONLY) if makes_ruleset else 5


@pytest.fixture
def libc(monkeypatch: pytest.MonkeyPatch) -> Iterator[RecordingLibc]:
    recording = RecordingLibc()
    monkeypatch.setattr(launch, "_libc", lambda: recording)
    handlers = {each: signal.getsignal(each) for each in (signal.SIGPIPE, signal.SIGXFSZ)}
    yield recording
    for each, handler in handlers.items():
        signal.signal(each, handler)


def plan(**changes: object) -> str:
    nothing = {"files": None, "ports": None, "filter": None, "script": False}
    return json.dumps({"rlimits": [], "diesWithParent": False, "noNewPrivileges": False, **nothing} | changes)


def test_it_ties_and_limits_itself_before_it_becomes_the_program(
    libc: RecordingLibc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "setrlimit", lambda *limit: libc.asked.append(("setrlimit", *limit)))

    with pytest.raises(SystemExit) as ended:
        launch.main(
            ["launch", plan(rlimits=[["core", 0, 0]], diesWithParent=True, noNewPrivileges=True), "/no/program"]
        )

    assert ended.value.code == 127
    assert libc.asked == [("prctl", 1, signal.SIGKILL), ("prctl", 38, 1), ("setrlimit", resource.RLIMIT_CORE, (0, 0))]
    assert signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL


def test_a_program_that_cannot_be_executed_ends_it_with_126(libc: RecordingLibc, tmp_path: Path) -> None:
    (tmp_path / "program").write_text("x")

    with pytest.raises(SystemExit) as ended:
        launch.main(["launch", plan(), str(tmp_path / "program")])

    assert ended.value.code == 126
    assert libc.asked == []


def test_it_runs_as_a_script(libc: RecordingLibc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["launch", plan(), "/no/program"])

    with pytest.raises(SystemExit) as ended:
        runpy.run_path(launch.__file__, run_name="__main__")

    assert ended.value.code == 127


def test_files_get_only_the_rights_that_files_can_have(libc: RecordingLibc, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    files = {"read": [str(tmp_path), str(tmp_path / "missing")], "write": [str(tmp_path / "file")], "list": []}

    with pytest.raises(SystemExit):
        launch.main(["launch", plan(files=files), "/no/program"])

    rules = [struct.unpack("=Qi", asked[3])[0] for asked in libc.asked if asked[0] == 445]
    assert libc.asked[0] == ("prctl", 38, 1)
    assert rules == [0b1101, 0b1100_0000_0000_0111]
    assert libc.asked[-1][0] == 446


@pytest.mark.parametrize("call", [lambda: launch._prctl(1, 9), lambda: launch._syscall(445)])
def test_a_refused_request_stops_it(call: object, libc: RecordingLibc) -> None:
    libc.answer = -1

    with pytest.raises(OSError, match="was refused"):
        call()


def test_a_limit_that_cannot_be_set_stops_it_on_linux_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not allowed")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(ValueError, match="not allowed"):
        launch._limit("as", 1, 1)

    monkeypatch.setattr(sys, "platform", "darwin")
    launch._limit("as", 1, 1)


def test_landlock_is_not_looked_for_elsewhere_than_on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert launch.landlock_abi() == 0


def test_a_script_runs_in_the_process_that_restricted_itself(
    libc: RecordingLibc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; print(__name__, sys.argv[1:])")
    monkeypatch.setattr(sys, "argv", ["launch"])
    monkeypatch.setattr(launch, "landlock_abi", lambda: 7)
    files = {"read": [], "write": [], "list": [str(tmp_path)]}

    launch.main(["launch", plan(files=files, ports=[443], filter="AAAAAAAAAAA=", script=True), str(script), "one"])

    assert capsys.readouterr().out == "__main__ ['one']\n"
    rights, ports = libc.asked[1][1], [asked[3] for asked in libc.asked if asked[0] == 445 and asked[2] == 2]
    assert struct.unpack("=QQQ", rights)[1:] == (3, 3)
    assert ports == [struct.pack("=QQ", 2, 443)]
    assert libc.asked[-1] == ("prctl", 22, 2)
