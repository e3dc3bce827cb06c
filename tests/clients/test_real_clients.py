"""What a model reads of toolcrib through a real client is what toolcrib wrote for a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.client_report import judge, render
from tests.clients.running import run_client
from tests.clients.stage import orders_server, stage
from tests.reference.parts import installed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.enable_socket,
    pytest.mark.req("CL-23", "CL-1"),
]


@pytest.mark.parametrize("client", ["claude-code", "codex", "pydantic-ai", "langchain"])
def test_the_summary_its_handle_and_an_example_reach_the_model_of_a_real_client(client: str, tmp_path: Path) -> None:
    for part in (client, "node"):
        installed(part)

    with stage(tmp_path, "stdio", orders_server()) as running:
        outcome, printed = run_client(client, running, order=1)

    row = judge(client, "stdio", outcome, printed)
    assert row.is_good, render([row])
    assert {row.cells[cell] for cell in ("list", "browse", "small", "large", "view", "error")} == {"seen"}
