"""The face of the package: everything it promises can be imported, and only when it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toolcrib_runtime


def test_every_public_name_loads_and_is_listed() -> None:
    assert all(getattr(toolcrib_runtime, name) is not None for name in toolcrib_runtime.__all__)
    assert set(toolcrib_runtime.__all__) <= set(dir(toolcrib_runtime))


@pytest.mark.req("D1-10d", "D1-1h")
def test_the_names_that_the_document_asks_for_are_public() -> None:
    asked_for = """
        RunnableTool is_runnable_tool RuntimeToolContext ToolResult Toolbox Runner
        tool create_tool create_toolbox create_runner combine_toolboxes
        pipe parallel bind tap when fallback retry create_search_tool lazy
    """.split()

    assert set(asked_for) <= set(toolcrib_runtime.__all__)


def test_the_names_for_type_checkers_are_those_that_load() -> None:
    tree = ast.parse(Path(toolcrib_runtime.__file__).read_text(encoding="utf-8"))
    for_checkers = {
        alias.name: (node.module or "").removeprefix("toolcrib_runtime.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolcrib_runtime.")
        for alias in node.names
    }

    assert for_checkers == toolcrib_runtime._HOMES
    assert sorted(for_checkers) == sorted(toolcrib_runtime.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `run_tool`"):
        _ = toolcrib_runtime.run_tool


def test_no_public_name_is_hidden_by_a_module_of_the_same_name() -> None:
    script = """
import importlib, sys, toolcrib_runtime, types
for home in set(toolcrib_runtime._HOMES.values()):
    importlib.import_module(f"toolcrib_runtime.{home}")
hidden = [each for each in toolcrib_runtime.__all__ if isinstance(getattr(toolcrib_runtime, each), types.ModuleType)]
sys.exit(", ".join(hidden) or None)
"""

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("heavy", ["pydantic", "httpx2", "opentelemetry", "asyncio", "socket", "toolcrib_core.errors"])
def test_importing_the_package_loads_nothing_heavy(heavy: str) -> None:
    script = f"import sys, toolcrib_runtime; sys.exit({heavy!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.req("RT-15")
@pytest.mark.parametrize("unused", ["httpx2", "opentelemetry", "multiprocessing", "tiktoken"])
def test_running_tools_loads_nothing_that_no_tool_uses(unused: str) -> None:
    script = f"""
import asyncio, sys
from toolcrib_runtime import create_toolbox, tool

@tool(effects="read")
async def work(x: int) -> int:
    "Work."
    return x

result = asyncio.run(create_toolbox([work]).call("work", {{"x": 1}}))
sys.exit(not result.ok or {unused!r} in sys.modules and 2)
"""

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
