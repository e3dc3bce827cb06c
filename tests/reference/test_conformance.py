"""The official conformance suite finds the same, check by check, in a server and in the proxy before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reference.conformance import HANDSHAKE, MODERN, REVISIONS, SuiteRun, differences, run_suite
from tests.reference.processes import conformance_server, listening, serve_command, write_config

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket, pytest.mark.xdist_group("conformance")]

_KNOWN_RUNS: dict[tuple[str, str], SuiteRun] = {}


async def run_directly(revision: str, folder: Path, *arguments: str) -> SuiteRun:
    """The suite against the fixture itself; runs of the same kind are made once."""
    key = (revision, " ".join(arguments))
    if key not in _KNOWN_RUNS:
        with listening(conformance_server("--http", *arguments)) as url:
            _KNOWN_RUNS[key] = await run_suite(url, revision, folder=folder / "direct")
    return _KNOWN_RUNS[key]


async def run_through_proxy(entry: dict[str, Any], revision: str, folder: Path) -> SuiteRun:
    """The suite against the transparent proxy, with one server behind it."""
    config = write_config(folder, {"fixture": entry})
    with listening(serve_command(config, "transparent", "--http", "127.0.0.1:0")) as url:
        return await run_suite(url, revision, folder=folder / "proxied")


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_fixture_is_complete(revision: str, tmp_path: Path) -> None:
    found = await run_directly(revision, tmp_path)

    assert found.faults(found.scored) == {}


async def test_the_fixture_answers_with_questions_in_every_way_the_suite_knows(tmp_path: Path) -> None:
    found = await run_directly(MODERN, tmp_path)

    rounds = {name: checks for name, checks in found.scenarios.items() if name.startswith("input-required-result-")}
    assert len(rounds) == 14
    assert all(any(check.status == "SUCCESS" for check in checks) for checks in rounds.values())
    assert found.faults(rounds) == {}


@pytest.mark.parametrize(
    ("mutation", "revision", "scenario"),
    [
        ("hides-errors", HANDSHAKE, "tools-call-error"),
        ("drops-images", HANDSHAKE, "tools-call-image"),
        ("drops-progress", HANDSHAKE, "tools-call-with-progress"),
        ("drops-audio", MODERN, "tools-call-audio"),
        ("drops-freshness", MODERN, "caching"),
        ("drops-request-state", MODERN, "input-required-result-multi-round"),
    ],
)
async def test_a_single_loss_shows_in_its_own_scenario_only(
    mutation: str, revision: str, scenario: str, tmp_path: Path
) -> None:
    (tmp_path / "whole").mkdir()
    whole = await run_directly(revision, tmp_path / "whole")

    lossy = await run_directly(revision, tmp_path, "--mutation", mutation)

    assert list(differences(whole, lossy)) == [scenario]


@pytest.mark.req("GW-6.6", "GW-6.2")
@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_proxy_before_a_stdio_server_gives_the_same_results(revision: str, tmp_path: Path) -> None:
    direct = await run_directly(revision, tmp_path)

    proxied = await run_through_proxy(conformance_server().entry, revision, tmp_path)

    assert differences(direct, proxied) == {}


@pytest.mark.req("GW-6.6", "GW-6.2")
@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_proxy_before_an_http_server_gives_the_same_results(revision: str, tmp_path: Path) -> None:
    direct = await run_directly(revision, tmp_path)

    with listening(conformance_server("--http")) as url:
        proxied = await run_through_proxy({"type": "http", "url": url}, revision, tmp_path)

    assert differences(direct, proxied) == {}
