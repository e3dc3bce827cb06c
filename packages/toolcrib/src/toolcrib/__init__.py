"""toolcrib under one name: the public names of core and runtime, and every other part as a module of its own.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib import anthropic as anthropic
    from toolcrib import claude_agent as claude_agent
    from toolcrib import contextpacks as contextpacks
    from toolcrib import gemini as gemini
    from toolcrib import mcp as mcp
    from toolcrib import openai as openai
    from toolcrib import toolpacks as toolpacks
    from toolcrib import toolsets as toolsets
    from toolcrib_core import *
    from toolcrib_runtime import *
else:
    _FACES = ("toolcrib_core", "toolcrib_runtime")
    _PARTS = tuple("anthropic claude_agent contextpacks gemini mcp openai toolpacks toolsets".split())

    # Hidden from type checkers, which would otherwise take any misspelt name for an `object`.
    def __getattr__(name: str) -> object:
        if name in _PARTS:
            return import_module(f"{__name__}.{name}")
        faces = [import_module(face) for face in _FACES]
        if name == "__all__":
            return sorted({each for face in faces for each in face.__all__})  # a call is in both
        for face in faces:
            if name in face.__all__:
                return getattr(face, name)
        raise AttributeError(f"module `toolcrib` has no attribute `{name}`")

    def __dir__() -> list[str]:
        return sorted([*__getattr__("__all__"), *_PARTS])
