"""The umbrella offers what its parts export, and costs nothing until a name is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import toolcrib
import toolcrib_core
import toolcrib_runtime
from toolcrib._parts import part_face

PARTS = ("anthropic", "claude_agent", "contextpacks", "gemini", "mcp", "openai", "toolpacks", "toolsets")


def test_every_public_name_of_core_and_runtime_is_the_same_object_here() -> None:
    assert toolcrib.__all__ == sorted({*toolcrib_core.__all__, *toolcrib_runtime.__all__})
    for part in (toolcrib_core, toolcrib_runtime):
        assert all(getattr(toolcrib, name) is getattr(part, name) for name in part.__all__)


def test_a_name_that_no_part_exports_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module `toolcrib` has no attribute `errors`"):
        _ = toolcrib.errors  # type: ignore[attr-defined]  # the point of the test


def test_the_names_can_be_listed() -> None:
    assert dir(toolcrib) == sorted({*toolcrib_core.__all__, *toolcrib_runtime.__all__, *PARTS})


@pytest.mark.parametrize("name", PARTS)
def test_every_other_part_is_a_module_with_the_same_names(name: str) -> None:
    part = importlib.import_module(f"toolcrib_{name}")
    seen = getattr(toolcrib, name)

    assert seen is importlib.import_module(f"toolcrib.{name}")
    assert seen.__all__ == list(part.__all__)
    assert dir(seen) == sorted(part.__all__)
    assert all(getattr(seen, each) is getattr(part, each) for each in part.__all__)


def test_a_name_that_a_part_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"module `toolcrib\.mcp` has no attribute `Gatewy`"):
        _ = toolcrib.mcp.Gatewy  # type: ignore[attr-defined]  # the point of the test


def test_the_names_of_a_part_can_be_imported_from_it() -> None:
    namespace: dict[str, object] = {}

    exec("from toolcrib.mcp import *; from toolcrib.mcp import Gateway as One", namespace)

    assert namespace["One"] is namespace["Gateway"] is toolcrib.mcp.Gateway


def test_a_part_that_is_not_installed_says_how_to_install_it() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"`toolcrib.nothing` needs .*: pip install toolcrib-no-such-part"):
        part_face("toolcrib_no_such_part", seen_as="toolcrib.nothing")


@pytest.mark.parametrize("statement", ["import toolcrib", *(f"import toolcrib.{name}" for name in ("mcp", "openai"))])
def test_importing_the_umbrella_loads_no_part(statement: str) -> None:
    program = (
        f"import sys\n{statement}\nprint([name for name in sys.modules if name.startswith(('toolcrib_', 'pydantic'))])"
    )

    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert run.stdout == "[]\n"
