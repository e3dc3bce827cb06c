"""One page per package, which the builder of the site fills from the docstrings."""

from __future__ import annotations

from checks.workspace import Package, find_packages


def api_packages() -> list[Package]:
    """The packages that export something of their own."""
    return [package for package in find_packages() if _exports(package)]


def render_api(package: Package) -> str:
    """The page of a package: every name it exports."""
    return (
        f"# {package.module}\n\n"
        f"Everything that `{package.module}` exports, from `pip install {package.name}`.\n\n"
        f"::: {package.module}\n"
    )


def _exports(package: Package) -> bool:
    if package.module in {"toolcrib", "toolcrib_cli"}:  # the names of others, and a command without an interface
        return False
    import importlib

    return bool(importlib.import_module(package.module).__all__)
