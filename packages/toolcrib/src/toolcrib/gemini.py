"""Tools for the Gemini API: everything that `toolcrib_gemini` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_gemini import *
else:
    __getattr__, __dir__ = part_face("toolcrib_gemini", seen_as=__name__)
