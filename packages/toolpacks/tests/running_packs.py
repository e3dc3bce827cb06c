"""Packs written into a folder and run for real, and a look at what is left of their processes."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.real_parts import real_part_missing
from toolcrib_runtime import Toolbox, ToolResult
from toolcrib_runtime.guards.process.sandbox import available_layers
from toolcrib_toolpacks.loader import ToolpackLoader
from toolcrib_toolpacks.model import Toolpack
from toolcrib_toolpacks.planning import RunSettings
from toolcrib_toolpacks.running import open_toolbox

ANY_OBJECT = {"type": "object"}
READS = {"effects": "read", "idempotent": True}

needs_walls = pytest.mark.skipif(
    not (available_layers().landlock_abi and available_layers().seccomp), reason="the kernel has no Landlock or seccomp"
)


def write_pack(folder: Path, name: str, execution: Mapping[str, Any], **fields: Any) -> None:
    """Write a pack `test.<name>`; whatever is not given takes any object and gives anything."""
    process = execution["kind"] in {"cli", "node", "php"}
    document = {
        "id": f"test.{name}",
        "version": "1.0.0",
        "deterministic": False,
        "timeoutMs": 10_000,
        "limits": {"maxInputBytes": 100_000, "maxOutputBytes": 100_000},
        "inputSchema": ANY_OBJECT,
        "outputSchema": {},
        "risk": READS,
        "execution": dict(execution),
        **({"caps": {"subprocess": True}} if process else {}),
        **fields,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.tool.yaml").write_text(json.dumps(document, indent=2))


def write_python(
    folder: Path, name: str, code: str, *, way: str = "module", args: tuple[str, ...] = (), **fields: Any
) -> None:
    """Write a pack of Python code: a module with a function `run`, or a script."""
    file = f"{name}.py" if way == "module" else f"{name}_script.py"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(textwrap.dedent(code))
    key = {"module": f"{name}:run"} if way == "module" else {"script": file, "args": list(args)}
    write_pack(folder, name, {"kind": "python", **key}, **fields)


def write_file(folder: Path, name: str, text: str) -> str:
    """Write a script beside the packs; gives its name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(textwrap.dedent(text))
    return name


def load(folder: Path) -> tuple[Toolpack, ...]:
    """All packs of a folder."""
    return ToolpackLoader().load_dir(folder)


@asynccontextmanager
async def running(folder: Path, *, trust: bool = False, **options: Any) -> AsyncIterator[Toolbox]:
    """The packs of a folder in a toolbox; options are those of `RunSettings`, of the toolbox, and `resolver`."""
    names = RunSettings.__dataclass_fields__
    settings = RunSettings(**{name: options.pop(name) for name in list(options) if name in names})
    async with open_toolbox(load(folder), trust=trust, settings=settings, **options) as toolbox:
        yield toolbox


async def ask(toolbox: Toolbox, name: str, /, **arguments: Any) -> ToolResult:
    """Call one of the test packs."""
    return await toolbox.call(f"test:{name}", arguments)


def need(program: str) -> None:
    """Leave the test, loudly, where a program is not on this machine."""
    if shutil.which(program) is None:
        real_part_missing(f"`{program}` is not installed")
