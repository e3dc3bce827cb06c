"""Keeps the small, revisioned, expiring documents that one agent hands to another.

A name is loaded when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib_core.faces import lazy_face

if TYPE_CHECKING:
    from toolcrib_contextpacks.background import sweeping
    from toolcrib_contextpacks.document import Diagram, Document, Pack, Ref, Section, read_document
    from toolcrib_contextpacks.errors import (
        AmbiguousPack,
        FinalizeRefused,
        IdTaken,
        InvalidPack,
        PackConflict,
        PackError,
        PackNotFound,
        PackStateRefused,
        PackStoreFailed,
        PackTooNew,
        PackUnreadable,
        RevisionConflict,
    )
    from toolcrib_contextpacks.files import export_pack, import_pack
    from toolcrib_contextpacks.packs import ContextPacks, Listed
    from toolcrib_contextpacks.render import Page
    from toolcrib_contextpacks.settings import PackSettings, settings_from
    from toolcrib_contextpacks.tables import PACKS_LINE
    from toolcrib_contextpacks.tools import INSTRUCTIONS, create_contextpack_toolbox, create_contextpack_tools
    from toolcrib_contextpacks.writing import Written

_NAMES = {
    "document": "Diagram Document Pack Ref Section read_document",
    "errors": (
        "AmbiguousPack FinalizeRefused IdTaken InvalidPack PackConflict PackError PackNotFound PackStateRefused "
        "PackStoreFailed PackTooNew PackUnreadable RevisionConflict"
    ),
    "files": "export_pack import_pack",
    "packs": "ContextPacks Listed",
    "render": "Page",
    "settings": "PackSettings settings_from",
    "background": "sweeping",
    "tables": "PACKS_LINE",
    "tools": "INSTRUCTIONS create_contextpack_toolbox create_contextpack_tools",
    "writing": "Written",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "INSTRUCTIONS",
    "PACKS_LINE",
    "AmbiguousPack",
    "ContextPacks",
    "Diagram",
    "Document",
    "FinalizeRefused",
    "IdTaken",
    "InvalidPack",
    "Listed",
    "Pack",
    "PackConflict",
    "PackError",
    "PackNotFound",
    "PackSettings",
    "PackStateRefused",
    "PackStoreFailed",
    "PackTooNew",
    "PackUnreadable",
    "Page",
    "Ref",
    "RevisionConflict",
    "Section",
    "Written",
    "create_contextpack_toolbox",
    "create_contextpack_tools",
    "export_pack",
    "import_pack",
    "read_document",
    "settings_from",
    "sweeping",
]


if not TYPE_CHECKING:  # a checker that saw it would let every misspelt name pass
    __getattr__, __dir__ = lazy_face(__name__, _HOMES)
