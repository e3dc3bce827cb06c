"""A secret is planted everywhere, and looked for everywhere: it is found only where its owner put it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

LEAKY = Path(__file__).with_name("leaky_server.py")
PLANTED = "CHAOS_CANARY_SECRET"
"""Where the secret of the whole suite is planted, which `scripts/test` looks for in all that the tests have written."""
TOOLS = ("environment", "echo", "fail", "refuse", "long")


@pytest.mark.req("GW-8.6")
@pytest.mark.fault("F18")
@pytest.mark.enable_socket
@pytest.mark.parametrize("planted", ["environment", "headers"])
@pytest.mark.parametrize("mode", ["gateway", "proxy", "transparent"])
async def test_a_planted_secret_is_in_no_answer_no_log_and_no_file(workshop, monkeypatch, mode, planted):
    canary = os.environ.get(PLANTED) or f"canary-{secrets.token_hex(16)}"
    monkeypatch.setenv("MY_TOKEN", canary)
    monkeypatch.setenv(PLANTED, canary)
    holding = ExitStack()
    if planted == "environment":
        entry = workshop._entry(sys.executable, str(LEAKY))
        entry = {**entry, "env": {**entry["env"], "LEAKY_TOKEN": "${MY_TOKEN}"}}
    else:
        url = holding.enter_context(_leaking_over_http())
        entry = {"url": url, "headers": {"Authorization": "Bearer ${MY_TOKEN}"}}
    workshop.write({"audit": {"arguments": True}}, leaky=entry)
    workshop.permit('default = "allow"', "[[rule]]", 'decision = "ask"', 'tool = "echo"')

    answers = []
    with holding:
        async with workshop.serving("--mode", mode, "--log-level", "debug") as served:
            await served.greet()
            await served.ask("tools/list", {})
            for tool in TOOLS:
                arguments = {"text": canary, "nested": [{"token": canary}]}
                name, given = tool, arguments
                if mode != "transparent":
                    name, given = "tool_execute", {"tool_id": f"leaky__{tool}", "args": arguments}
                served.send("tools/call", {"name": name, "arguments": given})
                answers.append(await served.receive())
            await served.ended()
    audit = await workshop.run_raw(*workshop.command("audit")[:-4], "tail", *workshop.command("audit")[-4:])

    assert len(answers) == len(TOOLS)
    assert "APPROVAL_REQUIRED" in json.dumps(answers)
    assert "••••" in json.dumps(answers, ensure_ascii=False)
    assert canary not in json.dumps(answers)
    assert canary not in served.err
    assert canary not in audit.out + audit.err
    assert _files_with(workshop.directory, canary) == []


@contextmanager
def _leaking_over_http() -> Iterator[str]:
    command = [sys.executable, str(LEAKY), "--http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.kill()


def _files_with(folder: Path, canary: str) -> list[Path]:
    spelt = (canary.encode(), canary.encode().hex().encode())
    return [file for file in folder.rglob("*") if file.is_file() and any(each in file.read_bytes() for each in spelt)]
