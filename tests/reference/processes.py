"""Processes of the tests: servers that say where they listen, and commands that end by themselves."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from checks.workspace import ROOT
from tests.reference.parts import Command

_URL: Final = re.compile(r"\bat (http://\S+)")
_START_SECONDS: Final = 60
_STOP_SECONDS: Final = 10
_KEPT_LINES: Final = 60
GRANTED: Final = ("elicitation", "sampling", "roots", "logging")


def conformance_server(*arguments: str) -> Command:
    """Our fixture, over stdio; with `--http` it says where it listens."""
    module = ("-m", "tests.reference.conformance_server")
    return Command(program=Path(sys.executable), arguments=(*module, *arguments), environment={"PYTHONPATH": str(ROOT)})


def toolcrib(*arguments: str) -> Command:
    """Our own command."""
    return Command(program=Path(sys.executable), arguments=("-m", "toolcrib_cli", *arguments))


def write_config(folder: Path, servers: Mapping[str, Mapping[str, Any]], *, grants: Sequence[str] = GRANTED) -> Path:
    """A configuration of these servers, each of which is granted everything that a client may be asked.

    Its policy allows everything: what is compared is what passes.
    """
    treated = {name: {"grants": list(grants)} for name in servers}
    document = {"mcpServers": servers, "toolcrib": {"servers": treated}}
    file = folder / "mcp.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    file.with_name("toolcrib.policy.toml").write_text('version = 1\ndefault = "allow"\n', encoding="utf-8")
    return file


def serve_command(config: Path, mode: str, *arguments: str) -> Command:
    """`toolcrib serve` over a configuration, with what it keeps beside it."""
    state = str(config.parent / "state")
    return toolcrib("serve", "--mode", mode, "--config", str(config), "--state-dir", state, *arguments)


def status_command(config: Path, *arguments: str) -> Command:
    """`toolcrib status` over a configuration that `serve_command` serves."""
    return toolcrib("status", "--config", str(config), "--state-dir", str(config.parent / "state"), *arguments)


@contextmanager
def listening(command: Command) -> Iterator[str]:
    """The URL that the process writes to stderr; it is ended afterwards, with everything that it started."""
    process = subprocess.Popen(
        command.line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **command.environment},
        cwd=command.folder,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    found: Future[str] = Future()
    reading = threading.Thread(target=_read, args=(process, found))
    reading.start()
    try:
        yield found.result(_START_SECONDS)
    finally:
        _end(process)
        reading.join()
        process.stderr.close()  # type: ignore[union-attr]  # it is a pipe


async def run(command: Command, *, seconds: float) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command that ends by itself."""
    process = await asyncio.create_subprocess_exec(
        *command.line,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **command.environment},
        cwd=command.folder,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")


def _read(process: subprocess.Popen[str], found: Future[str]) -> None:
    said: deque[str] = deque(maxlen=_KEPT_LINES)
    for line in process.stderr or ():
        said.append(line)
        match = _URL.search(line)
        if match and not found.done():
            found.set_result(match[1].rstrip("."))
    if not found.done():
        found.set_exception(AssertionError("the server ended before it listened:\n" + "".join(said)))


def _end(process: subprocess.Popen[str]) -> None:
    """Ask first: what was started by it is its own business to end. What is then left of its group goes, too."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
