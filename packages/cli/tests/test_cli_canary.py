"""A secret is planted everywhere, and looked for everywhere: it is found only where its owner put it."""

from __future__ import annotations

import json
import os
import secrets
import sys
from pathlib import Path

import pytest

LEAKY = Path(__file__).with_name("leaky_server.py")
PLANTED = "CHAOS_CANARY_SECRET"
"""Where the secret of the whole suite is planted, which `scripts/test` looks for in all that the tests have written."""
TOOLS = ("environment", "echo", "fail", "refuse", "long")


@pytest.mark.req("GW-8.6")
@pytest.mark.fault("F18")
@pytest.mark.parametrize("mode", ["gateway", "proxy", "transparent"])
async def test_a_planted_secret_is_in_no_answer_no_log_and_no_file(workshop, monkeypatch, mode):
    canary = os.environ.get(PLANTED) or f"canary-{secrets.token_hex(16)}"
    monkeypatch.setenv("MY_TOKEN", canary)
    monkeypatch.setenv(PLANTED, canary)
    entry = workshop._entry(sys.executable, str(LEAKY))
    workshop.write(
        {"audit": {"arguments": True}}, leaky={**entry, "env": {**entry["env"], "LEAKY_TOKEN": "${MY_TOKEN}"}}
    )
    workshop.permit('default = "allow"', "[[rule]]", 'decision = "ask"', 'tool = "echo"')

    answers = []
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


def _files_with(folder: Path, canary: str) -> list[Path]:
    spelt = (canary.encode(), canary.encode().hex().encode())
    return [file for file in folder.rglob("*") if file.is_file() and any(each in file.read_bytes() for each in spelt)]
