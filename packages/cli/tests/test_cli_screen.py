"""What is written to a screen, to a file and to a terminal of another time."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolcrib_cli.demo_command import run_demo
from toolcrib_cli.edge import Edge, tell_error
from toolcrib_cli.log_lines import LineFormatter, write_plain_lines
from toolcrib_cli.screen import print_json, print_text, say, screen, tell, working
from toolcrib_mcp.errors import GatewayError

STRANGE = {"a": "ä…😀", "order": "\x1b[31m\x9b\u202e", "line": "one\ntwo"}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
def test_json_is_the_same_value_on_every_terminal_and_holds_no_order(monkeypatch, encoding):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)

    print_json(STRANGE)

    out.flush()
    written = out.buffer.getvalue().decode(encoding)
    assert json.loads(written) == STRANGE
    assert all(each == "\n" or each.isprintable() for each in written)
    assert ("ä…😀" in written) is (encoding == "utf-8")


def test_text_in_a_file_is_as_it_came(capsys):
    print_text("a\x1b[31m\n")

    assert capsys.readouterr().out == "a\x1b[31m\n"


HOSTILE = "a\x1b]0;title\x07\x1b[2J\x9b31m\r\u202eb"
SEEN = "a\\x1b]0;title\\x07\\x1b[2J\\x9b31m\\r\\u202eb"


def test_nothing_in_a_line_on_standard_error_is_an_order(capsys):
    tell(f"error: {HOSTILE}\nhint")

    assert capsys.readouterr().err == f"error: {SEEN}\nhint\n"


def test_no_line_of_an_error_can_pass_for_another_error(capsys):
    tell_error(GatewayError(f"It said {HOSTILE}\nerror: forged", hint="Look."))

    assert capsys.readouterr().err == f"error: It said {SEEN}\n  error: forged\nhint: Look.\n"


def test_nothing_that_is_printed_is_an_order_as_text_or_in_a_table(capsys):
    table = Table(box=None)
    table.add_column("[bold]Name", no_wrap=True)
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE))

    for each in (HOSTILE, Text(HOSTILE), "[bold]not bold[/] :smile:", table):
        screen().print(each)

    written = capsys.readouterr().out
    assert all(each == "\n" or each.isprintable() for each in written)
    # Some of it rich drops, and a column of a table has an end.
    assert written.count("a\\x1b]0;title\\x") == 4
    assert "[bold]not bold[/] :smile:" in written
    assert "[bold]Name" in written


def test_a_record_of_the_log_is_one_line_and_its_traceback_cannot_be_taken_for_another():
    said, exception = f"said {HOSTILE}\n2026-01-01 INFO forged", ValueError(f"{HOSTILE}\n2026-01-01 INFO forged")
    record = logging.LogRecord("x", logging.ERROR, "", 1, "%s", (said,), (ValueError, exception, None))

    first, *rest = LineFormatter("%(levelname)s: %(message)s").format(record).split("\n")

    assert first == f"ERROR: said {SEEN}\\n2026-01-01 INFO forged"
    assert rest == [f"  ValueError: {SEEN}", "  2026-01-01 INFO forged"]


def test_a_warning_that_no_handler_takes_is_such_a_line_too(monkeypatch, capsys):
    handler = logging.StreamHandler(sys.stderr)
    monkeypatch.setattr(logging, "lastResort", handler)

    write_plain_lines()
    handler.handle(logging.LogRecord("x", logging.WARNING, "", 1, HOSTILE, (), None))
    monkeypatch.setattr(logging, "lastResort", None)
    write_plain_lines()

    assert capsys.readouterr().err == f"{SEEN}\n"


def test_a_sentence_is_wrapped_and_indented_on_a_terminal_only():
    terminal, file = io.StringIO(), io.StringIO()
    say(Console(file=terminal, width=20, force_terminal=True, color_system=None), "one two three four five", indent=2)
    say(Console(file=file, width=20), "one two three four five", indent=2)

    assert terminal.getvalue() == "  one two three four\n  five\n"
    assert file.getvalue() == "  one two three four five\n"


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal, pipe = Terminal(), io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    for stream in (terminal, pipe):
        monkeypatch.setattr(sys, "stderr", stream)
        with working("Looking …") as line:
            line.update("12 of 28 ready")
            line.stop()

    assert "12 of 28 ready" in terminal.getvalue()
    assert pipe.getvalue() == ""


def test_the_demo_fits_into_one_screen_shows_every_step_and_keeps_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_STATE_DIR", str(tmp_path / "state"))

    run_demo()

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "5 servers with 28 tools" in text
    assert "tokens in place of 2,772" in text
    assert "Did you mean" in text
    assert "400 records with 5 fields" in text
    assert "rows 0–1 of 10 that match" in text
    assert '"words":9' in text.replace(" ", "")
    assert "- Look into drawer B2." in text
    assert list(tmp_path.iterdir()) == []


def test_a_character_that_a_terminal_does_not_know_is_escaped(monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)

    with Edge():
        print("ä…")  # noqa: T201  # the point of the test

    assert out.buffer.getvalue() == b"\\xe4\\u2026\n"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_error_to_talk_about(tmp_path):
    command = f"{sys.executable} -m toolcrib_cli export --demo --state-dir {tmp_path} | true"

    run = subprocess.run(
        ["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() in {"0", "1"}
    assert run.stderr == ""
