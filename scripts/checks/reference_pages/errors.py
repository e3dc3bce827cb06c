"""Every error code: read from the classes that have it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from checks.reference_pages.tables import code, paragraph, table
from checks.workspace import find_packages

if TYPE_CHECKING:
    from toolcrib_core import ToolError

_INTRODUCTION = """\
# Error codes

An error is data: `code`, `category`, `message`, `hint`, `retryable` and `details`, as `ToolError.to_dict()` writes it.
The code is stable and may be branched on; the message is for the model or the person that reads it and may change.
Codes under `toolbox.` are toolcrib's own.
A tool's own codes are `tool.<namespace>.<name>.<what>`, made with `create_tool_error(..., tool=id)`.
An error of the categories `transient`, `timeout` and `unavailable` is retryable unless it says otherwise.
All others are not.
`details.excerpt` is what a failed server or program said itself; a model reads it in every provider's result."""

# The order of the page, and what each package is about; one that is not listed comes last under its own name.
_HEADINGS = {
    "toolcrib_core": "The catalogue",
    "toolcrib_runtime": "While a tool runs",
    "toolcrib_toolpacks": "Tools from files",
    "toolcrib_mcp": "In front of MCP servers",
    "toolcrib_store": "Keeping what must last",
    "toolcrib_contextpacks": "Handing context on",
    "toolcrib_toolsets": "Tools of one's own",
    "toolcrib_semantic": "Search by meaning",
    "toolcrib_cli": "The command line",
}


def render_errors() -> str:
    """The page of all error codes, by package and in the order of the source."""
    lines = [_INTRODUCTION]
    for module in _ordered(package.module for package in find_packages() if package.module != "toolcrib"):
        errors = sorted(find_errors(module), key=_place)
        if errors:
            rows = [
                (code(each.default_code), each.default_category.value, code(each.__name__), paragraph(each.__doc__))
                for each in errors
            ]
            lines += ["", f"## {_HEADINGS.get(module, module)} (`{module}`)", ""]
            lines += table(("code", "category", "raised as", "when"), rows)
    return "\n".join(lines) + "\n"


def find_errors(module: str) -> set[type[ToolError]]:
    """The errors that a package defines itself, in any of its modules."""
    from toolcrib_core import ToolError

    found: set[type[ToolError]] = set()
    for name in _modules(module):
        for each in vars(importlib.import_module(name)).values():
            if inspect.isclass(each) and issubclass(each, ToolError) and each.__module__.partition(".")[0] == module:
                found.add(each)
    return found


def _ordered(modules: Iterator[str]) -> list[str]:
    order = list(_HEADINGS)
    return sorted(modules, key=lambda name: (order.index(name) if name in order else len(order), name))


def _modules(module: str) -> Iterator[str]:
    package = importlib.import_module(module)
    yield module
    for each in pkgutil.walk_packages(package.__path__, f"{module}."):
        # `__main__` is a command, and a migration is run by its engine alone.
        if not each.name.endswith("__main__") and ".migrations." not in each.name:
            yield each.name


def _place(each: type) -> tuple[int, str, int]:
    # The tree itself first, then what single modules add to it.
    home = each.__module__
    return (0 if home.endswith(".errors") else 1, home, inspect.getsourcelines(each)[1])
