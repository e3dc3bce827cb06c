"""Runs the fenced blocks of a Markdown file and says where what they print is not what the file shows."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from types import ModuleType

from markdown_it import MarkdownIt

from checks.workspace import ROOT

_SECONDS = 300


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block: its language, its text, and the line of its fence."""

    language: str
    text: str
    line: int


def read_blocks(markdown: str) -> list[Block]:
    """The fenced blocks of a document, also those inside lists and quotes."""
    return [
        Block(language=token.info.split()[0] if token.info.strip() else "", text=token.content, line=token.map[0] + 1)
        for token in MarkdownIt().parse(markdown)
        if token.type == "fence" and token.map is not None
    ]


def problems(markdown: str) -> list[str]:
    """Where the blocks of a document do not do what it shows, one text per block; nothing when all do.

    Python blocks share one namespace, in order, and a `text` block right after one is what it prints. A `console` block
    runs each line that begins with `$ ` from the root and compares what follows, `...` standing for anything. A `bash`
    block is only read, not run.
    """
    blocks = read_blocks(markdown)
    module = ModuleType("documentation")
    found: list[str] = []
    # Annotations of classes in a block are looked up in the module that they name.
    sys.modules[module.__name__] = module
    try:
        for block, following in zip_longest(blocks, blocks[1:]):
            found += [f"line {block.line}: {problem}" for problem in _run_block(block, following, module)]
    finally:
        del sys.modules[module.__name__]
    return found


def _run_block(block: Block, following: Block | None, module: ModuleType) -> Iterator[str]:
    match block.language:
        case "python":
            shown = following.text if following is not None and following.language == "text" else None
            yield from _run_python(block, shown, module)
        case "console":
            yield from _run_console(block.text)
        case "bash":
            check = subprocess.run(["bash", "-n"], input=block.text, check=False, capture_output=True, text=True)
            if check.returncode:
                yield check.stderr


def _run_python(block: Block, shown: str | None, module: ModuleType) -> Iterator[str]:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, f"<line {block.line}>", "exec"), module.__dict__)
    except Exception as failure:  # noqa: BLE001 - whatever a reader's example raises is a problem of the document
        yield f"{type(failure).__name__}: {failure}"
        return
    if shown is not None and printed.getvalue() != shown:
        yield f"prints\n{printed.getvalue()}but the document shows\n{shown}"


def _run_console(text: str) -> Iterator[str]:
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        printed = _shell(command)
        expected = "(?s:.*?)".join(re.escape(part) for part in shown.split("..."))
        if not re.fullmatch(expected, printed):
            yield f"`{command}` prints\n{printed}but the document shows\n{shown}"


def _shell(command: str) -> str:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_SECONDS,
    )
    return run.stdout
