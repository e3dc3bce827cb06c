"""How a worker process finds the code of a tool: by its module, and its name in there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from toolcrib_core import InvalidDefinition, ToolError, define_tool
from toolcrib_core.wording import quoted

if TYPE_CHECKING:
    from toolcrib_runtime.binding import Binding
    from toolcrib_runtime.runnable import RunnableTool

_LOCAL = "<locals>"
_LAMBDA = "<lambda>"


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a tool is to be found."""

    module: str
    name: str
    script: str | None = None
    """The file that this process was started with, if the tool is defined there: it has no module to be imported."""
    context_parameters: tuple[str, ...] | None = None
    """For a function that takes JSON as it is; otherwise its binding is made from its signature, or is the tool's."""


class _Imports:
    running = 0


@contextmanager
def importing() -> Iterator[None]:
    """Marks the time in which a worker process imports the modules of tools."""
    _Imports.running += 1
    try:
        yield
    finally:
        _Imports.running -= 1


def end_import_that_calls_tools() -> None:
    """Stop a script that calls its tools when it is imported: each worker would have workers of its own, without end.

    Raises:
        SystemExit: A module is being imported in a worker process.
    """
    if _Imports.running:
        raise SystemExit("tools were called during an import")


def target_of(tool: RunnableTool) -> Target:
    """Where a worker process finds the tool.

    Raises:
        InvalidDefinition: It finds it nowhere; the message says why.
    """
    handler = tool.binding.handler
    name: str = getattr(handler, "__qualname__", "")
    if _LAMBDA in name:
        raise _refused(tool, "its function is a lambda")
    if _LOCAL in name:
        raise _refused(tool, "its function is defined inside another function")
    module = sys.modules.get(getattr(handler, "__module__", None) or "")
    if module is None:
        raise _refused(tool, "its function belongs to no module")
    place, script = _importable(tool, module)
    found = _attribute(module, name)
    held = name if _is_tool_with(found, tool.binding) else _global_with(tool.binding, module)
    if held is not None:
        return Target(module=place, name=held, script=script)
    if found is not handler:
        raise _refused(tool, f"its function is not what {quoted(f'{place}:{name}')} means")
    return Target(module=place, name=name, script=script, context_parameters=_bare_parameters(tool))


def _importable(tool: RunnableTool, module: ModuleType) -> tuple[str, str | None]:
    """The name that a worker imports the module by, and the file to run if it has none."""
    if module.__name__ != "__main__":
        return module.__name__, None
    spec = getattr(module, "__spec__", None)
    if spec is not None:
        return str(spec.name), None  # started by `python -m`
    file = getattr(module, "__file__", None)
    if file is None or not Path(file).is_file():
        raise _refused(tool, "its function was typed in or piped in, so that no file has it")
    return "__main__", str(Path(file).resolve())


def _attribute(module: ModuleType, name: str) -> object:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _global_with(binding: Binding, module: ModuleType) -> str | None:
    return next((name for name, value in list(vars(module).items()) if _is_tool_with(value, binding)), None)


def _is_tool_with(value: object, binding: Binding) -> bool:
    from toolcrib_runtime.runnable import RunnableTool

    # The binding and not the tool: one that was given a timeout by `replace` is still the same code.
    return isinstance(value, RunnableTool) and value.binding is binding


def _bare_parameters(tool: RunnableTool) -> tuple[str, ...] | None:
    if tool.binding.convert is None:
        return tool.binding.context_parameters
    if _schema_is_of_signature(tool):
        return None
    raise _refused(tool, "its arguments are described by something beside its function")


def _schema_is_of_signature(tool: RunnableTool) -> bool:
    try:
        own = define_tool(tool.binding.handler, name=tool.name)
    except ToolError:
        return False
    return bool(own.input_schema == tool.definition.input_schema)


def _refused(tool: RunnableTool, reason: str) -> InvalidDefinition:
    return InvalidDefinition(
        f"{quoted(tool.id)} cannot run in a worker process: {reason}.",
        hint="Keep the tool, or a function with a name, at the top level of a module; or run it with `LocalExecutor`.",
    )
