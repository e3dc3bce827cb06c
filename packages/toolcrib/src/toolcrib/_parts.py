"""A part of toolcrib under the umbrella: its public names, loaded with the part when one is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec


def part_face(package: str, *, seen_as: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a module that stands for a package.

    Raises:
        ModuleNotFoundError: The package is not installed; the message has the command that does it.
    """
    if find_spec(package) is None:
        install = f"pip install {package.replace('_', '-')}"
        raise ModuleNotFoundError(f"`{seen_as}` needs a part that is not installed: {install}", name=package)

    def load(name: str) -> object:
        if name == "__all__":
            return list(import_module(package).__all__)
        if name.startswith("__") or name not in import_module(package).__all__:
            raise AttributeError(f"module `{seen_as}` has no attribute `{name}`")
        return getattr(import_module(package), name)

    def names() -> list[str]:
        return sorted(import_module(package).__all__)

    return load, names
