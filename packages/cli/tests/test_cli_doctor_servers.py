"""`toolcrib doctor` names the limits and the sandbox of each server."""

from __future__ import annotations

import json

import pytest

from toolcrib_cli.doctor_checks import check_environment, check_limits, check_sandboxes
from toolcrib_cli.status_report import StatusReport
from toolcrib_mcp import load_config

CONFINED = {"landlock": "abi7", "network": "no sockets"}
OPEN = {"landlock": "off", "network": "not isolated"}
UNCONFINED = (
    "No sandbox and no resource limits: `search`. "
    "They can reach what your user can; confine one with `sandbox` under `toolcrib.servers`."
)


def _config(tmp_path, servers, **settings):
    file = tmp_path / "mcp.json"
    entries = {name: {"command": "x"} if name != "remote" else {"url": "https://example.com/mcp"} for name in servers}
    file.write_text(json.dumps({"mcpServers": entries, "toolcrib": {"servers": servers, **settings}}), "utf-8")
    return load_config(file)


def _report(**sandboxes):
    servers = {name: {"health": {} if each is None else {"sandbox": each}} for name, each in sandboxes.items()}
    return StatusReport(config=None, source="probe", hub={"servers": servers})


@pytest.mark.req("CL-7")
def test_the_sandbox_and_the_limits_of_each_local_server_are_named(tmp_path):
    config = _config(
        tmp_path,
        {
            "files": {"sandbox": {"network": False, "read": ["/srv"]}},
            "search": {},
            "heavy": {"sandbox": {"memoryBytes": 2**31, "cpuSeconds": 9000, "openFiles": 64}},
            "idle": {"sandbox": {"network": False, "write": ["/srv"], "memoryBytes": 2**26}},
            "remote": {},
        },
    )
    report = _report(files=CONFINED, search=OPEN, heavy=OPEN, idle=None, remote=None)

    (check,) = check_sandboxes(config, report)

    assert check.said == "3 of 4 local servers confined"
    assert check.hint.splitlines() == [
        "files: no network (no sockets), only listed files (Landlock abi7)",
        "heavy: 2 GiB of address space, 9,000 s of CPU time, 64 open files",
        "idle: no network, only listed files, 64 MiB of address space",
        UNCONFINED,
    ]
    assert check.details["search"] == {"sandbox": OPEN, "configured": None}
    assert check.details["idle"]["configured"]["memoryBytes"] == 2**26


def test_where_every_local_server_is_confined_no_other_is_named(tmp_path):
    config = _config(tmp_path, {"files": {"sandbox": {"network": False}}})

    (check,) = check_sandboxes(config, _report(files={**OPEN, "network": "no sockets"}))

    assert check.said == "1 of 1 local server confined"
    assert check.hint == "files: no network (no sockets)"


def test_a_server_that_is_reached_by_a_url_has_no_sandbox_to_be_shown(tmp_path):
    assert list(check_sandboxes(_config(tmp_path, {"remote": {}}), _report(remote=None))) == []


@pytest.mark.req("CL-7")
def test_every_limit_is_shown_with_its_default_and_with_what_a_server_has_of_its_own(tmp_path):
    config = _config(tmp_path, {"slow": {"timeout": 300, "startTimeout": 90, "concurrency": 2}, "plain": {}})

    check = check_limits(config)

    assert check.said == (
        "60 s for a call, 30 s for a start, 64 calls at once for each server, messages of up to 16 MiB, "
        "10,000 tools for each server"
    )
    assert check.hint == "slow: 300 s for a call, 90 s for a start, 2 calls at once"
    assert check.details["servers"] == {
        "slow": {"timeout": 300, "startTimeout": 90, "concurrency": 2},
        "plain": {"timeout": 60, "startTimeout": 30, "concurrency": 64},
    }


@pytest.mark.req("CL-8")
def test_the_variables_that_each_local_server_gets_are_named_and_no_value_is_shown(tmp_path):
    servers = {"plain": {}, "cloud": {"inheritEnv": ["AWS_*"]}, "remote": {}}
    config = _config(tmp_path, servers)
    environ = {
        "PATH": "/bin",
        "DISPLAY": ":canary",
        "AWS_SECRET_ACCESS_KEY": "canary",
        "HTTPS_PROXY": "http://ada:canary@proxy.example",
    }

    (check,) = check_environment(config, environ)

    assert (check.verdict, check.said) == ("note", "2 variables of this session for every local server")
    assert check.hint.splitlines() == [
        "every local server: DISPLAY, PATH",
        "cloud, from this session: AWS_SECRET_ACCESS_KEY",
        "Not passed on, because the value holds a secret: HTTPS_PROXY. `inheritEnv` passes it on.",
    ]
    assert check.details["servers"]["plain"] == {"session": ["DISPLAY", "PATH"], "env": []}
    assert "canary" not in json.dumps(check.to_json())


@pytest.mark.req("CL-8")
def test_the_own_variables_of_a_server_are_named_beside_those_of_the_session(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"it": {"command": "x", "env": {"TOKEN": "canary"}}}}), "utf-8")

    (check,) = check_environment(load_config(file), {})

    assert check.hint == "it, from its `env`: TOKEN"


def test_where_no_server_is_started_here_no_environment_is_shown(tmp_path):
    assert list(check_environment(_config(tmp_path, {"remote": {}}), {"PATH": "/bin"})) == []
