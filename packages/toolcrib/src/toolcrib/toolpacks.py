"""Tools from `*.tool.yaml` files: everything that `toolcrib_toolpacks` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_toolpacks import *
else:
    __getattr__, __dir__ = part_face("toolcrib_toolpacks", seen_as=__name__)
