"""Parts of one artifact's content: selectors, and bounded answers with cursors. Pure: nothing is read or written."""

from __future__ import annotations

from toolcrib_mcp.views.failing import fitting_types
from toolcrib_mcp.views.pages import DEFAULT_BUDGET, MAX_BUDGET, MIN_BUDGET, View
from toolcrib_mcp.views.reading import read_selector
from toolcrib_mcp.views.selectors import Selector
from toolcrib_mcp.views.viewing import view

__all__ = [
    "DEFAULT_BUDGET",
    "MAX_BUDGET",
    "MIN_BUDGET",
    "Selector",
    "View",
    "fitting_types",
    "read_selector",
    "view",
]
