"""Definitions, ids, the registry, search, errors and serialization: everything that `toolcrib_core` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib._parts import part_face

if TYPE_CHECKING:
    from toolcrib_core import *
else:
    __getattr__, __dir__ = part_face("toolcrib_core", seen_as=__name__)
