"""toolcrib never starts itself without end: real processes, counted."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys

import pytest
from process_children import SIGN, nothing_left

pytestmark = pytest.mark.req("CL-11")


def _run(folder, *args, family):
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), SIGN: family}
    command = [sys.executable, "-m", "toolcrib_cli", *args]
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=240, check=False)


def _launcher(folder, family):
    """A script that starts toolcrib, which no configuration shows, and writes down how deep it was started."""
    script, journal = folder / "launch", folder / "journal"
    script.write_text(
        f'#!/bin/sh\necho "$TOOLCRIB_CHAIN" >> {journal}\nexec {sys.executable} -m toolcrib_cli serve --config "$1"\n',
        "utf-8",
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def entry(config):
        return {"command": str(script), "args": [str(folder / config)], "env": {SIGN: family, "HOME": str(folder)}}

    return entry, journal


def _config(folder, name, servers, **ours):
    settings = {"servers": {each: {"restart": {"when": "never"}, "startTimeout": 60} for each in servers}, **ours}
    (folder / name).write_text(json.dumps({"mcpServers": servers, "toolcrib": settings}), "utf-8")


async def test_the_natural_entry_that_leads_back_is_refused_with_a_sentence(tmp_path):
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"toolcrib": {"command": "toolcrib", "args": ["serve"]}}}')
    async with nothing_left() as family:
        ended = _run(tmp_path, "serve", family=family)

    assert ended.returncode != 0
    assert "It starts toolcrib with this same configuration" in ended.stderr


@pytest.mark.parametrize("loop", [["a.json"], ["a.json", "b.json"]], ids=["itself", "each-other"])
async def test_configurations_that_lead_back_through_a_script_end(tmp_path, loop):
    async with nothing_left() as family:
        entry, journal = _launcher(tmp_path, family)
        for config, following in zip(loop, [*loop[1:], loop[0]], strict=True):
            _config(tmp_path, config, {"inner": entry(following)})
        ended = _run(tmp_path, "status", "--config", "a.json", "--timeout", "60", family=family)

    depths = [len(json.loads(line)) for line in journal.read_text("utf-8").splitlines()]
    assert max(depths) <= len(loop)
    assert len(depths) <= 2 * len(loop)
    if len(loop) == 1:
        assert "leads back to itself" in ended.stdout + ended.stderr
