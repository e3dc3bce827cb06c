"""Tools for the Claude Agent SDK: everything that `toolcrib_claude_agent` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_claude_agent import *
else:
    __getattr__, __dir__ = part_face("toolcrib_claude_agent", seen_as=__name__)
