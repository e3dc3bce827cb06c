"""The whole of the Claude Agent SDK, its program included, with a model on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import claude_agent_sdk
import pytest

from checks.workspace import ROOT
from tests.adapters.anthropic_server import AnthropicModel, says, tool_use
from tests.adapters.http_server import serving
from tests.real_parts import real_part_missing
from toolcrib_claude_agent import tool_search_env

PROGRAM = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
QUIET = {
    "ANTHROPIC_API_KEY": "no-key",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
}


@pytest.mark.slow
@pytest.mark.req("AD-9")
@pytest.mark.enable_socket
def test_the_example_lets_the_agent_use_a_tool_that_reads_and_refuses_one_that_writes(tmp_path: Path) -> None:
    if not PROGRAM.is_file():
        real_part_missing("the program that the Claude Agent SDK brings along on most systems")
    name, writes = "mcp__five__weather__forecast", "mcp__five__calendar__create_meeting"
    meeting = tool_use("t2", writes, title="Tea", day="2026-11-18", with_whom=["Ada"])
    model = AnthropicModel([[tool_use("t1", name, city="Oslo", days=1)], [meeting], [says("It is 20 degrees.")]])
    with serving(model) as url:
        run = subprocess.run(
            [sys.executable, str(ROOT / "examples/claude_agent_tools.py"), "Is it warm in Oslo?"],
            env=os.environ | QUIET | tool_search_env("never") | {"ANTHROPIC_BASE_URL": url, "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    assert (run.stdout, run.returncode) == ("It is 20 degrees.\n", 0), run.stderr
    offered = {each["name"] for each in model.requests[0]["tools"]}
    assert name in offered
    # Some versions of the program hide what is not allowed, others list it and speak of permission; none runs it.
    results = {
        block["tool_use_id"]: block
        for message in model.requests[-1]["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    }
    assert {name: bool(each.get("is_error")) for name, each in results.items()} == {"t1": False, "t2": True}
    assert results["t1"]["content"] == '{"Oslo, day 1":20}'
