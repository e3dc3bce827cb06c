"""Worker processes and what they belong to: an event loop, a script, a parent that may be killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import textwrap
from collections.abc import Awaitable
from pathlib import Path

import process_tools as tools
import pytest
from process_children import needs_proc, until

from toolcrib_runtime import ProcessExecutor, create_toolbox

pytestmark = pytest.mark.req("RT-19")

_HEAD = """
    import asyncio, os, sys
    from toolcrib_runtime import ProcessExecutor, create_toolbox, tool

    @tool(effects="none")
    def double(x: int) -> int:
        "Double a number."
        return 2 * x

    @tool(effects="none")
    def whoami() -> int:
        "Tell which process it is."
        return os.getpid()

    @tool(effects="none")
    def hangs() -> None:
        "Never come back."
        print("hanging", file=sys.stderr)
        import threading
        threading.Event().wait()

    async def main():
        async with create_toolbox([double, whoami, hangs], executor=ProcessExecutor(workers=2)) as box:
"""


@needs_proc
def test_a_second_loop_gets_workers_of_its_own_and_those_of_the_first_end_with_it() -> None:
    box = create_toolbox([tools.whoami], executor=ProcessExecutor(workers=1))

    first = asyncio.run(_pid(box.call("whoami")))
    first_is_gone = not Path(f"/proc/{first}").exists()
    second = asyncio.run(_pid(box.call("whoami")))

    assert first_is_gone
    assert second != first
    assert not Path(f"/proc/{second}").exists()


@needs_proc
@pytest.mark.parametrize("by", ["closing", "the next call"])
def test_workers_of_a_loop_that_was_closed_without_a_word_are_ended_later(by: str) -> None:
    executor = ProcessExecutor(workers=1)
    box = create_toolbox([tools.whoami], executor=executor)
    loop = asyncio.new_event_loop()
    left = loop.run_until_complete(_pid(box.call("whoami")))
    loop.close()

    if by == "closing":
        asyncio.run(executor.aclose())
    else:
        asyncio.run(_pid(box.call("whoami")))

    assert not Path(f"/proc/{left}").exists()


async def test_closing_an_executor_that_was_never_used_does_nothing() -> None:
    await ProcessExecutor(workers=1).aclose()


@needs_proc
async def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = _script(
        tmp_path,
        """
            running = asyncio.create_task(box.call("hangs"))
            print((await box.call("whoami")).unwrap(), flush=True)
            await running
        """,
    )
    parent = _started(script)
    assert parent.stdout is not None
    with parent, parent.stdout as said:
        idle = int(said.readline())
        await until(lambda: len(_children_of(parent.pid)) == 2)
        workers = _children_of(parent.pid)

        parent.send_signal(signal.SIGKILL)

    assert idle in workers
    await until(lambda: not any(_runs(each) for each in workers))


@pytest.mark.parametrize("name", ["job.py", "job"])
def test_the_tools_of_the_script_that_was_started_run_in_workers(tmp_path: Path, name: str) -> None:
    script = _script(tmp_path, 'print((await box.call("double", {"x": 21})).unwrap())', name=name)

    done = _run([script])

    assert done == "42"


def test_the_tools_of_a_module_that_was_started_by_its_name_run_in_workers(tmp_path: Path) -> None:
    _script(tmp_path, 'print((await box.call("double", {"x": 21})).unwrap())', name="job.py")

    done = _run(["-m", "job"], cwd=tmp_path)

    assert done == "42"


def test_a_script_that_calls_its_tools_on_import_is_told_how_to_avoid_it(tmp_path: Path) -> None:
    call = 'error = (await box.call("double", {"x": 1})).error; print(error.code, error.hint)'
    script = _script(tmp_path, call, guard="if True:")

    done = _run([script])

    assert done == (
        "toolbox.load-failed Put everything that the script does, beyond definitions, "
        'under `if __name__ == "__main__":`.'
    )


def test_a_tool_that_was_piped_into_the_interpreter_is_refused(tmp_path: Path) -> None:
    script = _script(tmp_path, 'print((await box.call("double", {"x": 1})).error.message)')

    done = _run(["-"], text=Path(script).read_text(encoding="utf-8"))

    assert done.endswith("its function was typed in or piped in, so that no file has it.")


async def _pid(call: Awaitable[object]) -> int:
    return (await call).unwrap()  # type: ignore[attr-defined, no-any-return]


def _script(directory: Path, body: str, *, name: str = "job.py", guard: str = 'if __name__ == "__main__":') -> str:
    inner = textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
    path = directory / name
    path.write_text(f"{textwrap.dedent(_HEAD)}{inner}\n\n{guard}\n    asyncio.run(main())\n", encoding="utf-8")
    return str(path)


def _started(script: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def _run(arguments: list[str], *, cwd: Path | None = None, text: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, input=text, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    return done.stdout.strip()


def _children_of(pid: int) -> set[int]:
    try:
        return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return set()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
