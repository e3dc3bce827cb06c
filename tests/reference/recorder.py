"""Stands before a stdio server and writes down every line that it is sent: `python recorder.py FILE PROGRAM ARGUMENT…`.

What the server says goes out untouched.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.reference.parts import Command


def recorded(command: Command, file: Path) -> Command:
    """The command with the recorder before it."""
    arguments = (str(Path(__file__)), str(file), *command.line)
    return dataclasses.replace(command, program=Path(sys.executable), arguments=arguments)


def read_record(file: Path) -> list[dict[str, Any]]:
    """Every message that the server was sent so far."""
    if not file.is_file():
        return []
    lines = file.read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines[:-1]]


def main() -> int:
    """Pass lines on until there are no more."""
    file, *command = sys.argv[1:]
    with (
        Path(file).open("ab", buffering=0) as record,
        subprocess.Popen(command, stdin=subprocess.PIPE) as server,
    ):
        assert server.stdin is not None
        for line in sys.stdin.buffer:
            record.write(line)
            server.stdin.write(line)
            server.stdin.flush()
        server.stdin.close()
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())
