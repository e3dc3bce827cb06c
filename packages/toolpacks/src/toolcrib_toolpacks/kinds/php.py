"""PHP: a script that is run for one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolcrib_toolpacks.commands import Command, Interpreters, own_file
from toolcrib_toolpacks.model import PhpExecution, Toolpack
from toolcrib_toolpacks.rendering import Rendering

# PHP writes its warnings between the lines of the output unless it is told not to.
_OPTIONS: Final = ("-d", "display_errors=stderr", "-d", "log_errors=0", "-d", "html_errors=0")
_SETTINGS: Final = ("/etc/php", "/usr/local/etc/php")


def php_command(
    pack: Toolpack,
    execution: PhpExecution,
    rendering: Rendering,
    arguments: Mapping[str, object],
    interpreters: Interpreters,
) -> Command:
    """How the pack's script is run, with the settings and extensions of this machine's PHP."""
    script = own_file(pack, execution.script or execution.php or "")
    items = rendering.items([("execution", "args", at) for at in range(len(execution.args))], arguments)
    php = execution.php_binary or interpreters.php
    return Command(argv=(php, *_OPTIONS, str(script), *items), readable=(str(script), *_SETTINGS), own_files=(script,))
