"""A program that takes too much is stopped, and the error names what it took."""

from __future__ import annotations

import json
import resource
import signal
from pathlib import Path

import pytest
from process_children import needs_proc, nothing_left, python, shell, until

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime.errors import ProcessExited, ProcessKilled, ProcessLimitReached, ProcessNotStarted
from toolcrib_runtime.guards.process import census as process_census
from toolcrib_runtime.guards.process.child import ChildProcess
from toolcrib_runtime.guards.process.limits import LONG_LIVED, ProcessLimits, Rlimit, rlimits
from toolcrib_runtime.guards.process.outcome import ProcessEnd, fault_of
from toolcrib_runtime.guards.process.run import run_process

pytestmark = needs_proc
MIB = 1024 * 1024
PRINT_LIMITS = """
    import json, resource
    names = ("AS", "CPU", "FSIZE", "NOFILE", "CORE")
    print(json.dumps([resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names]))
"""


def ended(
    status: int, *, stderr: bytes = b"", cpu_seconds: float = 0.0, limits: ProcessLimits | None = None
) -> ProcessEnd:
    return ProcessEnd(
        name="tool", status=status, stderr=stderr, cpu_seconds=cpu_seconds, limits=limits, private="/private"
    )


@pytest.mark.fault("D3")
async def test_every_limit_holds_from_the_first_instruction() -> None:
    limits = ProcessLimits(memory_bytes=512 * MIB, cpu_seconds=7, file_bytes=MIB, open_files=64)

    result = await run_process(python(PRINT_LIMITS, limits=limits), timeout=10)

    assert json.loads(result.stdout) == [[512 * MIB] * 2, [7, 8], [MIB] * 2, [64] * 2, [0, 0]]


async def test_a_trusted_worker_may_have_no_limits() -> None:
    result = await run_process(python(PRINT_LIMITS, limits=None), timeout=10)

    assert json.loads(result.stdout)[0] == list(resource.getrlimit(resource.RLIMIT_AS))
    assert result.sandbox.rlimits == "off"


@pytest.mark.fault("D3")
@pytest.mark.parametrize(
    ("code", "limits", "named"),
    [
        ("bytearray(8 << 30)", ProcessLimits(memory_bytes=512 * MIB), "memory"),
        ("while True: pass", ProcessLimits(cpu_seconds=1), "CPU time"),
        ("open('big', 'wb').write(bytes(2 << 20))", ProcessLimits(file_bytes=MIB), "file size"),
        ("files = [open('/dev/null') for _ in range(10_000)]", ProcessLimits(open_files=64), "open files"),
    ],
)
async def test_a_program_that_takes_too_much_is_told_which_limit_it_met(
    code: str, limits: ProcessLimits, named: str
) -> None:
    async with nothing_left() as family:
        with pytest.raises(ProcessLimitReached, match=f"`python[0-9.]*` ran into its limit on {named}") as caught:
            await run_process(python(code, family=family, limits=limits), timeout=30)

    assert caught.value.category is ToolErrorCategory.LIMIT


@pytest.mark.fault("D3")
@pytest.mark.parametrize(
    "script", ["head -c 2000000 /dev/zero > big", "sh -c 'head -c 2000000 /dev/zero > big; exit $?'"]
)
async def test_a_file_that_grows_too_large_is_named_through_a_shell_too(script: str) -> None:
    with pytest.raises(ProcessLimitReached, match="file size"):
        await run_process(shell(script, limits=ProcessLimits(file_bytes=MIB)), timeout=10)


@pytest.mark.fault("D3")
async def test_a_program_that_ignores_the_cpu_warning_is_killed_and_told_why() -> None:
    code = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"

    with pytest.raises(ProcessLimitReached, match="CPU time"):
        await run_process(python(code, limits=ProcessLimits(cpu_seconds=1)), timeout=30)


