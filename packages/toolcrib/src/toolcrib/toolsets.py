"""Tools with each user's own credentials: everything that `toolcrib_toolsets` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_toolsets import *
else:
    __getattr__, __dir__ = part_face("toolcrib_toolsets", seen_as=__name__)
