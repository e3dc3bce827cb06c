"""The umbrella offers what core exports, and costs nothing until a name is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import toolcrib
import toolcrib_core


def test_every_public_name_of_core_is_the_same_object_here() -> None:
    assert toolcrib.__all__ == toolcrib_core.__all__
    assert {name: getattr(toolcrib, name) for name in toolcrib.__all__} == {
        name: getattr(toolcrib_core, name) for name in toolcrib_core.__all__
    }


def test_a_name_that_core_does_not_export_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module `toolcrib` has no attribute `errors`"):
        _ = toolcrib.errors  # type: ignore[attr-defined]  # the point of the test


def test_the_names_can_be_listed() -> None:
    assert dir(toolcrib) == sorted(toolcrib_core.__all__)


def test_importing_the_umbrella_loads_nothing() -> None:
    program = (
        "import sys, toolcrib; print([name for name in sys.modules if name.startswith(('toolcrib_', 'pydantic'))])"
    )

    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert run.stdout == "[]\n"
