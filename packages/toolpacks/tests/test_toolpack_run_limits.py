"""Time, size and number: what runs too long is stopped with all it started, what says too much is cut off."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from process_children import alive, needs_proc, nothing_left, until
from running_packs import ask, load, need, needs_walls, running, write_file, write_pack, write_python

from toolcrib_core import ToolErrorCategory
from toolcrib_runtime import ToolCall, ToolResult
from toolcrib_toolpacks.running import open_toolbox

pytestmark = [needs_walls, needs_proc]

SHORT = 600
TREE = {"subprocess": True}


def shell(folder: Path, name: str, script: str, *, family: str, **fields: Any) -> None:
    write_pack(
        folder, name, {"kind": "cli", "cmd": ["/bin/sh", "-c", script]}, env={"set": {"TEST_FAMILY": family}}, **fields
    )


def code_of(result: ToolResult) -> str:
    assert result.error is not None, result.value
    return result.error.code


@pytest.mark.req("TP-21")
@pytest.mark.fault("D1")
@pytest.mark.parametrize(
    "script",
    ["sleep 600", "trap '' TERM; while :; do sleep 1; done", "kill -STOP $$", "while :; do :; done"],
    ids=["never-ends", "ignores-sigterm", "stops-itself", "spins"],
)
async def test_what_does_not_end_in_time_is_stopped_and_nothing_is_left(script: str, tmp_path: Path) -> None:
    async with nothing_left() as family:
        shell(tmp_path, "slow", f"echo working >&2; {script}", family=family, timeoutMs=SHORT)
        shell(tmp_path, "good", "echo 1", family=family)
        async with running(tmp_path, grace=0.1) as toolbox:
            slow = await ask(toolbox, "slow")
            good = await ask(toolbox, "good")

    assert code_of(slow) == "toolbox.deadline-exceeded"
    assert slow.error is not None
    assert slow.error.category is ToolErrorCategory.TIMEOUT
    assert slow.error.details["stderr"] == "working\n"
    assert slow.attempts == 1
    assert good.unwrap() == 1


@pytest.mark.req("TP-21")
@pytest.mark.fault("D2")
@pytest.mark.parametrize(
    "script",
    ["sleep 600 & sleep 600", "setsid sh -c 'sleep 600 & sleep 600' & sleep 600", "sleep 600 & echo 1"],
    ids=["grandchildren", "left-the-session", "keeps-the-pipe"],
)
async def test_whatever_a_tool_starts_dies_with_it(script: str, tmp_path: Path) -> None:
    async with nothing_left() as family:
        shell(tmp_path, "forks", script, family=family, timeoutMs=SHORT)
        async with running(tmp_path, grace=0.1) as toolbox:
            result = await ask(toolbox, "forks")

    assert result.value == 1 or code_of(result) == "toolbox.deadline-exceeded"


@pytest.mark.req("TP-21", "TP-29")
@pytest.mark.fault("D1", "D2")
async def test_a_function_that_hangs_takes_its_worker_and_its_children_with_it(tmp_path: Path) -> None:
    code = """
        import subprocess, sys, time
        def run(payload):
            if payload.get("hang"):
                print("about to hang", file=sys.stderr, flush=True)
                subprocess.Popen(["sleep", "600"], start_new_session=True)
                while True:
                    time.sleep(60)
            return 1
    """
    async with nothing_left() as family:
        write_python(tmp_path, "hangs", code, timeoutMs=1500, caps=TREE, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path) as toolbox:
            await ask(toolbox, "hangs")
            hung = await ask(toolbox, "hangs", hang=True)
            await until(lambda: len(alive(family)) == 0)
            good = await ask(toolbox, "hangs")

    assert code_of(hung) == "toolbox.deadline-exceeded"
    assert hung.error is not None
    assert hung.error.details["stderr"] == "about to hang\n"
    assert good.unwrap() == 1


@pytest.mark.req("TP-21", "TP-29")
@pytest.mark.fault("D1")
async def test_a_node_module_that_hangs_is_stopped_and_replaced(tmp_path: Path) -> None:
    need("node")
    write_file(tmp_path, "hang.mjs", "export default (input) => { while (input.hang) {} return 1; };\n")
    async with nothing_left() as family:
        write_pack(
            tmp_path,
            "hang",
            {"kind": "node", "module": "hang.mjs"},
            timeoutMs=2500,
            env={"set": {"TEST_FAMILY": family}},
        )
        async with running(tmp_path) as toolbox:
            hung = await ask(toolbox, "hang", hang=True)
            good = await ask(toolbox, "hang")

    assert code_of(hung) == "toolbox.deadline-exceeded"
    assert good.unwrap() == 1


@pytest.mark.req("TP-21")
@pytest.mark.fault("D3")
async def test_a_limit_that_a_tool_runs_into_is_named(tmp_path: Path) -> None:
    cases = {
        "memory": "def run(_):\n    return len(bytearray(8 * 10**9))\n",
        "files": "def run(_):\n    kept = [open('/dev/null') for _ in range(10_000)]\n",
        "disk": "def run(_):\n    open(__import__('os').environ['TMPDIR'] + '/x', 'wb').write(bytes(300 * 2**20))\n",
    }
    for name, code in cases.items():
        write_python(tmp_path, name, code)

    async with nothing_left(), running(tmp_path) as toolbox:
        errors = {name: (await ask(toolbox, name)).error for name in cases}

    said = {name: error.message for name, error in errors.items() if error is not None}
    assert "MemoryError" in said["memory"]
    assert "Too many open files" in said["files"]
    assert "File too large" in said["disk"] or "file size" in said["disk"]


@pytest.mark.req("TP-21")
@pytest.mark.fault("D3")
async def test_a_fork_bomb_is_stopped_by_the_number_of_its_processes(tmp_path: Path) -> None:
    async with nothing_left() as family:
        bomb = "i=0; while [ $i -lt 90 ]; do sleep 600 & i=$((i+1)); done; sleep 600"
        shell(tmp_path, "bomb", bomb, family=family)
        async with running(tmp_path) as toolbox:
            result = await ask(toolbox, "bomb")

    assert result.error is not None
    assert result.error.message == "The program `test:bomb` ran into its limit on processes."
    assert result.error.category is ToolErrorCategory.LIMIT


@pytest.mark.req("TP-21")
@pytest.mark.fault("D4")
@pytest.mark.parametrize("script", ["yes '{}'", "tr '\\0' x < /dev/zero"], ids=["lines", "no-newline"])
async def test_output_without_end_is_cut_off_and_its_head_is_kept(script: str, tmp_path: Path) -> None:
    async with nothing_left() as family:
        shell(tmp_path, "loud", script, family=family)
        async with running(tmp_path) as toolbox:
            result = await ask(toolbox, "loud")

    assert code_of(result) == "toolbox.output-too-large"
    assert result.error is not None
    assert result.error.details["stream"] == "stdout"
    assert str(result.error.details["head"])[:2] in {"{}", "xx"}


@pytest.mark.req("CT-5")
@pytest.mark.fault("D4")
async def test_a_call_succeeds_however_much_its_process_writes_to_standard_error(tmp_path: Path) -> None:
    shell(tmp_path, "loud", "yes error | head -c 20000000 >&2; echo '{\"done\": true}'", family="")
    code = "import sys\n\ndef run(_):\n    sys.stderr.write('e' * 20_000_000)\n    return {'done': True}\n"
    write_python(tmp_path, "worker", code)
    write_python(tmp_path, "script", code + "\nprint('{\"done\": true}')\nrun({})\n", way="script")

    async with running(tmp_path) as toolbox:
        given = [(await ask(toolbox, name)).unwrap() for name in ("loud", "worker", "script")]

    assert given == [{"done": True}] * 3


@pytest.mark.req("CT-5")
async def test_a_call_that_fails_after_a_flood_still_says_how_it_began_and_ended(tmp_path: Path) -> None:
    shell(
        tmp_path,
        "loud",
        "echo first words >&2; yes error | head -c 20000000 >&2; echo last words >&2; exit 4",
        family="",
    )

    async with running(tmp_path) as toolbox:
        error = (await ask(toolbox, "loud")).error

    assert error is not None
    assert error.message == "`test:loud` failed with exit status 4: first words"
    assert str(error.details["stderrHead"]).startswith("first words\nerror\n")
    assert str(error.details["stderr"]).endswith("last words\n")


@pytest.mark.req("CT-5")
@pytest.mark.parametrize("way", ["module", "script"])
async def test_no_message_names_a_file_of_ours(way: str, tmp_path: Path) -> None:
    fail = {
        "raises": "raise LookupError('no such city')",
        "grows": "x = bytearray(10**13)",
        "exits": "import sys; sys.exit(127)",
        "dies": "import os; os.kill(os.getpid(), 9)",
        "floods": "print('x' * 10**7)",
        "syntax": "this is no python",
    }
    for name, line in fail.items():
        code = f"def run(_):\n    {line}\n    return 'x' * 10**7\n"
        write_python(tmp_path, name, code if way == "module" else f"{line}\n", way=way)

    async with running(tmp_path) as toolbox:
        errors = {name: (await ask(toolbox, name)).error for name in fail}

    for name, error in errors.items():
        assert error is not None, name
        said = f"{error.message} {error.hint} {error.details}"
        assert not re.search(r"python_child|launch|runpy|worker_process", said), said


@pytest.mark.req("TP-21", "TP-22")
@pytest.mark.fault("D4")
async def test_output_is_taken_up_to_the_last_byte_and_no_further(tmp_path: Path) -> None:
    limits = {"maxInputBytes": 100, "maxOutputBytes": 10}
    write_python(tmp_path, "worker", "def run(n):\n    return 'x' * n\n", limits=limits, inputSchema=_number())
    script = "import json, sys\nprint(json.dumps('x' * json.load(sys.stdin)['n']))\n"
    write_python(tmp_path, "script", script, way="script", limits=limits, inputSchema=_number())

    async with running(tmp_path) as toolbox:
        for name in ("worker", "script"):
            assert (await ask(toolbox, name, n=8)).unwrap() == "x" * 8
            for over in (9, 10, 90_000):
                assert code_of(await ask(toolbox, name, n=over)) == "toolbox.output-too-large"


@pytest.mark.req("TP-21")
async def test_a_frame_that_the_worker_itself_writes_too_large_is_not_read(tmp_path: Path) -> None:
    code = """
        import os, struct
        def run(_):
            for handle in range(3, 10):  # the pipe to the parent is one of them
                try:
                    os.write(handle, struct.pack(">I", 50_000_000) + b"[" * 200_000)
                except OSError:
                    pass
            return 1
    """
    write_python(tmp_path, "forged", code, limits={"maxInputBytes": 100, "maxOutputBytes": 10})

    async with running(tmp_path) as toolbox:
        result = await ask(toolbox, "forged")

    assert code_of(result) == "toolbox.output-too-large"


@pytest.mark.req("TP-21", "TP-22")
async def test_input_over_the_limit_starts_nothing(tmp_path: Path) -> None:
    limits = {"maxInputBytes": 30, "maxOutputBytes": 100}
    touched = tmp_path / "out"
    touched.mkdir()
    caps = {"subprocess": True, "filesystem": {"write": ["out"]}}
    risk = {"effects": "write", "idempotent": True}
    cmd = ["/bin/sh", "-c", "touch out/ran; cat"]
    write_pack(tmp_path, "small", {"kind": "cli", "cmd": cmd}, limits=limits, caps=caps, risk=risk)

    async with running(tmp_path) as toolbox:
        over = await ask(toolbox, "small", text="x" * 20)
        assert not (touched / "ran").exists()
        fits = await ask(toolbox, "small", text="x" * 19)

    assert code_of(over) == "toolbox.arguments-too-large"
    assert over.error is not None
    assert over.error.category is ToolErrorCategory.LIMIT
    assert over.error.details == {"bytes": 31, "limit": 30}
    assert fits.unwrap() == {"text": "x" * 19}
    assert (touched / "ran").exists()


@pytest.mark.req("TP-20")
@pytest.mark.fault("D7")
async def test_large_input_deadlocks_with_no_tool(tmp_path: Path) -> None:
    limits = {"maxInputBytes": 10_000_000, "maxOutputBytes": 100}
    async with nothing_left() as family:
        shell(tmp_path, "deaf", "exec <&-; echo 1", family=family, limits=limits)
        shell(tmp_path, "reader", "wc -c", family=family, limits=limits)
        shell(tmp_path, "waits", "cat >/dev/null; sleep 600", family=family, limits=limits, timeoutMs=SHORT)
        async with running(tmp_path, grace=0.1) as toolbox:
            text = "x" * 2_000_000
            assert (await ask(toolbox, "deaf", text=text)).unwrap() == 1
            assert (await ask(toolbox, "reader", text=text)).unwrap() == 2_000_011
            assert code_of(await ask(toolbox, "waits", text=text)) == "toolbox.deadline-exceeded"


@pytest.mark.req("TP-20")
@pytest.mark.fault("D10")
async def test_many_calls_at_once_share_a_few_processes_and_none_is_lost(tmp_path: Path) -> None:
    async with nothing_left() as family:
        # Sixty calls wait for five processes: that none is lost is the point, not how long the last one takes.
        shell(tmp_path, "each", "exec cat", family=family, timeoutMs=120_000)
        code = "def run(payload):\n    return payload\n"
        write_python(tmp_path, "warm", code, timeoutMs=120_000, env={"set": {"TEST_FAMILY": family}})
        seen = 0

        async def watch() -> None:
            nonlocal seen
            while True:
                seen = max(seen, len(alive(family)))
                await asyncio.sleep(0.01)

        async with running(tmp_path, workers=2, processes=3) as toolbox:
            watching = asyncio.create_task(watch())
            calls = [ToolCall(f"test:{name}", {"n": n}) for n in range(30) for name in ("each", "warm")]
            results = await toolbox.execute(calls, max_parallel=60)
            watching.cancel()

    assert [each.unwrap() for each in results] == [{"n": n} for n in range(30) for _ in range(2)]
    assert 0 < seen <= 5


@pytest.mark.req("TP-21")
@pytest.mark.fault("D11")
async def test_callers_that_go_away_at_any_time_leave_nothing_behind(tmp_path: Path) -> None:
    async with nothing_left() as family:
        shell(tmp_path, "each", "sleep 0.02; cat", family=family)
        code = "import time\ndef run(payload):\n    time.sleep(0.02)\n    return payload\n"
        write_python(tmp_path, "warm", code, env={"set": {"TEST_FAMILY": family}})
        async with running(tmp_path, workers=4, processes=4) as toolbox:
            for step in range(24):
                name = ("each", "warm")[step % 2]
                calls = [asyncio.create_task(ask(toolbox, name, n=n)) for n in range(3)]
                await asyncio.sleep(0.004 * step)
                for each in calls:
                    each.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
            assert (await ask(toolbox, "warm", n=1)).unwrap() == {"n": 1}


@pytest.mark.req("TP-21")
async def test_a_call_that_waits_too_long_for_a_worker_never_starts(tmp_path: Path) -> None:
    code = "import time\ndef run(seconds):\n    time.sleep(seconds)\n    return seconds\n"
    schema = {"type": "object", "properties": {"seconds": {"type": "number"}}, "required": ["seconds"]}
    write_python(tmp_path, "sleeps", code, inputSchema=schema, timeoutMs=10_000)
    write_python(tmp_path, "hasty", "def run(_):\n    return 1\n", timeoutMs=200)

    async with open_toolbox(load(tmp_path), settings=_settings(workers=1)) as toolbox:
        await ask(toolbox, "sleeps", seconds=0)
        slow = asyncio.create_task(ask(toolbox, "sleeps", seconds=1.2))
        await asyncio.sleep(0.05)
        hasty = await ask(toolbox, "hasty")
        assert (await slow).unwrap() == 1.2

    assert hasty.error is not None
    assert "was not started in time" in hasty.error.message
    assert hasty.error.details["sent"] is False


def _number() -> dict[str, Any]:
    return {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def _settings(**options: Any) -> Any:
    from toolcrib_toolpacks.planning import RunSettings

    return RunSettings(**options)
