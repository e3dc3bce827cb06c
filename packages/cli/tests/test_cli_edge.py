"""What leaves the process when something goes wrong: lines on standard error and an exit code."""

from __future__ import annotations

import io
import json
import os
import re
import sys

import pytest

from toolcrib_cli.edge import Edge
from toolcrib_cli.screen import tell
from toolcrib_core import ToolError
from toolcrib_mcp import ConfigError


def _leave(error: BaseException, *, debug: bool = False) -> object:
    edge = Edge()
    edge.debug = debug
    with pytest.raises(SystemExit) as caught, edge:
        raise error
    return caught.value.code


def test_an_error_is_told_with_what_to_do_next(capsys):
    code = _leave(ToolError("It is `broken`.", hint="Mend it."))

    assert (code, capsys.readouterr().err) == (1, "error: It is `broken`.\nhint: Mend it.\n")


def test_with_json_an_error_is_on_standard_output_too(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["toolcrib", "status", "--json"])

    code = _leave(ConfigError("It is `broken`.", hint="Mend it."))

    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert (code, error["code"], error["hint"]) == (2, "toolbox.invalid-config", "Mend it.")
    assert told.err == "error: It is `broken`.\nhint: Mend it.\n"


def test_an_error_without_a_hint_is_one_line(capsys):
    _leave(ToolError("It is `broken`."))

    assert capsys.readouterr().err == "error: It is `broken`.\n"


def test_a_configuration_that_cannot_be_used_has_an_exit_code_of_its_own():
    assert _leave(ConfigError("No.")) == 2


def test_an_unforeseen_error_shows_its_kind_and_an_id_but_no_value(capsys):
    code = _leave(ValueError("hunter2"))

    told = capsys.readouterr().err
    assert code == 1
    assert re.search(r"error: .* ValueError \(id [0-9a-f]{8}\)\.\nhint: .*--debug", told)
    assert "hunter2" not in told
    assert "Traceback" not in told


def test_with_debug_an_unforeseen_error_shows_where_it_comes_from(capsys):
    _leave(ValueError("here"), debug=True)

    told = capsys.readouterr().err
    assert "Traceback (most recent call last)" in told
    assert "ValueError: here" in told


def test_an_interrupt_is_silent(capsys):
    assert (_leave(KeyboardInterrupt()), capsys.readouterr().err) == (130, "")


def test_an_exit_code_comes_through():
    assert _leave(SystemExit(7)) == 7


def test_nothing_happens_when_nothing_goes_wrong():
    with Edge():
        pass


def test_a_line_that_nobody_reads_is_lost(monkeypatch):
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())

    tell("anybody?")


def test_every_violation_is_told_on_a_line_of_its_own(capsys):
    details = {"violations": [{"message": "One."}, {"message": "Two."}]}

    _leave(ToolError("It has 2 faults: see `violations`.", details=details))

    assert capsys.readouterr().err == "error: It has 2 faults:\n- One.\n- Two.\n"


def test_output_that_nobody_reads_any_more_ends_with_one_and_no_complaint(monkeypatch, capfd):
    reading, writing = os.pipe()
    os.close(reading)
    out = os.fdopen(writing, "w")
    monkeypatch.setattr(sys, "stdout", out)

    with pytest.raises(SystemExit) as caught, Edge():
        out.write("anybody?")
    out.close()

    assert (caught.value.code, capfd.readouterr().err) == (1, "")


def test_a_long_line_is_wrapped_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "20")

    tell("error: one two three four\nshort")

    assert terminal.getvalue() == "error: one two three\n  four\nshort\n"


def test_streams_that_were_closed_before_are_done_without(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)

    assert _leave(ToolError("Nobody reads this.")) == 1
    with Edge():
        assert sys.stdin.read() == ""
        sys.stdout.write("nor this")
