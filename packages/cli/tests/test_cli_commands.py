"""The commands in this process: what they hand on, and what they say on a terminal."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import sys
import time
from importlib.metadata import version

import pytest

from tests.chaos import hostile_server
from toolcrib_cli import app as command_line
from toolcrib_cli.asking import Choice
from toolcrib_cli.probing import probe
from toolcrib_cli.serve_command import run_serve
from toolcrib_cli.state_directory import state_of
from toolcrib_cli.status_command import run_status
from toolcrib_cli.wiring import Asked
from toolcrib_mcp import ConfigError, load_config
from toolcrib_mcp.serving import LiveStatus
from toolcrib_mcp.serving.greeting import first_greeting
from toolcrib_mcp.serving.live import LiveStatusFile


class Terminal(io.StringIO):
    """Standard error as a person has it."""

    def isatty(self):
        return True


@pytest.fixture
def config(tmp_path):
    """A configuration with one server."""
    entry = {"command": sys.executable, "args": ["-I", "-S", hostile_server.__file__, "--mode", "good"]}
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"one": entry, "off": {**entry, "disabled": True, "mood": 1}}}))
    return file


@pytest.fixture
def served(monkeypatch):
    """What would be served, and where, instead of serving it; over HTTP it is ready at the `url`."""
    given = {"url": None}

    async def serve(config, **options):
        given.update(options, servers=list(config.servers))
        options["on_ready"](given["url"])

    async def serve_composed(compose, entrance):
        async with compose() as composition:
            given.update(vars(entrance), servers=list(composition.config.servers))

    monkeypatch.setattr("toolcrib_mcp.serving.serve", serve)
    monkeypatch.setattr("toolcrib_mcp.serving.serve_composed", serve_composed)
    monkeypatch.setattr(logging, "basicConfig", lambda **options: given.update(level=options["level"]))
    return given


def _serve(config, tmp_path, **options):
    choice = Choice(config=config, state_dir=options.pop("state_dir", tmp_path / "state"))
    run_serve(**{"choice": choice, "mode": "proxy", "http": None, "log_level": "info", **options})


def test_serve_hands_on_what_was_asked_for(config, tmp_path, served):
    _serve(config, tmp_path, http="127.0.0.1:99")

    assert (served["servers"], served["mode"], served["level"]) == (["one", "off"], "proxy", "INFO")
    assert (served["http"].host, served["http"].port) == ("127.0.0.1", 99)
    assert served["state_dir"] == state_of(config, tmp_path / "state")
    assert served["state_dir"].stat().st_mode & 0o777 == 0o700


def test_the_address_of_the_settings_counts_when_none_is_named(config, tmp_path, served):
    (tmp_path / "toolcrib.toml").write_text("[http]\nport = 1234\n")

    _serve(config, tmp_path)

    assert served["http"].port == 1234


def test_over_http_the_address_is_announced_in_one_line(config, tmp_path, served, capsys):
    served["url"] = "http://127.0.0.1:99/mcp"

    _serve(config, tmp_path, http="99")

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1] == "toolcrib serves 1 server in proxy mode at http://127.0.0.1:99/mcp"


def test_over_stdio_only_a_terminal_is_greeted(config, tmp_path, served, monkeypatch):
    terminal, pipe = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    _serve(config, tmp_path)
    monkeypatch.setattr(sys, "stderr", pipe)
    _serve(config, tmp_path)

    assert "toolcrib serves 1 server in proxy mode over standard input and output" in terminal.getvalue()
    assert "toolcrib serves" not in pipe.getvalue()


def test_a_terminal_is_greeted_also_where_the_greeting_of_clients_is_kept(config, tmp_path, served, monkeypatch):
    terminal = Terminal()
    _serve(config, tmp_path)
    greeting = first_greeting("proxy", execute="one", max_message=1000)
    served["kept"].write(greeting)
    monkeypatch.setattr(sys, "stderr", terminal)

    _serve(config, tmp_path)

    assert (served["greeting"], served["max_message"]) == (greeting, 1000)
    assert "toolcrib serves 1 server in proxy mode over standard input and output" in terminal.getvalue()


def test_warnings_about_the_configuration_are_told(config, tmp_path, served, capsys):
    _serve(config, tmp_path)

    assert "warning: Line 1:" in capsys.readouterr().err


def test_a_state_directory_that_was_named_must_be_usable(config, tmp_path, served):
    (tmp_path / "state").touch()

    with pytest.raises(ConfigError, match="cannot be used"):
        _serve(config, tmp_path)


def test_without_a_usable_state_directory_nothing_is_kept(config, tmp_path, served, capsys, monkeypatch):
    (tmp_path / "state").touch()
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))

    _serve(config, tmp_path, state_dir=None)

    assert served["state_dir"] is None
    assert "Known tools, live health and large results are not kept" in capsys.readouterr().err


@pytest.mark.fault("K8")
@pytest.mark.parametrize("named", [True, False])
def test_a_state_directory_that_others_may_write_to_is_not_done_without(config, tmp_path, served, named, monkeypatch):
    state = tmp_path / "state"
    _serve(config, tmp_path)
    (directory,) = (each for each in state.iterdir() if each.is_dir())
    directory.chmod(0o770)
    served.clear()
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(state))

    with pytest.raises(ConfigError, match="Nothing is served") as caught:
        _serve(config, tmp_path, state_dir=state if named else None)

    assert f"`chmod go-w {directory}`" in str(caught.value.hint)
    assert "servers" not in served


@pytest.mark.parametrize(("number", "kind"), [(errno.EBADF, ConfigError), (errno.EIO, OSError)])
def test_closed_streams_are_told_and_other_failures_are_not_mistaken_for_them(
    config, tmp_path, monkeypatch, number, kind
):
    async def serve_composed(compose, entrance):
        raise OSError(number, "No.")

    monkeypatch.setattr("toolcrib_mcp.serving.serve_composed", serve_composed)
    monkeypatch.setattr(logging, "basicConfig", lambda **options: None)

    with pytest.raises(kind):
        _serve(config, tmp_path)


@pytest.mark.req("GW-6.4")
def test_status_tries_servers_that_nobody_serves(config, tmp_path, capsys):
    code = run_status(choice=Choice(config=config, state_dir=tmp_path / "state"), as_json=False, timeout=20)

    said = capsys.readouterr()
    assert (code, said.err) == (0, "")
    assert "1 server, 1 running, 0 failed, 2 tools." in said.out


@pytest.mark.req("GW-6.4")
def test_status_takes_the_word_of_a_process_that_serves(config, tmp_path, capsys):
    state = state_of(config, tmp_path / "state")
    now = time.time()
    failed = {"ok": False, "tools": {"served": 0}, "health": {"state": "known", "lastFailure": {"message": "No."}}}
    LiveStatusFile(state).write(
        LiveStatus(
            pid=os.getpid(),
            mode="proxy",
            address="stdio",
            started_at=now,
            written_at=now,
            hub={"servers": {"one": failed}},
        )
    )

    code = run_status(choice=Choice(config=config, state_dir=tmp_path / "state"), as_json=True, timeout=20)

    told = json.loads(capsys.readouterr().out)
    assert code == 1
    assert (told["source"], told["process"]["pid"], told["otherProcesses"]) == ("live", os.getpid(), [])
    assert (told["servers"]["one"]["failed"], told["switchedOff"]) == (True, ["off"])


def test_a_trial_shows_on_a_terminal_that_something_is_under_way(config, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")

    found = probe(Asked(config=load_config(config)), timeout=20)

    assert "Starting servers: 1 of 1 ready" in terminal.getvalue()
    assert (found.status["ok"], found.failures) == (True, {})


def test_a_trial_that_is_interrupted_ends_as_one(config, monkeypatch):
    async def stopped(event, work):
        work.close()

    monkeypatch.setattr("toolcrib_mcp.serving.unless", stopped)

    with pytest.raises(KeyboardInterrupt):
        probe(Asked(config=load_config(config)), timeout=20)


def _main(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["toolcrib", *arguments])
    with pytest.raises(SystemExit) as caught:
        command_line.main()
    return caught.value.code


def test_the_command_line_reaches_each_command(config, tmp_path, served, monkeypatch, capsys):
    place = ("--config", str(config), "--state-dir", str(tmp_path / "state"))

    codes = [_main(monkeypatch, *each, *place) for each in (("serve", "--mode", "proxy"), ("status", "--json"))]

    assert codes == [0, 0]
    assert json.loads(capsys.readouterr().out)["ok"] is True


def test_the_command_line_tells_its_version(monkeypatch, capsys):
    code = _main(monkeypatch, "--version")

    assert (code, capsys.readouterr().out) == (0, f"toolcrib {version('toolcrib-cli')}\n")


def test_an_error_of_a_command_ends_with_its_code(tmp_path, monkeypatch, capsys):
    code = _main(monkeypatch, "serve", "--config", str(tmp_path / "none.json"))

    assert code == 2
    assert capsys.readouterr().err.startswith("error: The configuration `none.json` is not there.")


def test_debug_shows_where_an_unforeseen_error_comes_from(config, tmp_path, monkeypatch, capsys):
    async def serve_composed(compose, entrance):
        raise ZeroDivisionError

    monkeypatch.setattr("toolcrib_mcp.serving.serve_composed", serve_composed)
    monkeypatch.setattr(logging, "basicConfig", lambda **options: None)
    place = ("--config", str(config), "--state-dir", str(tmp_path / "state"))

    plain = _main(monkeypatch, "serve", "--mode", "proxy", *place), capsys.readouterr().err
    debugged = _main(monkeypatch, "--debug", "serve", "--mode", "proxy", *place), capsys.readouterr().err

    assert (plain[0], "Traceback" in plain[1]) == (1, False)
    assert (debugged[0], "Traceback" in debugged[1]) == (1, True)
