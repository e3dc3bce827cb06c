"""The proxy: a stripped list of every tool, `tool_hydrate` for one definition, `tool_execute` for one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.proxy.runtime import ProxyRuntime
    from toolcrib_mcp.proxy.service import ProxyService
    from toolcrib_mcp.proxy.stripping import NameForm

_HOMES = {
    "NameForm": "stripping",
    "ProxyRuntime": "runtime",
    "ProxyService": "service",
}

__all__ = ["NameForm", "ProxyRuntime", "ProxyService"]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
