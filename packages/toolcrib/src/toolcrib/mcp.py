"""Gateway, proxy and servers of MCP: everything that `toolcrib_mcp` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_mcp import *
else:
    __getattr__, __dir__ = part_face("toolcrib_mcp", seen_as=__name__)
