"""The status as people read it, from reports that hold everything that can be in one."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from toolcrib_cli.status_report import ServerReport, StatusReport
from toolcrib_cli.status_view import show_report
from toolcrib_mcp.serving.live import Held, LiveStatus

NOW = 1_000_000.0
COUNTS = {"served": 2, "leftOut": 0, "withheld": 0, "unlisted": 0, "denied": 0, "beyondCap": 0}
GOOD = {
    "ok": True,
    "namespace": "files",
    "health": {
        "name": "files",
        "state": "started",
        "phase": "serving",
        "address": "stdio:files",
        "era": "handshake",
        "protocolVersion": "2025-11-25",
        "tools": 2,
    },
    "tools": COUNTS,
    "findings": [],
}
FAILURE = {
    "message": "The server `web` could not be started. It ended with exit status 3.",
    "hint": "See what it wrote to standard error.",
    "details": {"stderr": "Traceback\n  \x1b[31mModuleNotFoundError\x1b[0m: no\n"},
}
FAILED = {
    "ok": False,
    "namespace": "web",
    "health": {
        "name": "web",
        "state": "configured",
        "phase": "waiting",
        "retryIn": 12.3,
        "address": "stdio:web",
        "failures": 3,
        "lastFailure": FAILURE,
        "lastFailureAt": NOW - 90,
    },
    "tools": {**COUNTS, "served": 0},
}
LIVE = LiveStatus(pid=4711, mode="proxy", address="stdio", started_at=NOW - 7200, written_at=NOW, hub={})


def _report(*, servers, **fields):
    running = sum(each["health"].get("state") == "started" for each in servers.values())
    totals = {"servers": len(servers), "running": running, "tools": COUNTS}
    hub = {"ok": True, "totals": totals, "servers": servers, **fields.pop("more", {})}
    return StatusReport(**{"config": Path("mcp.json"), "source": "probe", "hub": hub, **fields})


def _shown(report, **options):
    out = io.StringIO()
    console = Console(file=out, width=200, highlight=False, markup=False, emoji=False, **options)
    show_report(report, console=console, now=NOW)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def test_a_report_of_good_servers_is_a_table_and_a_sum():
    assert _shown(_report(servers={"files": GOOD})) == snapshot("""\
mcp.json: no running gateway; started each server to check it.

Server  State    Transport    Protocol                Tools
files   started  stdio:files  2025-11-25 (handshake)      2

1 server, 1 running, 0 failed, 2 tools.\
""")


def test_a_server_that_failed_is_told_with_its_last_words_and_what_to_do():
    assert _shown(_report(servers={"files": GOOD, "web": FAILED})) == snapshot("""\
mcp.json: no running gateway; started each server to check it.

Server  State    Transport    Protocol                Tools
files   started  stdio:files  2025-11-25 (handshake)      2
web     failed   stdio:web    -                           -

