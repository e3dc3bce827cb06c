"""Warm workers: a call costs a message, a crash costs one call, and nobody's worker is anybody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from process_children import alive, needs_proc, nothing_left
from running_packs import ask, need, needs_walls, running, write_file, write_pack, write_python

from toolcrib_runtime import Toolbox

pytestmark = [pytest.mark.req("TP-29"), needs_walls, needs_proc]

PID = "import os\ndef run(payload):\n    return os.getpid()\n"


async def pid_of(toolbox: Toolbox, name: str) -> Any:
    return (await ask(toolbox, name)).unwrap()


async def test_calls_of_a_pack_share_a_worker_until_it_is_replaced(tmp_path: Path) -> None:
    async with nothing_left() as family:
        write_python(tmp_path, "pid", PID, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path, max_calls_per_worker=3) as toolbox:
            pids = [await pid_of(toolbox, "pid") for _ in range(7)]

    assert [len(set(pids[at : at + 3])) for at in (0, 3)] == [1, 1]
    assert len(set(pids)) == 3


async def test_there_are_never_more_workers_than_allowed_however_many_packs(tmp_path: Path) -> None:
    names = [f"pack{n}" for n in range(5)]
    async with nothing_left() as family:
        for name in names:
            write_python(tmp_path, name, PID, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path, workers=2) as toolbox:
            executor: Any = toolbox.tools[0].executor
            pids = []
            for name in names * 2:
                pids.append(await pid_of(toolbox, name))
                assert executor.workers.alive <= 2

    assert len(set(pids)) == 10


@pytest.mark.fault("D5")
@pytest.mark.parametrize(
    ("crash", "words"),
    [
        ("os._exit(3)", "ended with exit status 3"),
        ("os.kill(os.getpid(), 9)", "was ended by the signal SIGKILL"),
        ("ctypes.string_at(0)", "was ended by the signal SIGSEGV"),
        ("[os.close(each) for each in range(3, 10)]; time.sleep(60)", "closed the pipe to its parent"),
        ("[write(each) for each in range(3, 10)]", "wrote something into the pipe"),
    ],
    ids=["exits", "killed", "segfault", "closes-pipe", "writes-pipe"],
)
async def test_the_call_that_crashes_its_worker_is_told_and_the_next_gets_another(
    crash: str, words: str, tmp_path: Path
) -> None:
    code = f"""
        import contextlib, ctypes, os, sys, time
        def write(handle):
            with contextlib.suppress(OSError):
                os.write(handle, b"\\xff" * 64)
        def quiet(handle):
            with contextlib.suppress(OSError):
                os.close(handle)
        def run(payload):
            if payload.get("crash"):
                print("last words", file=sys.stderr, flush=True)
                {crash.replace("os.close(each)", "quiet(each)")}
            return os.getpid()
    """
    async with nothing_left() as family:
        write_python(tmp_path, "crashes", code, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path) as toolbox:
            before = await pid_of(toolbox, "crashes")
            crashed = await ask(toolbox, "crashes", crash=True)
            after = await pid_of(toolbox, "crashes")

    assert crashed.error is not None
    assert crashed.error.code == "toolbox.worker-lost"
    assert words in crashed.error.message
    assert crashed.error.details["stderr"] == "last words\n"
    assert crashed.attempts == 1
    assert before != after


async def test_a_call_that_leaves_processes_running_loses_them(tmp_path: Path) -> None:
    code = """
        import subprocess
        def run(payload):
            return subprocess.Popen(["sleep", "600"], start_new_session=True).pid
    """
    async with nothing_left() as family:
        write_python(tmp_path, "leaves", code, caps={"subprocess": True}, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path) as toolbox:
            left = (await ask(toolbox, "leaves")).unwrap()
            await _until_gone(left)
            assert alive(family) == set()


async def test_a_forked_copy_of_a_worker_answers_nobody(tmp_path: Path) -> None:
    code = """
        import os
        def run(payload):
            child = os.fork()
            if child == 0:
                return "the copy"
            os.waitpid(child, 0)
            return "the worker"
    """
    async with nothing_left() as family:
        write_python(tmp_path, "forks", code, caps={"subprocess": True}, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path) as toolbox:
            answers = [(await ask(toolbox, "forks")).unwrap() for _ in range(3)]

    assert answers == ["the worker"] * 3


async def test_node_workers_are_warm_replaced_and_lose_what_they_leave(tmp_path: Path) -> None:
    need("node")
    write_file(
        tmp_path,
        "pid.mjs",
        """
        import { spawn } from "node:child_process";
        export default (input) => {
          if (input.crash) process.exit(4);
          if (input.leave) spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
          return process.pid;
        };
        """,
    )
    async with nothing_left() as family:
        write_pack(tmp_path, "pid", {"kind": "node", "module": "pid.mjs"}, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path) as toolbox:
            pids = [await pid_of(toolbox, "pid") for _ in range(3)]
            crashed = await ask(toolbox, "pid", crash=True)
            left = (await ask(toolbox, "pid", leave=True)).unwrap()
            await _until_gone(left)

    assert len(set(pids)) == 1
    assert crashed.error is not None
    assert "ended with exit status 4" in crashed.error.message
    assert left != pids[0]


async def test_a_closed_toolbox_leaves_no_worker_and_opens_again(tmp_path: Path) -> None:
    async with nothing_left() as family:
        write_python(tmp_path, "pid", PID, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path) as toolbox:
            first = await pid_of(toolbox, "pid")
            await toolbox.aclose()
            assert alive(family) == set()
            second = await pid_of(toolbox, "pid")

    assert first != second


async def _until_gone(pid: int) -> None:
    from process_children import until

    await until(lambda: not Path(f"/proc/{pid}").exists())
