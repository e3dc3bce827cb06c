"""What one agent hands to the next: everything that `toolcrib_contextpacks` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_contextpacks import *
else:
    __getattr__, __dir__ = part_face("toolcrib_contextpacks", seen_as=__name__)