web: The server `web` could not be started. It ended with exit status 3. (3 failures, the last one 1 minute ago)
  hint: See what it wrote to standard error.
  the last lines that it wrote to standard error:
    | Traceback
    |   \\x1b[31mModuleNotFoundError\\x1b[0m: no

2 servers, 1 running, 1 failed, 2 tools.\
""")


def test_a_live_report_tells_what_the_process_holds():
    held = LIVE.model_copy(update={"held": Held(tasks=41, threads=1, sessions=12)})

    told = _shown(_report(servers={"files": GOOD}, source="live", processes=(held,)))

    assert told.splitlines()[1] == "It has 12 sessions open, 41 tasks and 1 thread."


def test_a_live_report_names_the_processes_that_serve():
    other = LIVE.model_copy(update={"pid": 99})

    told = _shown(_report(servers={"files": GOOD}, source="live", processes=(LIVE, other)))

    assert told.splitlines()[:2] == snapshot(
        [
            "mcp.json: served in proxy mode by process 4711 (stdio), started 2 hours ago.",
            "1 other process serves it, too: 99.",
        ]
    )


def test_a_live_report_tells_when_a_server_that_failed_is_started_again():
    told = _shown(_report(servers={"web": FAILED}, source="live", processes=(LIVE,)))

    assert "web     failed, again in 12 s" in told


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 seconds"), (1, "1 second"), (61, "1 minute"), (7300, "2 hours"), (90_000, "1 day")]
)
def test_times_are_told_roughly(seconds, words):
    live = LIVE.model_copy(update={"started_at": NOW - seconds})

    assert f"started {words} ago." in _shown(_report(servers={}, source="live", processes=(live,)))


@pytest.mark.fault("K23")
def test_an_audit_that_cannot_be_written_is_said_at_once_and_is_not_ok():
    hub = {"auditProblem": "No space left on device. All calls are refused."}
    live = LIVE.model_copy(update={"hub": hub})
    report = _report(servers={}, source="live", processes=(live,), more=hub)

    assert f"The audit of {LIVE.pid} cannot be written: No space left on device." in _shown(report)
    assert not report.ok


def test_findings_warnings_and_what_is_switched_off_are_told():
    finding = {
        "kind": "left-out",
        "upstream": "files",
        "name": "b\x1b[2Jad",
        "reason": "It has no schema.",
        "hint": "Add one.",
    }
    servers = {"files": {**GOOD, "findings": [finding, {**finding, "name": "", "hint": ""}]}}
    report = _report(
        servers=servers,
        warnings=("Line 3: odd.",),
        switched_off=("old",),
        more={"manifestProblem": "The disk is full."},
    )

    assert _shown(report) == snapshot("""\
mcp.json: no running gateway; started each server to check it.
warning: Line 3: odd.

Server  State    Transport    Protocol                Tools
files   started  stdio:files  2025-11-25 (handshake)      2

files: 2 findings about its tools
  left-out b\\x1b[2Jad: It has no schema. Add one.
  left-out without a name: It has no schema.

Switched off: old.
What is known of the servers is not kept: The disk is full.
1 server, 1 running, 0 failed, 2 tools.\
""")


def test_of_many_findings_only_the_first_are_shown():
    finding = {"kind": "repaired", "upstream": "files", "name": "one", "reason": "Odd."}

    told = _shown(_report(servers={"files": {**GOOD, "findings": [finding] * 30}}))

    assert told.count("repaired one") == 20
    assert "and 10 more: `--json` has all of them" in told


def test_what_a_server_says_gives_a_terminal_no_orders():
    told = _shown(_report(servers={"we\x1bb": FAILED}), force_terminal=True, color_system=None)

    assert "\x1b[31m" not in told
    assert "\\x1b[31mModuleNotFoundError" in told
    assert "we\\x1bb" in told


def test_a_terminal_wraps_between_words():
    out = io.StringIO()
    console = Console(file=out, width=40, force_terminal=True, color_system=None, highlight=False, markup=False)

    show_report(_report(servers={"web": FAILED}), console=console, now=NOW)

    assert "  hint: See what it wrote to standard\n  error.\n" in out.getvalue()


def test_a_failure_without_hint_and_words_is_one_line():
    bare = {"ok": False, "health": {"lastFailure": {"message": "No.", "details": None}}}

    told = _shown(_report(servers={"web": bare}))

    assert [line for line in told.splitlines() if "No." in line] == ["web: No."]
    assert "hint" not in told


def test_a_server_that_is_starting_has_not_failed():
    starting = {**FAILED, "health": {"state": "configured", "phase": "starting"}}

    report = _report(servers={"web": starting})

    assert report.ok
    assert [server.state for server in report.servers()] == ["starting"]


def test_a_server_that_was_never_needed_has_not_failed():
    resting = {**FAILED, "health": {"state": "configured", "phase": "resting"}}

    assert _report(servers={"web": resting}).ok


def test_a_server_that_came_back_has_not_failed():
    recovered = {**GOOD, "health": {**GOOD["health"], "lastFailure": FAILURE, "failures": 1}}

    assert _report(servers={"files": recovered}).ok


def test_a_server_that_was_too_slow_to_try_has_failed_with_that():
    slow = {"message": "The server `web` was not ready in time."}
    status = {**FAILED, "health": {"state": "configured", "phase": "starting"}}

    server = ServerReport(name="web", status=status, start_error=slow)

    assert (server.failed, server.error, server.state) == (True, slow, "failed")
    assert server.to_json()["startError"] == slow


def test_the_report_as_json_has_all_of_it():
    report = _report(servers={"files": GOOD, "web": FAILED}, source="live", processes=(LIVE,), switched_off=("old",))

    assert report.to_json() == snapshot(
        {
            "config": "mcp.json",
            "source": "live",
            "ok": False,
            "process": {
                "pid": 4711,
                "mode": "proxy",
                "address": "stdio",
                "startedAt": 992800.0,
                "writtenAt": 1000000.0,
            },
            "otherProcesses": [],
            "totals": {
                "servers": 2,
                "running": 1,
                "tools": {"served": 2, "leftOut": 0, "withheld": 0, "unlisted": 0, "denied": 0, "beyondCap": 0},
            },
            "servers": {
                "files": {
                    "ok": True,
                    "namespace": "files",
                    "health": {
                        "name": "files",
                        "state": "started",
                        "phase": "serving",
                        "address": "stdio:files",
                        "era": "handshake",
                        "protocolVersion": "2025-11-25",
                        "tools": 2,
                    },
                    "tools": {"served": 2, "leftOut": 0, "withheld": 0, "unlisted": 0, "denied": 0, "beyondCap": 0},
                    "findings": [],
                    "failed": False,
                },
                "web": {
                    "ok": False,
                    "namespace": "web",
                    "health": {
                        "name": "web",
                        "state": "configured",
                        "phase": "waiting",
                        "retryIn": 12.3,
                        "address": "stdio:web",
                        "failures": 3,
                        "lastFailure": {
                            "message": "The server `web` could not be started. It ended with exit status 3.",
                            "hint": "See what it wrote to standard error.",
                            "details": {
                                "stderr": """\
Traceback
  \x1b[31mModuleNotFoundError\x1b[0m: no
"""
                            },
                        },
                        "lastFailureAt": 999910.0,
                    },
                    "tools": {"served": 0, "leftOut": 0, "withheld": 0, "unlisted": 0, "denied": 0, "beyondCap": 0},
                    "failed": True,
                },
            },
            "switchedOff": ["old"],
            "leftOut": [],
            "warnings": [],
        }
    )


@pytest.mark.req("CL-13")
@pytest.mark.parametrize(
    ("idle", "words"), [(None, "not started yet"), (1800, "stopped after 30 min idle"), (20, "stopped after 20 s idle")]
)
def test_a_server_that_is_known_and_not_running_is_said_to_be_so(idle, words):
    health = {**GOOD["health"], "state": "known", "phase": "resting", "idleFor": idle}

    told = _shown(_report(servers={"files": {**GOOD, "health": health}}))

    assert f"files   {words}  stdio:files" in told


@pytest.mark.req("CL-13")
def test_a_configuration_that_is_not_served_as_it_is_now_is_told():
    more = {"configProblem": "mcp.json, line 3: no JSON.", "restartNeeded": ["mode", "pins"]}

    told = _shown(_report(servers={"files": GOOD}, more=more))

    assert "The configuration was changed and cannot be used: mcp.json, line 3: no JSON." in told
    assert "The servers of the version before are still served." in told
    assert "Changed, and in effect after a restart of `toolcrib serve`: mode, pins." in told
