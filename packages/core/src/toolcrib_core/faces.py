"""The face of a package: its public names, each loaded when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

_OURS: Final = "toolcrib_"


def lazy_face(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package, so that importing it costs next to nothing.

    `homes` has every public name with the module it lives in: from the package on, or in full for a module of one of
    our packages. Hide both functions from type checkers, which would otherwise take any misspelt name for an `object`.
    """

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        module = home if home.startswith(_OURS) else f"{package}.{home}"
        value = getattr(import_module(module), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names
