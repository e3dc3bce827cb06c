"""Tools that run, and toolboxes: everything that `toolcrib_runtime` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_runtime import *
else:
    __getattr__, __dir__ = part_face("toolcrib_runtime", seen_as=__name__)
