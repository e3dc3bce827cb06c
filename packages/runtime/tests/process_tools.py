"""Tools that worker processes import: good ones, and those that misbehave in every way a process can."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from toolcrib_core import ToolContext, ToolError
from toolcrib_runtime import FetchFailed, RuntimeToolContext, ToolOutput, create_tool, tool


class Trip(BaseModel):
    day: date
    nights: int = 1


class HouseError(ConnectionResetError):
    """An error of the tool's own module."""


class Childless(LookupError):
    def __init_subclass__(cls) -> None:
        raise TypeError


class Overdrawn(ToolError):
    """An error with a constructor of its own."""

    default_code = "bank.overdrawn"

    def __init__(self, amount: int) -> None:
        super().__init__(f"The account is overdrawn by {amount}.", details={"amount": amount})


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@tool(effects="none")
def double(x: int) -> int:
    """Double a number."""
    return 2 * x


@tool(effects="none")
def whoami() -> int:
    """Tell which process it is."""
    return os.getpid()


@tool(effects="none")
async def add_slowly(x: int, y: int) -> int:
    """Add on a loop."""
    await asyncio.sleep(0)
    return x + y


@tool(effects="none")
def returns_a_coroutine(x: int) -> Any:
    """A plain function that gives something to await."""
    return add_slowly(x=x, y=1)


@tool(effects="none")
def count_to(limit: int) -> Iterator[int]:
    """Yield numbers."""
    yield from range(limit)


@tool(effects="none")
async def count_async(limit: int) -> AsyncIterator[int]:
    """Yield numbers on a loop."""
    for each in range(limit):
        yield each


def next_day(day: date) -> date:
    """The day after."""
    return date.fromordinal(day.toordinal() + 1)


def book(trip: Trip) -> str:
    return f"{trip.day:%d %B}, {trip.nights}"


def book_oddly(trip: threading.Event) -> bool:
    return trip.is_set()


book_trip = create_tool(Trip, book, name="book_trip", effects="none")


def bare(x: int) -> int:
    return x + 1


def bare_with_context(x: int, context: ToolContext) -> str:
    return f"{x} in {context.run_id}"


class Shelf:
    @staticmethod
    def label(text: str) -> str:
        """A function of a class."""
        return text.upper()

    def place(self, text: str) -> str:
        """A method, which belongs to an object."""
        return text


@tool(effects="none")
def picture() -> ToolOutput:
    """Give content blocks beside the value."""
    return ToolOutput(value={"kind": "picture"}, content=({"type": "text", "text": "a cat"},))


@tool(effects="none")
def tell_all(context: RuntimeToolContext) -> dict[str, Any]:
    """Give back what the context says, and tell something of every kind."""
    context.progress(1, 2, "half")
    context.log("so far so good", level="info", detail=3)
    context.stream("part")
    context.emit("mood", {"good": True})
    user = context.user
    return {
        "run": context.run_id,
        "user": None if user is None else [user.id, sorted(user.roles), dict(user.attributes)],
        "tenant": context.tenant is not None,
        "call": [context.tool_call.tool, context.tool_call.id, context.attempt],
        "values": dict(context.values),
        "remaining": None if context.remaining is None else 0 < context.remaining <= 60,
        "deadline": context.deadline is not None,
    }


@tool(effects="none")
async def calls_another(context: RuntimeToolContext) -> Any:
    """Try to run another tool as a step."""
    return await context.call(double, {"x": 1})


@tool(effects="none")
def tells_nonsense(context: RuntimeToolContext) -> None:
    """Tell something that is not JSON."""
    context.emit("thing", threading.Lock())  # type: ignore[arg-type]


@tool(effects="none")
def tells_afterwards(context: RuntimeToolContext) -> str:
    """Leave a thread that goes on talking when the call is over."""

    def talk() -> None:
        for _ in range(200):
            context.log("still here")
            time.sleep(0.001)

    threading.Thread(target=talk, daemon=True).start()
    return "done"


@tool(effects="none")
def leaves_a_thread() -> int:
    """Leave a thread that keeps the process from ending."""
    threading.Thread(target=threading.Event().wait).start()
    return os.getpid()


@tool(effects="none")
def prints() -> str:
    """Write to standard output in every way, and read standard input."""
    sys.stdout.write("printed\n")
    os.write(1, b"written to descriptor 1")
    subprocess.run(["echo", "from a program"], check=True)
    return sys.stdin.read()


