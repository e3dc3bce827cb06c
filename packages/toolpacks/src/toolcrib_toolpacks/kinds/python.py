"""Python: a function in a warm worker, or a script that is run for one call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolcrib_runtime.executors import worker_process
from toolcrib_toolpacks.commands import CHILDREN, Command, own_file
from toolcrib_toolpacks.model import PythonExecution, Toolpack
from toolcrib_toolpacks.rendering import Rendering

_CHILD: Final = str(CHILDREN / "python_child.py")
_HELPER: Final = str(Path(worker_process.__file__))


def python_command(
    pack: Toolpack, execution: PythonExecution, rendering: Rendering, arguments: Mapping[str, object]
) -> Command:
    """How the pack's function is served, or its script run.

    A module is looked for beside the pack first, then among what is installed.
    """
    if execution.script is not None:
        script = own_file(pack, execution.script)
        items = rendering.items([("execution", "args", at) for at in range(len(execution.args))], arguments)
        return Command(
            argv=(_CHILD, "run", str(script), *items),
            script=True,
            readable=(_CHILD, str(script)),
            listable=(str(script.parent),),
            own_files=(script,),
        )
    return _served(pack, execution.module or "")


def _served(pack: Toolpack, place: str) -> Command:
    module, _, name = place.partition(":")
    local = _local_module(pack.folder.resolve(), module)
    setup = {
        "module": module,
        "callable": name,
        "folder": "" if local is None else str(pack.folder.resolve()),
        "properties": sorted(pack.input_schema.get("properties", {})),
        "maxOutputBytes": pack.limits.max_output_bytes,
        "helper": _HELPER,
    }
    code = () if local is None else (local,)
    return Command(
        argv=(_CHILD, "serve", json.dumps(setup)),
        script=True,
        warm=True,
        readable=(_CHILD, _HELPER, *map(str, code)),
        listable=() if local is None else (str(pack.folder.resolve()),),
        own_files=code,
    )


def _local_module(folder: Path, module: str) -> Path | None:
    top = module.partition(".")[0]
    found = next((each for each in (folder / f"{top}.py", folder / top) if each.exists()), None)
    # What a link leads to is read as part of the pack only if it lies there.
    return found if found is not None and found.resolve().is_relative_to(folder) else None
