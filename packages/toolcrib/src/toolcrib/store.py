"""What must outlive a process: everything that `toolcrib_store` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_store import *
else:
    __getattr__, __dir__ = part_face("toolcrib_store", seen_as=__name__)
