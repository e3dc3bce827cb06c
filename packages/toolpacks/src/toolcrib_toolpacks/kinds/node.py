"""Node: a module in a warm worker, or a script that is run for one call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolcrib_toolpacks.commands import CHILDREN, Command, Interpreters, own_file
from toolcrib_toolpacks.model import NodeExecution, Toolpack
from toolcrib_toolpacks.rendering import Rendering

_WORKER: Final = str(CHILDREN / "node_worker.mjs")
# Without it Node ends before its first line.
_SETTINGS: Final = ("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf")


def node_command(
    pack: Toolpack,
    execution: NodeExecution,
    rendering: Rendering,
    arguments: Mapping[str, object],
    interpreters: Interpreters,
) -> Command:
    """How the pack's module is served, or its script run."""
    if execution.module is not None:
        path, _, export = execution.module.partition(":")
        module = own_file(pack, path)
        return Command(
            argv=(interpreters.node, _WORKER, str(module), export, str(pack.limits.max_output_bytes)),
            warm=True,
            readable=(_WORKER, str(module), *_SETTINGS),
            own_files=(module,),
        )
    script = own_file(pack, execution.script or execution.node or "")
    items = rendering.items([("execution", "args", at) for at in range(len(execution.args))], arguments)
    return Command(
        argv=(interpreters.node, str(script), *items), readable=(str(script), *_SETTINGS), own_files=(script,)
    )
