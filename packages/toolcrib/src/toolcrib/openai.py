"""Tools for the OpenAI APIs: everything that `toolcrib_openai` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_openai import *
else:
    __getattr__, __dir__ = part_face("toolcrib_openai", seen_as=__name__)
