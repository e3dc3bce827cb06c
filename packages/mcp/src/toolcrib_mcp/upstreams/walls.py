"""The walls around a server that is started here: what its settings ask for, as the process guard takes it.

With a list to `read`, a server can read nothing else but system libraries and its own installation: beside its program
(as it is called, behind links, and the interpreter that a script names) the `bin` and `lib` of the directory above, and
of the Python that a virtual environment is made from. Files that its arguments name by an absolute path can be read,
too. Everything else is for the list: the modules beside a script, `node_modules`, the caches of `npx` and `uvx`.

Without a network a server gets no socket at all (seccomp), also none to this machine itself. Where that cannot be had
it gets a network of its own in which nothing is (a namespace), and a socket that is a file, such as that of a container
engine, can then still be reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolcrib_mcp.config.settings import ServerSandbox
from toolcrib_runtime.guards.process import ProcessLimits, ProcessSpec, SandboxWishes
from toolcrib_runtime.guards.process.sandbox import Layers, available_layers
from toolcrib_runtime.guards.process.spec import find_program

_INSTALLED: Final = ("bin", "lib", "lib64", "pyvenv.cfg")
_MAX_HEAD: Final = 4096
_HOME_OF_VENV: Final = re.compile(r"^home *= *(.+?) *$", re.MULTILINE)


def limits_of(sandbox: ServerSandbox | None) -> ProcessLimits | None:
    """The resource limits that a server's settings name; `None` where they name none, so that it runs as directly."""
    if sandbox is None or sandbox.memory_bytes is sandbox.cpu_seconds is sandbox.open_files is None:
        return None
    return ProcessLimits(
        memory_bytes=sandbox.memory_bytes,
        cpu_seconds=sandbox.cpu_seconds,
        open_files=sandbox.open_files,
        file_bytes=None,
        processes=None,
    )


def wishes_of(
    sandbox: ServerSandbox | None, argv: tuple[str, ...], *, path: str, layers: Layers | None = None
) -> SandboxWishes:
    """The walls that a server is to have, all of them required; `path` is where its program is looked for.

    Raises:
        ProcessNotStarted: The program is not there.
    """
    if sandbox is None:
        return SandboxWishes()
    walls = SandboxWishes(required=True)
    if not sandbox.network:
        walls = _without_network(walls, layers or available_layers())
    if sandbox.read is None and sandbox.write is None:
        return walls
    return replace(
        walls,
        restrict_files=True,
        readable=("/",) if sandbox.read is None else (*_expanded(sandbox.read), *_installation(argv, path)),
        writable=tuple(_expanded(sandbox.write or ())),
        write_cwd=False,
        deny_metadata=True,
    )


def restricts_files(sandbox: ServerSandbox | None) -> bool:
    """Whether a server has a list of what it may read or write."""
    return sandbox is not None and (sandbox.read is not None or sandbox.write is not None)


def _without_network(walls: SandboxWishes, layers: Layers) -> SandboxWishes:
    if layers.unshare is not None and not layers.seccomp:
        return replace(walls, isolate_network=True)
    return replace(walls, deny_sockets=True)


def _expanded(places: Iterable[str]) -> Iterator[str]:
    return (str(Path(each).expanduser()) for each in places)


def _installation(argv: tuple[str, ...], path: str) -> Iterator[str]:
    called = Path(find_program(ProcessSpec(argv=argv), path))
    for program in (called, *_interpreter(called, path)):
        for each in dict.fromkeys((program, program.resolve())):
            yield str(each)
            yield from _around(each)
    yield from (each for each in argv[1:] if each.startswith("/") and Path(each).is_file())


def _interpreter(program: Path, path: str) -> Iterator[Path]:
    """What the first line of a script names."""
    head = _head(program)
    words = head.partition("\n")[0][2:].split() if head.startswith("#!") else []
    if words and Path(words[0]).name == "env":
        words = [each for each in words[1:] if not each.startswith("-")]
    if words:
        yield Path(find_program(ProcessSpec(argv=(words[0],)), path))


def _around(program: Path) -> Iterator[str]:
    """The installation that a program is a part of, and that of the Python behind a virtual environment."""
    if program.parent.name not in {"bin", "sbin"}:
        return
    prefix = program.parent.parent
    yield from (str(prefix / each) for each in _INSTALLED)
    home = _HOME_OF_VENV.search(_head(prefix / "pyvenv.cfg"))
    if home is not None:
        yield from (str(Path(home[1]).parent / each) for each in _INSTALLED)


def _head(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
