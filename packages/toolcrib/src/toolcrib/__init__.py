"""toolcrib under one name: the public names of `toolcrib_core`, each loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_core import *
else:
    # Hidden from type checkers, which would otherwise take any misspelt name for an `object`.
    def __getattr__(name: str) -> object:
        core = import_module("toolcrib_core")
        if name == "__all__" or name in core.__all__:
            return getattr(core, name)
        raise AttributeError(f"module `toolcrib` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted(import_module("toolcrib_core").__all__)
