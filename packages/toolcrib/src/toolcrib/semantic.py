"""Search by meaning: everything that `toolcrib_semantic` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_semantic import *
else:
    __getattr__, __dir__ = part_face("toolcrib_semantic", seen_as=__name__)
