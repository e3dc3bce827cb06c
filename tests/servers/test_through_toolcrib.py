"""Six real servers list and answer through toolcrib as they do directly, a browser among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.server_catalogue import read_catalogue, select_servers
from checks.server_comparison import compare_all, render_table
from checks.server_fixtures import serve_fixtures
from tests.real_parts import real_part_missing

SERVERS = ("playwright", "obsidian", "github", "calculator", "time", "everything")
"""From npm and PyPI, of three SDKs; those that start fast."""


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.xdist_group("reference-servers")
@pytest.mark.req("CL-24", "CL-7")
async def test_six_real_servers_list_and_answer_through_toolcrib_as_they_do_directly(tmp_path: Path) -> None:
    (tmp_path / "fixtures").mkdir()
    with serve_fixtures(tmp_path / "fixtures") as fixtures:
        servers = select_servers(SERVERS, read_catalogue(fixtures))
        compared = await compare_all(servers, fixtures, tmp_path)

    missing = [each.skipped for each in compared if each.skipped]
    if missing:
        real_part_missing("; ".join(missing))
    assert [each for one in compared for each in one.unexplained] == [], render_table(compared)
    assert {each.server: each.calls for each in compared} == {**dict.fromkeys(SERVERS, 1), "playwright": 2}
