"""`toolcrib doctor` says which walls stand around which server."""

from __future__ import annotations

from toolcrib_cli.doctor_checks import check_walls
from toolcrib_cli.status_report import StatusReport

WALLED = {"landlock": "abi7", "network": "no sockets"}
OPEN = {"landlock": "off", "network": "not isolated"}


def _report(**sandboxes):
    servers = {name: {"health": {} if each is None else {"sandbox": each}} for name, each in sandboxes.items()}
    return StatusReport(config=None, source="probe", hub={"servers": servers})


def test_servers_behind_walls_and_without_are_told_apart():
    (check,) = check_walls(_report(files=WALLED, search=OPEN, remote=None))

    assert check.said == (
        "behind walls: files (network: no sockets, files: Landlock abi7); "
        "without: search, which can reach what their user can"
    )
    assert check.details == {"files": WALLED, "search": OPEN}
    assert not check.hint


def test_where_there_is_no_wall_at_all_it_is_said_how_to_get_one():
    (check,) = check_walls(_report(search=OPEN))

    assert check.said == "without: search, which can reach what their user can"
    assert "`sandbox`" in check.hint


def test_of_servers_that_are_not_started_here_nothing_is_said():
    assert list(check_walls(_report(remote=None))) == []


def test_where_all_are_behind_walls_nobody_is_without():
    (check,) = check_walls(_report(files={**OPEN, "landlock": "abi7"}))

    assert check.said == "behind walls: files (files: Landlock abi7)"
