"""toolcrib under one name: every part is a module, as `toolcrib.core`, `toolcrib.runtime` and `toolcrib.openai`.

A part is loaded when one of its names is first used, so that importing the package costs next to nothing.

Deprecated: the names of core and runtime at the top level, as `toolcrib.tool`. They warn, and go in the next major
version: import them from `toolcrib.runtime` or `toolcrib.core`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib import anthropic as anthropic
    from toolcrib import claude_agent as claude_agent
    from toolcrib import contextpacks as contextpacks
    from toolcrib import core as core
    from toolcrib import gemini as gemini
    from toolcrib import mcp as mcp
    from toolcrib import openai as openai
    from toolcrib import runtime as runtime
    from toolcrib import semantic as semantic
    from toolcrib import store as store
    from toolcrib import toolpacks as toolpacks
    from toolcrib import toolsets as toolsets
    from toolcrib_core import *
    from toolcrib_runtime import *
else:
    _FACES = ("core", "runtime")
    _PARTS = tuple(
        "anthropic claude_agent contextpacks core gemini mcp openai runtime semantic store toolpacks toolsets".split()
    )

    # Hidden from type checkers, which would otherwise take any misspelt name for an `object`.
    def __getattr__(name: str) -> object:
        if name in _PARTS:
            return import_module(f"{__name__}.{name}")
        faces = {face: import_module(f"toolcrib_{face}") for face in _FACES}
        if name == "__all__":
            return sorted({each for face in faces.values() for each in face.__all__})  # a call is in both
        for face, module in faces.items():
            if name in module.__all__:
                _warn(name, face)
                return getattr(module, name)
        raise AttributeError(f"module `toolcrib` has no attribute `{name}`")

    def __dir__() -> list[str]:
        return sorted([*__getattr__("__all__"), *_PARTS])

    def _warn(name: str, face: str) -> None:
        import warnings

        warnings.warn(
            f"`toolcrib.{name}` is deprecated: use `toolcrib.{face}.{name}`", DeprecationWarning, stacklevel=3
        )
