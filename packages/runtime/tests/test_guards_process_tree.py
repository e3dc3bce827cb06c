"""Nothing of a tree is left, however it tries."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from process_children import PYTHON, alive, needs_proc, next_line, nothing_left, python, shell, until

from toolcrib_runtime.errors import DeadlineExceeded
from toolcrib_runtime.guards.process import tree as process_tree
from toolcrib_runtime.guards.process.child import ChildProcess
from toolcrib_runtime.guards.process.run import run_process
from toolcrib_runtime.guards.process.sandbox import SandboxWishes, available_layers
from toolcrib_runtime.guards.process.spec import ProcessSpec
from toolcrib_runtime.guards.process.tree import ProcessRef, find_tree, kill_tree, signal_group

pytestmark = needs_proc
ROUNDS = 500
PR_SET_CHILD_SUBREAPER = 36
DOUBLE_FORK = """
    import os, time
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    os.wait()
    print("ready", flush=True)
"""


@pytest.fixture
def bystander() -> Iterator[ProcessRef]:
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield next(iter(find_tree(process.pid, "no mark")))
        process.kill()


@pytest.mark.fault("D2")
@pytest.mark.parametrize(
    "script",
    [
        "sleep 1000 & sleep 1000 & wait",
        "sleep 1000 >/dev/null 2>&1 & echo done",
        "sleep 1000 & echo done",
        "setsid sleep 1000 & echo done",
        "(setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo done",
    ],
    ids=["children", "background", "keeps the pipe", "own session", "double fork, own session, keeps the pipe"],
)
async def test_what_a_program_started_does_not_outlive_it_or_hold_the_call(script: str) -> None:
    begun = time.monotonic()

    async with nothing_left() as family:
        try:
            result = await run_process(shell(script, family=family), timeout=0.5, grace=0.2)
        except DeadlineExceeded:
            assert "wait" in script
        else:
            assert result.stdout == b"done\n"

    assert time.monotonic() - begun < 5


@pytest.mark.fault("D2")
async def test_a_daemon_that_left_its_session_is_found_by_its_mark() -> None:
    async with nothing_left() as family:
        result = await run_process(python(DOUBLE_FORK, family=family), timeout=10)

    assert result.stdout == b"ready\n"
    assert result.escaped == ()


@pytest.mark.fault("D2")
async def test_a_child_without_our_mark_is_found_by_its_parent() -> None:
    async with nothing_left() as family:
        clean = f"""
            import subprocess, time
            code = "import time; print('up', flush=True); time.sleep(1000)"
            subprocess.Popen(["setsid", "{PYTHON}", "-ISc", code, "{family}"], env={{}})
            time.sleep(1000)
        """
        async with await ChildProcess.start(python(clean, family=family)) as child:
            assert await next_line(child) == b"up\n"
            assert len(alive(family)) == 2

            child.kill()


@pytest.mark.fault("D2")
@pytest.mark.skipif(available_layers().unshare is None, reason="user namespaces are not permitted here")
async def test_a_pid_namespace_holds_even_a_daemon_without_mark_and_parent() -> None:
    async with nothing_left() as family:
        code = DOUBLE_FORK.replace(
            "time.sleep(1000)",
            f"os.execve('{PYTHON}', ['python', '-ISc', 'import time; time.sleep(1000)', '{family}'], {{}})",
        )
        spec = python(code, family=family, sandbox=SandboxWishes(pid_namespace=True))

        result = await run_process(spec, timeout=10)

    assert result.stdout == b"ready\n"
    assert result.sandbox.process_tree == "pid-namespace"


@pytest.mark.fault("D11")
async def test_random_cancellations_leave_no_orphan_and_no_descriptor() -> None:
    seed = random.randrange(2**32)
    pick = random.Random(seed)

    async with nothing_left() as family:
        spec = shell("sleep 1000 & setsid sleep 1000", family=family)
        for _ in range(ROUNDS // 4):
            calls = [asyncio.create_task(run_process(spec, timeout=100)) for _ in range(4)]
            await asyncio.sleep(pick.random() * 0.03)
            for call in calls:
                call.cancel()
                await asyncio.sleep(pick.random() * 0.002)
                call.cancel()
            ends = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError) for end in ends), f"seed {seed}"


@pytest.mark.fault("D11")
async def test_however_often_it_is_cancelled_a_child_is_reaped_before_its_keeper_leaves() -> None:
    async with nothing_left() as family:
        # The kernel needs a while to take this much memory back, and the child is not dead before.
        code = "import time; held = b'x' * (1 << 28); print('up', flush=True); time.sleep(1000)"
        child = await ChildProcess.start(python(code, family=family))
        await next_line(child)
        stopping = asyncio.create_task(child.terminate(grace=0))
        while not stopping.done():
            await asyncio.sleep(0)
            stopping.cancel()

        assert stopping.cancelled()
        assert child.returncode in {-signal.SIGKILL, -signal.SIGTERM}


@pytest.mark.fault("D11")
async def test_a_cancellation_during_the_grace_cuts_it_short() -> None:
    begun = time.monotonic()

    async with nothing_left() as family:
        child = await ChildProcess.start(shell("trap '' TERM; echo up; while :; do sleep 1; done", family=family))
        await next_line(child)
        stopping = asyncio.create_task(child.terminate(grace=60))
        await until(lambda: child.stdin.closed)

        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping

    assert child.returncode == -signal.SIGKILL
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("sandbox", [SandboxWishes(), SandboxWishes(pid_namespace=True)], ids=["plain", "namespace"])
async def test_a_killed_parent_leaves_no_child(
    sandbox: SandboxWishes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent_code = f"""
        import asyncio
        from toolcrib_runtime.guards.process.child import ChildProcess
        from toolcrib_runtime.guards.process.spec import ProcessSpec
        from toolcrib_runtime.guards.process.sandbox import SandboxWishes

        async def main():
            spec = ProcessSpec(
                argv=("/bin/sh", "-c", "echo up; exec sleep 1000"),
                env={{"TEST_FAMILY": FAMILY}},
                sandbox=SandboxWishes(pid_namespace={sandbox.pid_namespace}),
            )
            child = await ChildProcess.start(spec)
            print((await child.stdout.read()).decode(), flush=True)
            await child.wait()

        asyncio.run(main())
    """
    # What a killed parent cannot remove is removed with the test.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    async with nothing_left() as family:
        code = textwrap.dedent(parent_code).replace("FAMILY}", f"{family!r}}}")

        words = await asyncio.to_thread(_first_line_then_kill, [sys.executable, "-c", code])

    assert words == b"up\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="subreapers are a thing of Linux")
async def test_a_subreaper_reaps_the_orphans_that_it_killed() -> None:
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        async with nothing_left() as family:
            result = await run_process(python(DOUBLE_FORK, family=family), timeout=10)
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    assert result.stdout == b"ready\n"


async def test_an_adopted_orphan_that_does_not_die_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "_REAP_PAUSE", 0)
    child = await asyncio.create_subprocess_exec("sleep", "1000")

    process_tree._reap_adopted([child.pid])

    child.kill()
    assert await child.wait() == -signal.SIGKILL


async def test_a_process_that_may_not_be_killed_is_reported_as_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with nothing_left() as family:
        child = await ChildProcess.start(shell("setsid sh -c 'echo up; exec sleep 1000' & wait", family=family))
        await next_line(child)
        with monkeypatch.context() as patched:
            patched.setattr(process_tree, "_send_kill", _refuse)
            child.kill()
            await child.wait()
        left = alive(family)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        await child.terminate()

    assert set(child.escaped) == left
    assert len(left) == 1
    assert child.end.escaped == child.escaped


async def test_without_handles_on_processes_the_tree_is_killed_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    async with nothing_left() as family:
        result = await run_process(python(DOUBLE_FORK, family=family), timeout=10)

    assert result.stdout == b"ready\n"


def test_a_number_that_now_belongs_to_somebody_else_is_not_killed(bystander: ProcessRef) -> None:
    assert process_tree._kill(ProcessRef(bystander.pid, bystander.started - 1))

    assert find_tree(bystander.pid, "no mark") == {bystander}


def test_a_tree_that_is_gone_is_no_error() -> None:
    nobody = 2**22 + 1

    signal_group(nobody, signal.SIGTERM)

    assert kill_tree(nobody, "no mark") == ()


def test_a_tree_that_grows_faster_than_it_is_killed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count(2**22 + 1)
    monkeypatch.setattr(process_tree, "find_tree", lambda *_: {ProcessRef(next(numbers), 0)})

    assert len(kill_tree(2**22, "no mark")) == 1


def test_a_process_that_ends_while_it_is_looked_at_is_not_there(
    bystander: ProcessRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "read", _vanish)

    assert find_tree(bystander.pid, "no mark") == set()


def test_a_process_that_ends_before_the_signal_counts_as_killed(
    bystander: ProcessRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "_send_kill", _vanish)

    assert process_tree._kill(bystander)


def test_a_mark_must_be_whole() -> None:
    marked = subprocess.Popen(["sleep", "1000"], env={"TOOLCRIB_TREE": "aa11.bb22", "OTHER": "cc33"})
    try:
        assert [each.pid for each in find_tree(2**22 + 1, "bb22")] == [marked.pid]
        assert not find_tree(2**22 + 1, "bb2")
        assert not find_tree(2**22 + 1, "cc33")
    finally:
        marked.kill()
        marked.wait()


def test_where_there_is_no_proc_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    assert find_tree(os.getpid(), "no mark") == set()


async def test_a_process_that_hangs_in_the_kernel_is_given_up_and_reported() -> None:
    async with nothing_left() as family:
        child = await ChildProcess.start(ProcessSpec(argv=("sleep", "1000"), env={"TEST_FAMILY": family}))

        child._give_up()

        assert await child.wait() == 255
        assert child.escaped == (child.pid,)
        await child.terminate()
        _reap(child.pid)


def _refuse(pid: int, handle: int | None) -> None:
    raise PermissionError


def _vanish(*_: object) -> None:
    raise ProcessLookupError


def _reap(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _first_line_then_kill(argv: list[str]) -> bytes:
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        line = parent.stdout.readline()
        parent.kill()
    return line
