"""The catalogue: the tools of every upstream server under ids of their own, as snapshots that never change.

Only what servers say goes in, as raw JSON; what comes out are definitions, cards, search, a tree to browse, and each
tool as its server listed it.
"""

from __future__ import annotations

from toolcrib_core import ToolIdentity as ToolIdParts
from toolcrib_mcp.catalog._catalog import Catalog
from toolcrib_mcp.catalog._changes import CatalogChange, CatalogListener
from toolcrib_mcp.catalog._entries import HydrationResult, UpstreamTerms
from toolcrib_mcp.catalog._findings import CatalogReport, FindingKind, ToolFinding
from toolcrib_mcp.catalog._hints import META_REQUIRES_APPROVAL, Declared
from toolcrib_mcp.catalog._snapshot import CatalogSnapshot

__all__ = [
    "META_REQUIRES_APPROVAL",
    "Catalog",
    "CatalogChange",
    "CatalogListener",
    "CatalogReport",
    "CatalogSnapshot",
    "Declared",
    "FindingKind",
    "HydrationResult",
    "ToolFinding",
    "ToolIdParts",
    "UpstreamTerms",
]
