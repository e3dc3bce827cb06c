"""The reference of error codes lists every code there is, and no other."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import toolcrib_core
import toolcrib_mcp
import toolcrib_runtime
import toolcrib_semantic
import toolcrib_store
from toolcrib_core import ToolError

_REFERENCE = Path(__file__).parents[2] / "docs/reference/errors.md"
_ROW = re.compile(r"\| `(?P<code>[a-z.-]+)` \| (?P<category>\w+) \| `(?P<name>\w+)` \|")


def _errors() -> set[tuple[str, str, str]]:
    found = set()
    packages = (toolcrib_core, toolcrib_mcp, toolcrib_runtime, toolcrib_semantic, toolcrib_store)
    modules = [each for package in packages for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    for module in modules:
        for name, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(each, ToolError):
                found.add((each.default_code, each.default_category.value, name))
    return found


def test_every_error_code_is_documented_with_its_category_and_class() -> None:
    documented = {match.group("code", "category", "name") for match in _ROW.finditer(_REFERENCE.read_text("utf-8"))}

    assert documented == _errors()
