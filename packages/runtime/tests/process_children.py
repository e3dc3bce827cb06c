"""Children for the tests of the process guard, and a look at what is left of them that does not ask the guard."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from toolcrib_runtime.guards.process.child import ChildProcess
from toolcrib_runtime.guards.process.spec import ProcessSpec

PYTHON = sys.executable
SIGN = "TEST_FAMILY"

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc to look for survivors")


def python(code: str, *arguments: str, family: str = "", **options: Any) -> ProcessSpec:
    """A spec that runs some lines of Python."""
    return ProcessSpec(
        argv=(PYTHON, "-I", "-S", "-c", textwrap.dedent(code), *arguments), env={SIGN: family}, **options
    )


def shell(script: str, *, family: str = "", **options: Any) -> ProcessSpec:
    """A spec whose program happens to be a shell."""
    return ProcessSpec(argv=("/bin/sh", "-c", script), env={SIGN: family}, **options)


async def next_line(child: ChildProcess) -> bytes:
    """The next line that a child writes; what is left, where it writes no more."""
    line = b""
    while not line.endswith(b"\n") and (byte := await child.stdout.read(1)):
        line += byte
    return line


@asynccontextmanager
async def nothing_left() -> AsyncIterator[str]:
    """Gives a family name; at the end no process of it lives, and no descriptor is open that was not before."""
    family = secrets.token_hex(8)
    before = open_descriptors()
    yield family
    await until(lambda: not alive(family))
    assert open_descriptors() == before
    assert not zombies()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, ten seconds at most."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # other processes set no events
            await asyncio.sleep(0.005)


def alive(family: str) -> set[int]:
    """The processes whose environment or arguments name the family."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and family in _words(entry):
            found.add(int(entry.name))
    return found


def zombies() -> set[int]:
    """Our own children that have ended and were not waited for."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        for child in _text(task / "children").split():
            state = _text(Path("/proc", child, "stat")).rpartition(")")[2].split()
            if state and state[0] == "Z":
                found.add(int(child))
    return found


def open_descriptors() -> int:
    """How many descriptors this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # the thread or process has ended meanwhile


def _words(entry: Path) -> str:
    try:
        return (entry / "environ").read_bytes().decode("utf-8", "replace") + (entry / "cmdline").read_text()
    except (OSError, UnicodeDecodeError):
        return ""
