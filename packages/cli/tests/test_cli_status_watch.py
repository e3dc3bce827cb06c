"""`toolcrib status --watch`: every change of a running gateway."""

from __future__ import annotations

import json
import os
from contextlib import suppress

import pytest

from toolcrib_cli import status_command
from toolcrib_cli.asking import Choice, place_of
from toolcrib_cli.status_command import changes_of, run_status
from toolcrib_mcp.serving import LiveStatus
from toolcrib_mcp.serving.live import LiveStatusFile

pytestmark = pytest.mark.req("CL-18")


class _Gateway:
    """The live status of a gateway that this process pretends to be."""

    def __init__(self, directory):
        self.config = directory / "mcp.json"
        self.config.write_text(json.dumps({"mcpServers": {"one": {"command": "one"}}}))
        self.choice = Choice(config=self.config, state_dir=directory / "state")
        self.file = LiveStatusFile(place_of(self.choice).state_dir)

    def tell(self, phase, *, written_at=float(2**40)):
        server = {"ok": True, "health": {"state": "known", "phase": phase}, "tools": {"served": 0}}
        hub = {"ok": True, "totals": {"servers": 1, "running": 0, "tools": {"served": 0}}, "servers": {"one": server}}
        status = LiveStatus(
            pid=os.getpid(), mode="gateway", address="stdio", started_at=1.0, written_at=written_at, hub=hub
        )
        self.file.write(status)


def test_every_change_is_given_once_and_a_status_that_is_only_renewed_is_none(tmp_path):
    gateway = _Gateway(tmp_path)
    gateway.tell("starting")
    later = [
        lambda: gateway.tell("starting", written_at=float(2**41)),
        lambda: gateway.tell("serving"),
        lambda: gateway.file.remove(),
    ]
    pauses: list[float] = []
    seen: list[str] = []

    def pause(seconds):
        pauses.append(seconds)
        if not later:
            raise KeyboardInterrupt
        later.pop(0)()

    with suppress(KeyboardInterrupt):
        seen.extend(next(report.servers()).state for report in changes_of(gateway.choice, timeout=1, pause=pause))

    assert seen == ["starting", "idle"]
    assert set(pauses) == {1.0}


@pytest.mark.parametrize("as_json", [True, False])
def test_it_ends_by_an_interrupt_with_the_last_status_as_exit_code(tmp_path, monkeypatch, capsys, as_json):
    gateway = _Gateway(tmp_path)
    gateway.tell("serving")

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        status_command, "changes_of", lambda choice, timeout: changes_of(choice, timeout=timeout, pause=interrupt)
    )
    code = run_status(choice=gateway.choice, as_json=as_json, timeout=1, watch=True)
    out = capsys.readouterr().out

    assert code == 0
    if as_json:
        (line,) = out.splitlines()
        assert json.loads(line)["servers"]["one"]["health"]["phase"] == "serving"
    else:
        assert "served in gateway mode" in out
