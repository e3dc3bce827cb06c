"""Finding the tools that a worker process is asked to run."""

from __future__ import annotations

import importlib
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any, Final

from toolcrib_core import define_tool
from toolcrib_core.wording import quoted
from toolcrib_runtime.binding import Binding, Handler, bind_function
from toolcrib_runtime.errors import LoadFailed
from toolcrib_runtime.executors.process_target import importing
from toolcrib_runtime.guards.secrets.scrubbing import scrub_exception
from toolcrib_runtime.runnable import RunnableTool, make_runnable

SCRIPT_NAME: Final = "__toolcrib_main__"
"""The `__name__` of the parent's script in a worker, so that it does not run what is meant for `__main__`."""

_HINT_FOR_MODULES = "See that the module can be imported by its name from a new process."
_HINT_FOR_SCRIPTS = 'Put everything that the script does, beyond definitions, under `if __name__ == "__main__":`.'


class ToolLoader:
    """Imports tools, each once. A failure is not remembered."""

    def __init__(self) -> None:
        self._tools: dict[str, RunnableTool] = {}

    def load(self, target: dict[str, Any]) -> RunnableTool:
        """The tool that a target means; see `process_target.Target`.

        Raises:
            LoadFailed: There is none, or its module does not let itself be imported.
        """
        place = f"{target['module']}:{target['name']} {target['context_parameters']}"
        tool = self._tools.get(place)
        if tool is None:
            tool = self._tools[place] = _load(target)
        return tool


def _load(target: dict[str, Any]) -> RunnableTool:
    try:
        with importing():
            found: Any = _module(target["module"], target["script"])
            for part in target["name"].split("."):
                found = getattr(found, part)
            return _runnable(found, target["context_parameters"])
    except BaseException as failure:  # an import runs somebody else's code, and that may even exit
        place = quoted(f"{target['module']}:{target['name']}")
        raise LoadFailed(
            f"{place} could not be loaded in a worker process: {scrub_exception(failure)}",
            hint=_HINT_FOR_MODULES if target["script"] is None else _HINT_FOR_SCRIPTS,
            retryable=False,
            details={"sent": False, "exception": type(failure).__name__},
        ) from failure


def _module(name: str, script: str | None) -> ModuleType:
    if script is None:
        return importlib.import_module(name)
    if SCRIPT_NAME not in sys.modules:
        sys.modules[SCRIPT_NAME] = _run_script(script)
    return sys.modules[SCRIPT_NAME]


def _run_script(script: str) -> ModuleType:
    # The loader is named, because a script need not end in `.py`.
    loader = SourceFileLoader(SCRIPT_NAME, script)
    spec = ModuleSpec(SCRIPT_NAME, loader, origin=script)
    spec.has_location = True
    module = module_from_spec(spec)
    # Dataclasses and annotations look their module up while it runs.
    sys.modules[SCRIPT_NAME] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[SCRIPT_NAME]
        raise
    return module


def _runnable(found: RunnableTool | Handler, context_parameters: list[str] | None) -> RunnableTool:
    if isinstance(found, RunnableTool):
        # Nobody else waits for the loop of this process, so there is no need of a thread.
        return found.replace(blocking=False)
    name = found.__name__
    if context_parameters is None:
        binding = bind_function(found, name=name)
    else:
        binding = Binding(found, tuple(context_parameters))
    # Arguments were validated where they came from; here the definition only lends its name.
    definition = define_tool({"type": "object"}, name=name, description="Runs in a worker process.")
    return make_runnable(definition, binding, blocking=False)
