"""The face of the package: everything it promises can be imported, and only when it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import toolcrib_core


def test_every_public_name_loads_and_is_what_its_module_calls_so() -> None:
    assert all(getattr(toolcrib_core, name) is not None for name in toolcrib_core.__all__)
    assert set(toolcrib_core.__all__) <= set(dir(toolcrib_core))


@pytest.mark.req("D1-10b", "D1-1g", "D1-3k", "D1-4a", "D1-5c", "D1-6d")
def test_the_names_that_the_document_asks_for_are_public() -> None:
    asked_for = """
        ToolDefinition ToolIdentity ToolId ToolRisk ToolLifecycle ToolContext Logger Tracer Span
        ToolRegistry RegistryOptions RegistryWarning create_registry combine_registries
        format_tool_id parse_tool_id normalize_identity is_tool_definition inspect
        ToolError ToolErrorCategory create_tool_error
        serialize_tool_definition serialize_registry SerializedToolDefinition
    """.split()

    assert set(asked_for) <= set(toolcrib_core.__all__)


def test_the_names_for_type_checkers_are_those_that_load() -> None:
    tree = ast.parse(Path(toolcrib_core.__file__).read_text(encoding="utf-8"))
    for_checkers = {
        alias.name: (node.module or "").removeprefix("toolcrib_core.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("toolcrib_core.")
        if node.module != "toolcrib_core.faces"  # what loads them
        for alias in node.names
    }

    assert for_checkers == toolcrib_core._HOMES
    assert sorted(for_checkers) == sorted(toolcrib_core.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute `execute`"):
        _ = toolcrib_core.execute


@pytest.mark.parametrize("heavy", ["pydantic", "tiktoken", "jsonschema_rs", "numpy", "asyncio", "socket"])
def test_importing_the_package_loads_nothing_heavy(heavy: str) -> None:
    script = f"import sys, toolcrib_core; sys.exit({heavy!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_using_definitions_and_cards_parses_no_vocabulary_until_tokens_are_counted() -> None:
    script = "import sys; from toolcrib_core import make_card, create_registry; sys.exit('tiktoken' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
