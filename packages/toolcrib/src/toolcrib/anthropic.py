"""Tools for the Anthropic API: everything that `toolcrib_anthropic` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_anthropic import *
else:
    __getattr__, __dir__ = part_face("toolcrib_anthropic", seen_as=__name__)
