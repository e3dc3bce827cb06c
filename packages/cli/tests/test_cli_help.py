"""Every command there is, of the app and of every group: help with an example, JSON where data is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from toolcrib_cli.app import app
from toolcrib_cli.groups import GROUPS

# These serve, show something to people, or write JSON anyway.
WITHOUT_DATA = {"audit anchor", "serve", "demo", "pack serve", "toolpack new", "toolpack schema"}


def _commands(group: TyperGroup, before: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}"


COMMANDS = sorted(_commands(typer.main.get_group(app)))


def test_there_are_commands_for_everything():
    assert {"serve", "init", "status", "doctor", "browse", "search", "call", "view", "export", "stats"} < set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_fits_a_screen_and_offers_json_where_data_is_printed(command):
    result = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "80", "TERM": "dumb"})

    assert result.exit_code == 0, result.output
    assert re.search(rf"Example: toolcrib {command}\b", " ".join(result.output.split()))
    assert max(map(len, result.output.splitlines())) <= 80
    assert "--json" in result.output or command in WITHOUT_DATA


def test_the_help_says_what_exit_codes_mean():
    result = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80", "TERM": "dumb"})

    assert "Exit codes: 0 all is fine; 1 something failed; 2 " in result.output


def test_help_of_the_app_of_a_command_and_of_every_group_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from toolcrib_cli.app import app\n"
        "for name in ['', 'search', *sys.argv[1:]]:\n"
        "    try:\n"
        "        app([*name.split(), '--help'])\n"
        "    except SystemExit:\n"
        "        pass\n"
        "heavy = set('mcp httpx httpx2 uvicorn sqlalchemy sqlite3 yaml jinja2 openai anthropic google.genai "
        "claude_agent_sdk asyncio toolcrib_mcp toolcrib_store toolcrib_toolpacks toolcrib_contextpacks "
        "toolcrib_toolsets cryptography'.split())\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )

    run = subprocess.run([sys.executable, "-c", code, *GROUPS], check=True, capture_output=True, text=True)

    assert run.stdout.splitlines()[-1] == "LOADED []"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("toolcrib ", {"serve", "doctor", "search"}),
        ("toolcrib sta", {"status", "stats"}),
        ("toolcrib pack l", {"list"}),
    ],
)
def test_the_shell_completes_commands(words, offered):
    env = {"_TOOLCRIB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}

    result = CliRunner().invoke(app, [], prog_name="toolcrib", env=env)

    assert offered <= set(result.stdout.split())


@pytest.mark.parametrize(("typed", "meant"), [("serch", "search"), ("statuss", "status"), ("pakc", "pack")])
def test_a_misspelt_command_is_told_the_nearest(typed, meant):
    result = CliRunner().invoke(app, [typed], env={"COLUMNS": "80", "TERM": "dumb"})

    assert result.exit_code == 2
    assert f"Did you mean '{meant}'" in " ".join(result.output.split()) or f"'{meant}'" in result.output
