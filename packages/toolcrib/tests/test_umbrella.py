"""The umbrella offers what its parts export, and costs nothing until a name is used."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import requires, version

import pytest
from packaging.requirements import Requirement

import toolcrib
import toolcrib_core
import toolcrib_runtime
from toolcrib._parts import part_face

PARTS = (
    "anthropic",
    "claude_agent",
    "contextpacks",
    "core",
    "gemini",
    "mcp",
    "openai",
    "runtime",
    "semantic",
    "store",
    "toolpacks",
    "toolsets",
)


@pytest.mark.req("CT-16", "D1-1i")
@pytest.mark.filterwarnings("ignore:.toolcrib:DeprecationWarning")
def test_every_public_name_of_core_and_runtime_is_the_same_object_here() -> None:
    assert toolcrib.__all__ == sorted({*toolcrib_core.__all__, *toolcrib_runtime.__all__})
    for part in (toolcrib_core, toolcrib_runtime):
        assert all(getattr(toolcrib, name) is getattr(part, name) for name in part.__all__)


@pytest.mark.req("CT-16", "D1-1j", "D1-11a")
@pytest.mark.parametrize(
    ("name", "home"), [("tool", "runtime"), ("define_tool", "core"), ("ToolCall", "core"), ("call_sync", "runtime")]
)
def test_a_name_at_the_top_level_says_where_it_is_to_be_imported_from(name: str, home: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"use `toolcrib.{home}.{name}`") as caught:
        _ = getattr(toolcrib, name)

    assert [str(each.message) for each in caught] == [f"`toolcrib.{name}` is deprecated: use `toolcrib.{home}.{name}`"]
    assert caught[0].filename == __file__
    assert "Deprecated" in (toolcrib.__doc__ or "")


def test_a_name_that_no_part_exports_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module `toolcrib` has no attribute `errors`"):
        _ = toolcrib.errors  # type: ignore[attr-defined]  # the point of the test


def test_the_names_can_be_listed() -> None:
    assert dir(toolcrib) == sorted({*toolcrib_core.__all__, *toolcrib_runtime.__all__, *PARTS})


@pytest.mark.req("CT-16", "D1-0za", "D1-8e")
@pytest.mark.parametrize("name", PARTS)
def test_every_part_is_a_module_with_the_same_names(name: str) -> None:
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


@pytest.mark.parametrize("statement", ["import toolcrib", *(f"import toolcrib.{name}" for name in PARTS)])
def test_importing_the_umbrella_loads_no_part(statement: str) -> None:
    program = (
        f"import sys\n{statement}\nprint([name for name in sys.modules if name.startswith(('toolcrib_', 'pydantic'))])"
    )

    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert run.stdout == "[]\n"


@pytest.mark.req("CT-16")
def test_the_package_runs_as_the_command() -> None:
    command = [sys.executable, "-m", "toolcrib", "--version"]

    run = subprocess.run(command, check=True, capture_output=True, text=True)

    assert run.stdout.strip() == f"toolcrib {version('toolcrib')}"


@pytest.mark.req("CT-16", "D1-0za", "D1-8d")
@pytest.mark.parametrize("vendor", ["openai", "anthropic", "gemini", "claude-agent"])
def test_the_sdk_of_a_vendor_comes_only_with_its_extra(vendor: str) -> None:
    every = [Requirement(each) for each in requires("toolcrib") or ()]
    plain = [each for each in every if each.marker is None]
    extra = [each for each in every if each.marker is not None and each.marker.evaluate({"extra": vendor})]

    assert [(each.name, each.extras) for each in extra] == [(f"toolcrib-{vendor}", {"sdk"})]
    assert {each.name for each in plain if not each.name.startswith("toolcrib-")} == set()
    assert all(not each.extras for each in plain)
