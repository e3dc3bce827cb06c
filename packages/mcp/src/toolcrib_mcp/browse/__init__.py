"""Pages of tools: cards within a token budget, ordered by score or, for prompt caches, by what was seen before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_mcp.browse.browser import Browser, BrowseResult, Detail
    from toolcrib_mcp.browse.cards import PageCard

_HOMES = {
    "BrowseResult": "browser",
    "Browser": "browser",
    "Detail": "browser",
    "PageCard": "cards",
}

__all__ = ["BrowseResult", "Browser", "Detail", "PageCard"]

if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
