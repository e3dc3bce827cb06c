"""Runs the fenced blocks of a Markdown file and says where what they print is not what the file shows."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from markdown_it import MarkdownIt

from checks.workspace import ROOT
from tests.docs.data_blocks import READERS

_SECONDS = 300
_ADDRESS = "127.0.0.1:8765"
_FREE_PORT = (sys.executable, "-c", "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[1])")
_OURS = re.compile(r"toolcrib [^|&;<>$`*\\]+")
_TITLE = re.compile(r'title="(?P<title>[^"]+)"')


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block: its language, its text, the line of its fence, and the file that its title names."""

    language: str
    text: str
    line: int
    title: str | None = None


def read_blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a document, also those inside lists and quotes."""
    return [
        Block(
            language=token.info.split()[0] if token.info.strip() else "",
            text=token.content,
            line=token.map[0] + 1,
            title=title["title"] if (title := _TITLE.search(token.info)) else None,
        )
        for token in MarkdownIt().parse(markdown)
        if token.type == "fence" and token.map is not None
    ]


def problems(markdown: str) -> list[str]:
    """Where the blocks of a document do not do what it shows, one text per block; nothing when all do.

    Python blocks share one namespace, in order, and a `text` block right after one is what it prints. A `console` block
    runs each line that begins with `$ ` and compares what follows, `…` standing for anything. A `bash` block is only
    read, not run; so are blocks of data, and a configuration among them is loaded.

    A block with `title="name"` is a file that the reader writes. Everything in a document with such a block runs in an
    empty folder with these files, and everything else in the root of the repository. What a command leaves running in
    the background ends with the document, and `127.0.0.1:8765` is an address that is free.
    """
    blocks = read_blocks(_at_free_port(markdown))
    with contextlib.ExitStack() as stack:
        background = stack.enter_context(_ended_background())
        titled = any(block.title for block in blocks)
        folder = Path(stack.enter_context(TemporaryDirectory())) if titled else ROOT
        stack.enter_context(contextlib.chdir(folder))
        return list(_problems(blocks, folder, background))


def _at_free_port(markdown: str) -> str:
    if _ADDRESS not in markdown:
        return markdown
    # In a process of its own, since tests open no socket.
    return markdown.replace(_ADDRESS, f"127.0.0.1:{subprocess.check_output(_FREE_PORT, text=True).strip()}")


@contextlib.contextmanager
def _ended_background() -> Iterator[list[int]]:
    """The groups of processes that commands have left running; they are ended at the end."""
    groups: list[int] = []
    try:
        yield groups
    finally:
        for group in groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGTERM)


def _problems(blocks: list[Block], folder: Path, background: list[int]) -> Iterator[str]:
    module = ModuleType("documentation")
    # Annotations of classes in a block are looked up in the module that they name.
    sys.modules[module.__name__] = module
    try:
        for block, following in zip_longest(blocks, blocks[1:]):
            if block.title is not None:
                (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
                (folder / block.title).write_text(block.text, "utf-8")
            for problem in _run_block(block, following, module, background):
                yield f"line {block.line}: {problem}"
    finally:
        del sys.modules[module.__name__]


def _run_block(block: Block, following: Block | None, module: ModuleType, background: list[int]) -> Iterator[str]:
    match block.language:
        case "python" if block.title is not None:
            yield from _failures(lambda: compile(block.text, str(block.title), "exec"))
        case "python":
            shown = following.text if following is not None and following.language == "text" else None
            yield from _run_python(block, shown, module)
        case "console":
            yield from _run_console(block.text, background)
        case "bash":
            check = subprocess.run(["bash", "-n"], input=block.text, check=False, capture_output=True, text=True)
            if check.returncode:
                yield check.stderr
        case language if language in READERS:
            yield from _failures(lambda: READERS[language](block.text))


def _failures(act: Callable[[], object]) -> Iterator[str]:
    try:
        act()
    except Exception as failure:  # noqa: BLE001 - whatever a reader's example raises is a problem of the document
        yield f"{type(failure).__name__}: {failure}"


def _run_python(block: Block, shown: str | None, module: ModuleType) -> Iterator[str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        failed = list(_failures(lambda: exec(compile(block.text, f"<line {block.line}>", "exec"), module.__dict__)))
    yield from failed
    if not failed and shown is not None and printed.getvalue() != shown:
        yield f"prints\n{printed.getvalue()}but the document shows\n{shown}"


def _run_console(text: str, background: list[int]) -> Iterator[str]:
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        # A reader does not see spaces at the end of a line.
        printed = re.sub(
            r" +$",
            "",
            _command(command) if _OURS.fullmatch(command) else _shell(command, background),
            flags=re.MULTILINE,
        )
        expected = "(?s:.*?)".join(re.escape(part) for part in shown.split("…"))
        if not re.fullmatch(expected, printed):
            yield f"`{command}` prints\n{printed}but the document shows\n{shown}"


def _command(command: str) -> str:
    """What a command of ours prints, without a process of its own, which would cost a second of imports."""
    from toolcrib_cli.app import main

    printed = io.StringIO()
    kept, sys.argv = sys.argv, shlex.split(command)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.argv = kept
    return printed.getvalue()


def _shell(command: str, background: list[int]) -> str:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen(
        ["bash", "-c", command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            printed, _ = run.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            raise
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, 0)
        background.append(run.pid)
    return printed
