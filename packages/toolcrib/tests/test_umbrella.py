"""The umbrella offers what core and runtime export, and costs nothing until a name is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import toolcrib
import toolcrib_core
import toolcrib_runtime


def test_every_public_name_of_the_parts_is_the_same_object_here() -> None:
    assert toolcrib.__all__ == sorted([*toolcrib_core.__all__, *toolcrib_runtime.__all__])
    for part in (toolcrib_core, toolcrib_runtime):
        assert all(getattr(toolcrib, name) is getattr(part, name) for name in part.__all__)


def test_a_name_that_no_part_exports_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module `toolcrib` has no attribute `errors`"):
        _ = toolcrib.errors  # type: ignore[attr-defined]  # the point of the test


def test_the_names_can_be_listed() -> None:
    assert dir(toolcrib) == sorted([*toolcrib_core.__all__, *toolcrib_runtime.__all__])


def test_importing_the_umbrella_loads_nothing() -> None:
    program = (
        "import sys, toolcrib; print([name for name in sys.modules if name.startswith(('toolcrib_', 'pydantic'))])"
    )

    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert run.stdout == "[]\n"
