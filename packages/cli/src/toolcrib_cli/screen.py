"""What people and programs see: a console, text that no terminal takes for orders, JSON, and lines beside it."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console

_MAX_TEXT: Final = 1000
# A file has no edge to wrap at, and a table takes no more than it needs.
_WIDTH_OF_A_FILE: Final = 200


def screen() -> Console:
    """Standard output for people: no text is taken for markup or for an order, and only a terminal has an edge."""
    from toolcrib_cli.console import PlainConsole

    console = PlainConsole()
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    return console


def say(console: Console, text: str, *, indent: int = 0, style: str = "") -> None:
    """Print a sentence or more from anywhere; only on a terminal it is wrapped, and every line indented."""
    from rich.text import Text

    margin, line = " " * indent, printable(text)
    if console.is_terminal:
        line = textwrap.fill(line, console.width, initial_indent=margin, subsequent_indent=margin)
    else:
        line = f"{margin}{line}"
    console.print(Text(line, style=style), soft_wrap=True)


def printable(text: str) -> str:
    """Text from anywhere, on one line and bounded: nothing in it can move the cursor or be an order to a terminal."""
    kept = text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
    return visible(kept, keeping="")


def visible(text: str, *, keeping: str = "\n\t") -> str:
    """Text of any length with an escape for whatever is no plain character, but for those to keep."""
    if text.isprintable():
        return text
    return "".join(
        each if each in keeping or each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def print_json(value: object) -> None:
    """Print a value as JSON; what a terminal could take for an order is escaped, and the JSON stays the same value."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not _can_be_written(text):
        text = json.dumps(value, indent=2)
    sys.stdout.write("".join(each if each == "\n" or each.isprintable() else json.dumps(each)[1:-1] for each in text))
    sys.stdout.write("\n")


def print_text(text: str) -> None:
    """Print text of any length as it is; on a terminal, nothing in it can be an order to that."""
    if sys.stdout.isatty():
        text = visible(text)
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


@dataclass(frozen=True)
class Working:
    """A line on a terminal about what is in progress."""

    stop: Callable[[], None]
    """Take the line away, to ask something."""
    update: Callable[[str], None]
    """Put another text in its place."""


@contextmanager
def working(text: str) -> Iterator[Working]:
    """Show on a terminal what is in progress; nowhere else."""
    if not sys.stderr.isatty():
        yield Working(stop=lambda: None, update=lambda _: None)
        return
    from toolcrib_cli.console import PlainConsole

    with PlainConsole(stderr=True).status(text) as status:
        yield Working(stop=status.stop, update=status.update)


def tell(line: str) -> None:
    """Write a line to standard error, wrapped on a terminal; one that nobody reads any more is lost.

    What others said may be in it: nothing in it is an order to a terminal, also to one that shows a file of it later.
    """
    line = visible(line)
    try:
        sys.stderr.write(f"{_wrapped(line) if sys.stderr.isatty() else line}\n")
        sys.stderr.flush()
    except OSError:
        return


def _wrapped(text: str) -> str:
    width = shutil.get_terminal_size().columns
    return "\n".join(
        line if len(line) <= width else textwrap.fill(line, width, subsequent_indent="  ", break_on_hyphens=False)
        for line in text.split("\n")
    )


def _can_be_written(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