@pytest.mark.fault("D3")
async def test_a_fork_bomb_is_stopped_and_all_of_it_is_gone() -> None:
    bomb = """
        import os, time
        for _ in range(50):
            if os.fork() == 0:
                os.setsid()
                break
        time.sleep(1000)
    """
    async with nothing_left() as family:
        with pytest.raises(ProcessLimitReached, match="limit on processes") as caught:
            await run_process(python(bomb, family=family, limits=ProcessLimits(processes=20)), timeout=30)

    assert caught.value.details["allowed"] == 20


async def test_a_tree_within_its_limit_is_counted_again_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_census, "_PAUSE", 0.001)
    monkeypatch.setattr(process_census, "_PAUSE_PER_LOOK", 0)
    looks = []
    find = process_census.find_tree
    monkeypatch.setattr(process_census, "find_tree", lambda *tree: looks.append(tree) or find(*tree))

    async with nothing_left() as family:
        child = await ChildProcess.start(shell("cat", family=family, limits=ProcessLimits(processes=2)))
        await until(lambda: len(looks) > 2)
        child.stdin.close()
        status = await child.wait()
        await child.terminate()

    assert status == 0


@pytest.mark.parametrize("name", ["memory_bytes", "cpu_seconds", "file_bytes", "open_files", "processes"])
def test_a_limit_below_one_is_refused(name: str) -> None:
    with pytest.raises(ProcessNotStarted, match=f"`{name}`"):
        ProcessLimits(**{name: 0})


def test_no_limit_is_above_what_this_process_may_hand_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, 20))

    assert rlimits(ProcessLimits(memory_bytes=100, cpu_seconds=20, file_bytes=None, open_files=5)) == (
        Rlimit("as", 20, 20),
        Rlimit("cpu", 20, 20),
        Rlimit("nofile", 5, 5),
        Rlimit("core", 0, 0),
    )


def test_a_process_that_stays_has_no_limit_on_what_adds_up() -> None:
    assert {each.name for each in rlimits(LONG_LIVED)} == {"as", "fsize", "nofile", "core"}
    assert LONG_LIVED.processes is None


@pytest.mark.parametrize(
    ("end", "kind", "limit"),
    [
        (ended(-signal.SIGXCPU, limits=ProcessLimits()), ProcessLimitReached, "cpu_seconds"),
        (ended(128 + signal.SIGXFSZ, limits=ProcessLimits()), ProcessLimitReached, "file_bytes"),
        (ended(-signal.SIGKILL, cpu_seconds=60.1, limits=ProcessLimits()), ProcessLimitReached, "cpu_seconds"),
        (ended(-signal.SIGKILL, cpu_seconds=1.0, limits=ProcessLimits()), ProcessKilled, None),
        (ended(-signal.SIGKILL, cpu_seconds=99.0, limits=LONG_LIVED), ProcessKilled, None),
        (ended(-signal.SIGXCPU), ProcessKilled, None),
        (
            ended(-signal.SIGABRT, stderr=b"JavaScript heap out of memory", limits=ProcessLimits()),
            ProcessLimitReached,
            "memory_bytes",
        ),
        (ended(1, stderr=b"MemoryError"), ProcessExited, None),
        (ended(1, stderr=b"EMFILE", limits=ProcessLimits(open_files=None)), ProcessExited, None),
    ],
)
def test_a_limit_is_named_only_where_there_is_one(end: ProcessEnd, kind: type[Exception], limit: str | None) -> None:
    fault = fault_of(end)

    assert type(fault) is kind
    assert fault.details.get("limit") == limit


def test_escaped_processes_are_counted_in_the_error() -> None:
    end = ProcessEnd(name="tool", status=1, stderr=b"", cpu_seconds=0, limits=None, private="", escaped=(4711, 4712))

    fault = fault_of(end)

    assert fault is not None
    assert fault.details["escaped"] == 2


@pytest.mark.fault("D3")
async def test_a_core_file_is_never_left(tmp_path: Path) -> None:
    with pytest.raises(ProcessKilled, match="SIGABRT"):
        await run_process(shell("kill -ABRT $$", cwd=str(tmp_path)), timeout=10)

    assert _names(tmp_path) == []


def _names(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]
