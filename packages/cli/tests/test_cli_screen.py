"""What is written to a screen, to a file and to a terminal of another time."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console

from toolcrib_cli.demo_command import run_demo
from toolcrib_cli.edge import Edge
from toolcrib_cli.screen import print_json, print_text, say, working

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
        with working("Looking …"):
            pass

    assert "Looking …" in terminal.getvalue()
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
