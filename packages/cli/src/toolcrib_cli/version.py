"""Which version this is."""

from __future__ import annotations


def version() -> str:
    """The version of the installed package, which is that of all its siblings."""
    from importlib.metadata import version as installed_version

    return installed_version("toolcrib-cli")
