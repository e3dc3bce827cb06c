"""A tool that forks: the copy ends where the tool's code ends, and answers nobody."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.req("RT-19"),
    pytest.mark.skipif(sys.platform == "win32", reason="there is no fork"),
]

# In a process of its own: whatever a copy did would happen to the test runner.
_SCRIPT = """
import asyncio, os, sys, warnings
warnings.simplefilter("ignore")  # CPython warns of forking beside threads
from toolcrib_runtime import Policy, create_tool, create_toolbox

children = []

def work(fails: bool) -> str:
    child = os.fork()
    if child:
        children.append(child)
        return "parent"
    if fails:
        raise ValueError("child")
    return "child"

async def work_async(fails: bool) -> str:
    await asyncio.sleep(0)
    return work(fails)

async def main() -> None:
    plain = {"inline": False, "thread": True}.get(sys.argv[1])
    function = work_async if plain is None else work
    options = {} if plain is None else {"blocking": plain}
    tool = create_tool(function, name="work", description="Fork.", effects="read", **options)
    if sys.argv[2] == "alone":
        print("result", await tool.run({"fails": sys.argv[3] == "fails"}), flush=True)
    else:
        toolbox = create_toolbox([tool], policy=Policy(by_risk=None))
        result = await toolbox.call("work", {"fails": sys.argv[3] == "fails"})
        print("result", result.value, flush=True)
    for child in children:
        _, status = os.waitpid(child, 0)
        print("copy", os.waitstatus_to_exitcode(status), flush=True)

asyncio.run(main())
print("end", flush=True)
"""


@pytest.mark.parametrize("copy", ["returns", "fails"])
@pytest.mark.parametrize("through", ["toolbox", "alone"])
@pytest.mark.parametrize("where", ["inline", "thread", "async"])
def test_a_copy_of_the_process_ends_with_the_tools_code_and_there_is_one_result(
    where: str, through: str, copy: str
) -> None:
    command = [sys.executable, "-c", _SCRIPT, where, through, copy]

    ended = subprocess.run(command, capture_output=True, timeout=60, check=True, text=True)

    assert ended.stdout.splitlines() == ["result parent", "copy 70", "end"]
