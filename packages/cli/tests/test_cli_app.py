"""The command itself: light to start, and clear about what it takes."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest
import typer

from toolcrib_cli.serve_command import read_address


def _run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolcrib_cli", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


@pytest.mark.parametrize("arguments", [("--help",), ("serve", "--help"), ("status", "--help"), ("--version",)])
def test_help_loads_neither_the_protocol_nor_http_nor_sql(arguments):
    code = (
        "import sys\n"
        "from toolcrib_cli.app import app\n"
        "try:\n"
        "    app(sys.argv[1:])\n"
        "except SystemExit:\n"
        "    pass\n"
        "heavy = set('mcp httpx httpx2 uvicorn sqlalchemy asyncio toolcrib_core toolcrib_mcp'.split())\n"
        "print('LOADED', sorted(heavy & set(sys.modules)))\n"
    )

    run = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=True, capture_output=True, text=True, timeout=60
    )

    assert run.stdout.splitlines()[-1] == "LOADED []"


def test_the_version_is_that_of_the_package():
    run = _run("--version")

    assert (run.returncode, run.stdout) == (0, f"toolcrib {version('toolcrib-cli')}\n")


@pytest.mark.parametrize("command", ["serve", "status"])
def test_the_help_of_a_command_has_an_example(command):
    run = _run(command, "--help")

    assert run.returncode == 0
    assert f"Example: toolcrib {command}" in " ".join(run.stdout.split())


@pytest.mark.parametrize("arguments", [("nonsense",), ("serve", "--nonsense"), ("status", "--timeout", "0")])
def test_a_command_line_that_makes_no_sense_ends_with_two(arguments):
    run = _run(*arguments)

    assert run.returncode == 2
    assert run.stdout == ""
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:8765", "127.0.0.1", 8765),
        ("localhost:0", "localhost", 0),
        ("[::1]:80", "::1", 80),
        (":9000", "127.0.0.1", 9000),
        ("9000", "127.0.0.1", 9000),
    ],
)
def test_an_address_is_a_host_and_a_port(text, host, port):
    front = read_address(text)

    assert (front.host, front.port) == (host, port)


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", "host:99999", "a b:80", "::1:80", "http://localhost:80"]
)
def test_what_is_no_address_is_a_wrong_argument(text):
    with pytest.raises(typer.BadParameter, match="HOST:PORT"):
        read_address(text)
