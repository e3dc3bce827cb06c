"""toolcrib under one name: the public names of its parts, each loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib_core import *
    from toolcrib_runtime import *
else:
    _PARTS = ("toolcrib_core", "toolcrib_runtime")

    # Hidden from type checkers, which would otherwise take any misspelt name for an `object`.
    def __getattr__(name: str) -> object:
        parts = [import_module(part) for part in _PARTS]
        if name == "__all__":
            return sorted(each for part in parts for each in part.__all__)
        for part in parts:
            if name in part.__all__:
                return getattr(part, name)
        raise AttributeError(f"module `toolcrib` has no attribute `{name}`")


def __dir__() -> list[str]:
    return sorted(each for part in ("toolcrib_core", "toolcrib_runtime") for each in import_module(part).__all__)