@tool(effects="none")
def imports_alike() -> dict[str, Any]:
    """Show what imports depend on."""
    return {
        "path": sys.path,
        "cwd": str(Path.cwd()),
        "variable": os.environ.get("PROCESS_TOOLS_SAY"),
        "argv": sys.argv,
        "bytecode": sys.dont_write_bytecode,
    }


@tool(effects="none")
def fails(kind: str) -> None:
    """Raise."""
    errors: dict[str, BaseException] = {
        "value": ValueError("that is no number"),
        "key": KeyError("name"),
        "reset": ConnectionResetError(104, "Connection reset by peer"),
        "house": HouseError("the house hung up"),
        "exit": SystemExit(3),
        "interrupt": KeyboardInterrupt(),
        "cancelled": asyncio.CancelledError(),
        "unshowable": Unshowable(),
        "surrogate": ValueError("\udcff"),
        "unicode": UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        "group": ExceptionGroup("several", [ValueError("one")]),
        "fetch": FetchFailed("The connection broke.", details={"thing": threading.Lock(), "host": "example.org"}),
        "itself": _error_with_itself(),
    }
    raise errors[kind]


def _error_with_itself() -> FetchFailed:
    error = FetchFailed("The connection broke.")
    error.details["self"] = error.details
    return error


@tool(effects="none")
async def exits_on_a_loop() -> None:
    """Raise `SystemExit` in a coroutine."""
    sys.exit("enough")


@tool(effects="write")
def books_and_loses_the_line() -> None:
    """Fail so that nobody knows whether it did its work."""
    raise FetchFailed("The connection broke after the request was sent.")


@tool(effects="none")
def gives_an_object() -> Any:
    """Return something that JSON cannot carry."""
    return threading.Lock()


@tool(effects="none")
def gives_too_much() -> Any:
    """Return more than a frame can hold."""
    return "x" * (65 * 1024 * 1024)


@tool(effects="none")
def gives_much(size: int) -> str:
    """Return a long text."""
    return "x" * size


@tool(effects="none")
def hangs(mark: str = "") -> None:
    """Never come back."""
    if mark:
        Path(mark).touch()
    threading.Event().wait()


@tool(effects="none")
async def blocks_the_loop() -> None:
    """Keep its loop busy."""
    threading.Event().wait()


@tool(effects="none")
async def ignores_cancellation() -> None:
    """Go on whatever happens."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            continue


@tool(effects="none")
def ignores_signals(mark: str) -> None:
    """Ignore SIGTERM and hang."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(mark).touch()
    threading.Event().wait()


@tool(effects="none")
def dies(status: int) -> None:
    """End the process without a word to its parent."""
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    os._exit(status)


@tool(effects="none")
def crashes() -> None:
    """Read where nothing is."""
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    ctypes.string_at(0)


@tool(effects="none")
def closes_everything() -> None:
    """Close descriptors that are not its own."""
    os.closerange(3, 64)
    threading.Event().wait()


@tool(effects="none")
def writes_into_the_pipes() -> None:
    """Write garbage into every pipe there is."""
    for handle in range(3, 64):
        try:
            os.write(handle, b"\xff" * 64)
        except OSError:
            continue
    threading.Event().wait()


@tool(effects="none")
def forks() -> str:
    """Fork, and come back twice."""
    return "parent" if os.fork() else "copy"


@tool(effects="none")
def leaves_a_child(family: str) -> int:
    """Start a program and forget it."""
    return _start_sleeper(family).pid


@tool(effects="none")
def leaves_a_daemon(family: str) -> None:
    """Start a program that leaves session, parent and descriptors behind."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            _start_sleeper(family)
        os._exit(0)
    os.wait()


@tool(effects="none")
def leaves_a_zombie() -> int:
    """Fork a child that ends at once, and never wait for it."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    return child


@tool(effects="none")
def starts_a_child_and_hangs(family: str) -> None:
    """Hang, with a child that hangs as well."""
    _start_sleeper(family)
    threading.Event().wait()


@tool(effects="none")
def naps(seconds: float) -> float:
    """Sleep for a while."""
    time.sleep(seconds)
    return seconds


@tool(effects="none")
def burns() -> None:
    """Keep a core busy."""
    while True:
        pass


@tool(effects="none")
def breeds(family: str) -> None:
    """Start more processes than it may, and hang."""
    for _ in range(8):
        _start_sleeper(family)
    threading.Event().wait()


def _start_sleeper(family: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], env={**os.environ, "TEST_FAMILY": family})
