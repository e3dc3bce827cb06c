"""A program of this machine, or one that comes with the pack, run for one call and never through a shell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolcrib_toolpacks.commands import Command, own_file
from toolcrib_toolpacks.model import CliExecution, Toolpack
from toolcrib_toolpacks.rendering import Rendering
from toolcrib_toolpacks.shaping import shape_input

# Without them these programs end before their first line.
_SETTINGS: Final = {"git": ("/etc/gitconfig",)}


def cli_command(
    pack: Toolpack, execution: CliExecution, rendering: Rendering, arguments: Mapping[str, object]
) -> Command:
    """How the program is run: a bare name is looked up, a relative path starts at the folder of the pack."""
    program = execution.cmd[0]
    settings = _SETTINGS.get(Path(program).name, ())
    items = rendering.items([("execution", "cmd", at) for at in range(1, len(execution.cmd))], arguments)
    if execution.input == "args":
        items += shape_input(pack, execution, rendering, arguments).options
    if "/" not in program or Path(program).is_absolute():
        return Command(argv=(program, *items), readable=settings)
    own = own_file(pack, program)
    return Command(argv=(str(own), *items), readable=(str(own),), own_files=(own,))
